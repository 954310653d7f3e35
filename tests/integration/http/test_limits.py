"""Limits: one size for every way a value travels (F66), times and numbers; each error has the limit and its name."""

from __future__ import annotations

from contextlib import ExitStack

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.http.wire import connected
from tests.integration.support.programs import Programs, Sidecar

MIB = 1024 * 1024
BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module")
def roomy(shared: Programs) -> Sidecar:
    """A sidecar that takes 16 MiB."""
    sidecar = shared.sidecar("--max-payload", "16MiB", "--max-state", "16 MiB", journal=f"sqlite:///{shared.folder / 'roomy.db'}")
    shared.process("tests.integration.http.handlers", sidecar)
    return sidecar


def test_ten_mib_pass_as_input_state_step_input_and_reply_when_the_limit_is_16(roomy: Sidecar) -> None:
    http, blob = roomy.http, b"x" * 10 * MIB
    assert http.post("/v1/everything/big/keep", content=blob, headers=BYTES).status_code == 204
    assert http.get("/v1/everything/big/size").json() == len(blob)
    assert http.post("/v1/everything/step/carry", content=blob, headers=BYTES).status_code == 204
    assert http.get("/v1/everything/step/ankka:await").status_code == 200
    assert http.get("/v1/everything/step/size").json() == len(blob)
    assert journal_of(http, "/v1/everything/step") == ["started", "ended"]
    answer = http.post("/v1/everything/big/letters", json=10 * MIB, headers={"accept": "text/plain"})
    assert (answer.status_code, len(answer.content)) == (200, 10 * MIB)
    is_problem(http.post("/v1/everything/big/keep", content=b"x" * 17 * MIB, headers=BYTES), 413, "TOO_LARGE", "16,777,216", "max-payload")


def test_exactly_the_limit_is_taken_and_a_byte_more_is_not(http: httpx.Client, one: str) -> None:
    assert http.post(f"{one}/echo-bytes", content=b"x" * (4 * MIB), headers=BYTES).status_code == 200
    is_problem(http.post(f"{one}/echo-bytes", content=b"x" * (4 * MIB + 1), headers=BYTES), 413, "TOO_LARGE", "4,194,305")


def test_a_reply_above_the_limit_is_413_and_leaves_nothing(http: httpx.Client, one: str) -> None:
    is_problem(http.post(f"{one}/letters", json=5 * MIB), 413, "TOO_LARGE", "the reply has 5,242,880 bytes", "4,194,304", "max-payload")
    is_problem(http.post(f"{one}/letters", json=50 * MIB), 413, "TOO_LARGE", "limit")  # more than a frame may hold
    assert http.post(f"{one}/add", json=1).json() == 1


def test_a_command_whose_state_and_reply_are_each_below_the_limit_is_taken(http: httpx.Client, one: str) -> None:
    blob = b"x" * (5 * MIB // 2)
    answer = http.post(f"{one}/keep-and-show", content=blob, headers=BYTES)
    assert (answer.status_code, len(answer.content) > len(blob)) == (200, True), answer.text
    assert http.get(f"{one}/size").json() == len(blob)


def test_a_state_above_the_limit_is_413_and_leaves_nothing(http: httpx.Client, one: str) -> None:
    # As JSON the blob of the state is base64: 3.5 MiB of input make 4.7 MiB of state.
    is_problem(http.post(f"{one}/keep", content=b"x" * (7 * MIB // 2), headers=BYTES), 413, "TOO_LARGE", "4,194,304", "max-state")
    assert journal_of(http, one) == []
    assert http.post(f"{one}/keep", content=b"x", headers=BYTES).status_code == 204


def test_a_step_whose_state_is_above_the_limit_faults_once(http: httpx.Client, one: str) -> None:
    assert http.post(f"{one}/carry", content=b"x" * (7 * MIB // 2), headers=BYTES).status_code == 204
    is_problem(http.get(f"{one}/ankka:await"), 424, "WORKFLOW_FAILED", "step 'store' failed: the state has", "4,194,304", "max-state")
    assert journal_of(http, one) == ["started", "failed"]


def test_a_handler_above_its_time_is_504_and_its_late_answer_is_dropped(programs: Programs) -> None:
    sidecar = programs.sidecar("--handler-timeout", "500ms")
    process = programs.process("tests.integration.http.handlers", sidecar)
    http = sidecar.http
    for handler in ("slow", "slow-query"):
        answer = http.post(f"/v1/everything/x/{handler}", json=20)
        is_problem(answer, 504, "TIMEOUT", f"'{handler}' of everything/x", "500 ms", "handler-timeout")
        process.wait_for_output(f"{handler} x was cancelled")
    assert http.post("/v1/everything/x/add", json=1).json() == 1
    assert journal_of(http, "/v1/everything/x") == ["updated"]


def test_more_commands_than_may_wait_are_429(programs: Programs) -> None:
    sidecar = programs.sidecar("--max-mailbox", "5")
    process = programs.process("tests.integration.http.handlers", sidecar)
    http = sidecar.http
    with ExitStack() as stack:
        slow, *wires = [stack.enter_context(connected(http)) for _ in range(21)]
        slow.request("POST /v1/everything/x/slow", b"2")
        process.wait_for_output("slow x begins")
        for wire in wires:
            wire.request("POST /v1/everything/x/add", b"1")
        answers = [wire.answer() for wire in wires]
        assert slow.answer().status_code == 204
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [429] * 15
    for answer in answers:
        if answer.status_code == 429:
            is_problem(answer, 429, "RESOURCE_EXHAUSTED", "everything/x", "max-mailbox 5")
    assert http.get("/v1/everything/x/total").json() == 6
