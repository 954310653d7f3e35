"""A process that is told to stop: what runs is finished within the drain time, or given back; it leaves in any case (F79, F80)."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.support.programs import Program, Programs, Sidecar, wait_for

SERVICE = "tests.integration.process_edges.edges"


def start(sidecar: Sidecar, instance: str, step: str, seconds: float) -> None:
    assert sidecar.http.post(f"/v1/edge/{instance}/start", json=[step, seconds]).status_code == 204


def noted(folder: Path, line: str) -> None:
    wait_for(lambda: line in ledger(folder), f"{line!r} in the ledger")


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().splitlines() if path.exists() else []


def journal(sidecar: Sidecar, instance: str) -> list[str]:
    items: list[dict[str, Any]] = sidecar.http.get(f"/v1/edge/{instance}/ankka:journal").raise_for_status().json()["items"]
    return [item["type"] for item in items]


def stopped(program: Program) -> tuple[int, float]:
    """SIGTERM; its exit code, and the seconds it took."""
    began = time.monotonic()
    return program.stop(), time.monotonic() - began


@pytest.mark.parametrize("step", ["sleep", "thread"])
def test_a_step_that_ends_within_the_drain_time_is_journalled(programs: Programs, step: str) -> None:
    # F80
    sidecar = programs.sidecar()
    process = programs.process(SERVICE, sidecar)
    start(sidecar, "e1", step, 1.5)
    noted(programs.folder, f"e1 {step} 1")
    code, took = stopped(process)
    assert code == 0
    assert took < 5
    assert ledger(programs.folder) == [f"e1 {step} 1"]
    assert journal(sidecar, "e1") == ["started", "ended"]


@pytest.mark.parametrize("step", ["sleep", "thread", "to-thread", "swallow"])
def test_a_step_that_does_not_is_given_back_and_the_process_leaves(programs: Programs, step: str) -> None:
    # F80, F79, W11: no retry is used, whatever the step does with its cancellation or its thread
    sidecar = programs.sidecar()
    process = programs.process(SERVICE, sidecar, {"ANKKA_DRAIN": "1"})
    start(sidecar, "e1", step, 60)
    noted(programs.folder, f"e1 {step} 1")
    code, took = stopped(process)
    assert code == 0
    assert 1 <= took < 7
    assert journal(sidecar, "e1") == ["started", "interrupted"]
    lifecycle = sidecar.http.get("/v1/edge/e1/ankka:lifecycle").json()
    assert (lifecycle["status"], lifecycle["attempt"], lifecycle["retries"]) == ("Running", 2, {})


def test_calls_of_running_steps_are_answered_while_the_process_drains(programs: Programs) -> None:
    sidecar = programs.sidecar()
    process = programs.process(SERVICE, sidecar)
    start(sidecar, "e1", "callers", 3)
    wait_for(lambda: len(ledger(programs.folder)) > 1, "a first second of calls")
    code, _ = stopped(process)
    assert code == 0
    assert "Exception in thread" not in process.output
    assert journal(sidecar, "e1") == ["started", "ended"]
    first, *_, last = ([int(count) for count in line.split()[1:]] for line in ledger(programs.folder) if line.startswith("calls"))
    assert all(later > earlier for earlier, later in zip(first, last, strict=True))


SLOW_TO_CLOSE = """
import asyncio
from contextlib import asynccontextmanager
from ankka import Ankka
from tests.integration.process_edges.edges import EdgeWorkflow

left_open = []

async def numbers():
    try:
        yield 1
    finally:
        print("the loop closes", flush=True)
        await asyncio.sleep(60)

@asynccontextmanager
async def lifespan():
    left_open.append(numbers())
    await anext(left_open[0])
    print("opened", flush=True)
    yield

Ankka.service(lifespan=lifespan).register(EdgeWorkflow).start()
"""


def test_a_second_ctrl_c_ends_it_at_once_while_its_loop_closes_too(programs: Programs) -> None:
    program = programs.run("-c", SLOW_TO_CLOSE, environment={"ANKKA_SIDECAR": "http://127.0.0.1:1"})
    program.wait_for_output("opened")
    program.wait_for_output("still trying")
    program.send(signal.SIGINT)
    program.wait_for_output("the loop closes")
    program.send(signal.SIGINT)
    assert program.ended() == 130
    assert "Traceback" not in program.output
