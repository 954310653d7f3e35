"""Every limit on sizes and numbers, on each way a value takes: the error names the limit, its value, and what was found."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.limits.conftest import SERVICE
from tests.integration.support.fixtures import started
from tests.integration.support.programs import Program, Programs, Sidecar, wait_for

KIB, MIB = 1024, 1024 * 1024
BYTES = {"content-type": "application/octet-stream"}
RAW = {"accept": "application/octet-stream"}
PAYLOAD, STATE = 100 * KIB, 150 * KIB


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A sidecar with small limits, each another."""
    for programs in started(tmp_path_factory.mktemp("tight")):
        sidecar = programs.sidecar("--max-payload", f"{PAYLOAD // KIB}KiB", "--max-state", f"{STATE // KIB}KiB", "--max-journal-events", "5")
        programs.process(SERVICE, sidecar)
        yield sidecar.http


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A sidecar that takes 16 MiB."""
    for programs in started(tmp_path_factory.mktemp("roomy")):
        sidecar = programs.sidecar("--max-payload", "16MiB", "--max-state", "16MiB")
        programs.process(SERVICE, sidecar)
        yield sidecar.http


def start(http: httpx.Client, instance: str, step: str, size: int) -> None:
    """Start a `large` instance at a step."""
    assert http.post(f"/v1/large/{instance}/start", json=[step, size]).status_code == 204


def end_of(http: httpx.Client, instance: str) -> bytes:
    """The end state of a `large` instance."""
    answer = http.get(f"/v1/large/{instance}/ankka:await")
    assert answer.status_code == 200, answer.text
    return base64.b64decode(answer.json())


# --- max-payload and max-state -----------------------------------------------------------------------------------


def test_the_input_of_a_command_over_http(tight: httpx.Client, one: str) -> None:
    assert tight.post(f"/v1/blob/{one}/keep", content=b"x" * PAYLOAD, headers=BYTES).json() == PAYLOAD
    is_problem(tight.post(f"/v1/blob/{one}/keep", content=b"x" * (PAYLOAD + 1), headers=BYTES), 413, "TOO_LARGE", "102,401", "102,400", "max-payload")


def test_the_input_of_a_call_from_a_step(tight: httpx.Client, one: str) -> None:
    start(tight, one, "call-with", PAYLOAD)
    assert end_of(tight, one) == b"%d" % PAYLOAD
    start(tight, f"{one}b", "call-with", PAYLOAD + 1)
    assert end_of(tight, f"{one}b") == b"TOO_LARGE: the input has 102,401 bytes; at most 102,400 are taken (max-payload)"
    start(tight, f"{one}c", "call-with", 3 * MIB)  # more than a frame may hold
    refused = end_of(tight, f"{one}c").decode()
    assert refused.startswith("TOO_LARGE: ")
    assert "3,145," in refused
    assert tight.get(f"/v1/blob/{one}c/size").json() == 0


@pytest.mark.parametrize("size", [PAYLOAD + 1, 3 * MIB])
def test_the_input_of_the_first_step(tight: httpx.Client, one: str, size: int) -> None:
    assert tight.post(f"/v1/large/{one}/start-with", json=PAYLOAD).status_code == 204
    assert end_of(tight, one) == b"%d" % PAYLOAD
    refused = tight.post(f"/v1/large/{one}b/start-with", json=size)
    is_problem(
        refused, 413, "TOO_LARGE", "limit" if size == 3 * MIB else "the step's input has 102,401 bytes; at most 102,400 are taken (max-payload)"
    )
    assert journal_of(tight, f"/v1/large/{one}b") == []


@pytest.mark.parametrize(
    ("step", "limit", "part", "name"),
    [
        ("make-input", PAYLOAD, "next step's input", "max-payload"),
        ("make-input-after-pause", PAYLOAD, "input of the step after the pause", "max-payload"),
        ("make-state", STATE, "state", "max-state"),
    ],
)
@pytest.mark.parametrize("above", [1, 3 * MIB])
def test_what_a_step_answers(tight: httpx.Client, one: str, step: str, limit: int, part: str, name: str, above: int) -> None:
    # F66: one attempt, not tried again
    start(tight, one, step, limit)
    assert end_of(tight, one) == (b"x" * limit if name == "max-state" else b"%d" % limit)
    start(tight, f"{one}b", step, limit + above)
    failed = tight.get(f"/v1/large/{one}b/ankka:await")
    said = [f"step '{step}' failed: ", f"the {part} has {limit + 1:,} bytes; at most {limit:,} are taken ({name})" if above == 1 else "limit"]
    is_problem(failed, 424, "WORKFLOW_FAILED", *said)
    assert journal_of(tight, f"/v1/large/{one}b") == ["started", "failed"]


def test_the_reply_of_a_query_and_the_state_of_a_command(tight: httpx.Client, one: str) -> None:
    assert tight.post(f"/v1/large/{one}/keep", json=STATE).status_code == 204
    is_problem(
        tight.post(f"/v1/large/{one}/keep", json=STATE + 1), 413, "TOO_LARGE", "the state has 153,601 bytes; at most 153,600 are taken (max-state)"
    )
    assert tight.get(f"/v1/large/{one}/size").json() == STATE
    assert journal_of(tight, f"/v1/large/{one}") == ["updated"]


def test_an_event(tight: httpx.Client, one: str) -> None:
    assert tight.post(f"/v1/log/{one}/write", json=PAYLOAD).json() == PAYLOAD
    is_problem(
        tight.post(f"/v1/log/{one}/write", json=PAYLOAD + 1), 413, "TOO_LARGE", "the event has 102,401 bytes; at most 102,400 are taken (max-payload)"
    )
    assert tight.get(f"/v1/log/{one}/size").json() == PAYLOAD


def test_ten_mib_pass_everywhere_when_the_limits_are_16(roomy: httpx.Client, one: str) -> None:
    # F66: start input, command, step input, step output, state, reply
    ten = 10 * MIB
    start(roomy, f"{one}-input", "make-input", ten)
    start(roomy, f"{one}-pause", "make-input-after-pause", ten)
    start(roomy, f"{one}-state", "make-state", ten)
    start(roomy, f"{one}-call", "call-with", ten)
    assert roomy.post(f"/v1/large/{one}-first/start-with", json=ten).status_code == 204
    for name in ("input", "pause", "call", "first"):
        assert end_of(roomy, f"{one}-{name}") == b"%d" % ten
    assert len(end_of(roomy, f"{one}-state")) == ten
    assert roomy.post(f"/v1/blob/{one}/keep", content=b"x" * ten, headers=BYTES).json() == ten
    assert len(roomy.post(f"/v1/blob/{one}/swap", content=b"y" * ten, headers={**BYTES, **RAW}).content) == ten
    assert roomy.post(f"/v1/log/{one}/write", json=ten).json() == ten


def test_the_largest_frames_are_carried(http: httpx.Client, one: str) -> None:
    # input and state, reply and state, each exactly at its limit
    most = 4 * MIB
    assert http.post(f"/v1/blob/{one}/swap", content=b"a" * most, headers={**BYTES, **RAW}).content == b""
    assert http.post(f"/v1/blob/{one}/swap", content=b"b" * most, headers={**BYTES, **RAW}).content == b"a" * most
    assert http.get(f"/v1/blob/{one}/show", headers=RAW).content == b"b" * most
    start(http, one, "make-state", most)
    assert len(end_of(http, one)) == most


def test_states_at_the_limit_can_be_merged(crowd: tuple[Programs, Sidecar, Program], http: httpx.Client, one: str) -> None:
    # W14: base, present and the step's state are three times the limit
    folder = crowd[0].folder
    most = 4 * MIB
    assert http.post(f"/v1/large/{one}/keep", json=most).status_code == 204
    start(http, one, "gated", most)
    wait_for((folder / f"begun-{one}").exists, "the step")
    assert http.post(f"/v1/large/{one}/keep", json=most - 1).status_code == 204
    (folder / f"gate-{one}").touch()
    assert end_of(http, one) == b"s" * most


def test_an_entity_whose_events_are_more_than_a_message_is_folded(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    for number in range(5):
        assert sidecar.http.post("/v1/log/l/write", json=3 * MIB).json() == (number + 1) * 3 * MIB
    sidecar.kill()
    sidecar = programs.again(sidecar)
    sidecar.wait_until_ready()
    assert sidecar.http.get("/v1/log/l/size").json() == 15 * MIB


def test_many_large_commands_at_once_are_more_than_a_batch(http: httpx.Client, one: str) -> None:
    # a batch closes at 256 KiB: these are 40 MiB, each way
    def swap(number: int) -> bool:
        path = f"/v1/blob/{one}-{number}/swap"
        data = b"%d" % number * (100 * KIB)
        return http.post(path, content=data, headers=BYTES).is_success and http.post(path, content=b"", headers={**BYTES, **RAW}).content == data

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(swap, range(200)))


# --- max-journal-events ------------------------------------------------------------------------------------------


def test_a_workflow_whose_journal_is_full_fails_and_can_be_deleted(tight: httpx.Client, one: str) -> None:
    assert tight.post(f"/v1/loop/{one}/start").status_code == 204
    said = f"the journal of loop/{one} has 5 effects and takes no more (max-journal-events 5)"
    is_problem(tight.get(f"/v1/loop/{one}/ankka:await"), 424, "WORKFLOW_FAILED", said)
    assert journal_of(tight, f"/v1/loop/{one}") == ["started", *["transitioned"] * 4, "failed"]
    is_problem(tight.post(f"/v1/loop/{one}/add"), 429, "RESOURCE_EXHAUSTED", "max-journal-events", "delete it, or raise the limit")
    assert tight.get(f"/v1/loop/{one}/count").json() == 4
    assert tight.delete(f"/v1/loop/{one}").status_code == 204
    assert tight.post(f"/v1/loop/{one}/add").json() == 1


def test_commands_above_the_number_of_effects_are_refused(tight: httpx.Client, one: str) -> None:
    for number in range(5):
        assert tight.post(f"/v1/loop/{one}/add").json() == number + 1
        assert tight.post(f"/v1/log/{one}/write", json=1).json() == number + 1
    for path, body in ((f"/v1/loop/{one}/add", None), (f"/v1/log/{one}/write", 1)):
        refused = tight.post(path, json=body) if body else tight.post(path)
        is_problem(refused, 429, "RESOURCE_EXHAUSTED", "has 5 effects", "max-journal-events", "delete it, or raise the limit")
        assert refused.json()["details"] == {"limit": 5}
    assert tight.get(f"/v1/log/{one}/size").json() == 5
