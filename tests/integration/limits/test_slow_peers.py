"""Who does not read slows down nobody else: a process that is frozen, a caller that does not take its answer (DESIGN §4)."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.http.wire import connected
from tests.integration.limits.conftest import SERVICE
from tests.integration.support.programs import Programs, wait_for

MIB = 1024 * 1024
BYTES = {"content-type": "application/octet-stream"}


def test_a_process_that_reads_nothing_slows_down_no_other(programs: Programs) -> None:
    sidecar = programs.sidecar("--handler-timeout", "20s")
    slow = programs.process(SERVICE, sidecar)
    other = programs.process("samples.checkout", sidecar)
    slow.send(signal.SIGSTOP)
    with ThreadPoolExecutor(40) as pool:
        writing = [pool.submit(sidecar.http.post, f"/v1/blob/b{number}/keep", content=b"x" * 2 * MIB, headers=BYTES) for number in range(40)]
        began = time.monotonic()
        for number in range(20):
            assert sidecar.http.post(f"/v1/checkout/c{number}/start", json="ok").status_code == 204
            assert sidecar.http.get(f"/v1/checkout/c{number}/ankka:await").status_code == 200
        assert time.monotonic() - began < 10
        assert sidecar.http.get("/v1/blob/b1/ankka:lifecycle").status_code == 200
        slow.send(signal.SIGCONT)
        assert {answer.result().status_code for answer in writing} == {200}
    assert other.running.poll() is None


def test_a_caller_that_does_not_take_its_answer_slows_down_no_other(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    assert sidecar.http.post("/v1/blob/b/keep", content=b"x" * 4 * MIB, headers=BYTES).json() == 4 * MIB
    with connected(sidecar.http) as wire:
        for _ in range(5):
            wire.request("GET /v1/blob/b/show", headers="Accept: application/octet-stream\r\n")
        for _ in range(20):
            began = time.monotonic()
            assert sidecar.http.get("/v1/blob/b/size").json() == 4 * MIB
            assert time.monotonic() - began < 2
        assert len(wire.answer().content) == 4 * MIB


@pytest.mark.parametrize("limit", [1, 3])
def test_commands_that_wait_for_one_instance_are_at_most_so_many(programs: Programs, limit: int) -> None:
    sidecar = programs.sidecar("--max-mailbox", str(limit), "--handler-timeout", "20s")
    process = programs.process(SERVICE, sidecar)
    assert sidecar.http.post("/v1/relay/r/relay", json=[]).json() == 1
    process.send(signal.SIGSTOP)
    with ThreadPoolExecutor(12) as pool:
        calls = [pool.submit(sidecar.http.post, "/v1/relay/r/relay", json=[]) for _ in range(12)]
        wait_for(lambda: sum(call.done() for call in calls) == 12 - 1 - limit, "the refusal of those that may not wait")
        process.send(signal.SIGCONT)
        answers = [call.result() for call in calls]
    assert sorted(answer.status_code for answer in answers) == [200] * (1 + limit) + [429] * (11 - limit)
    said = next(answer.json() for answer in answers if answer.status_code == 429)
    assert said["detail"] == f"{limit} commands wait for relay/r already (max-mailbox {limit})"
    assert said["details"] == {"limit": limit}
