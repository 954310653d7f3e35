"""A command and its run's end, with a real sidecar and process: whose end it is, and whose it is not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from ankka import CommandError, ComponentClient, Ended, ErrorCode, Failed, Heartbeat, TimedOut
from ankka.protocol.lifecycle import LifecycleStatus
from tests.integration.awaiting.workshop import PATIENCE, BossWorkflow, Job, JobWorkflow
from tests.integration.support.programs import Programs

SHORT = timedelta(milliseconds=300)


@pytest.fixture
async def client(programs: Programs) -> AsyncIterator[ComponentClient]:
    sidecar = programs.sidecar()
    programs.process("tests.integration.awaiting.workshop", sidecar)
    async with ComponentClient(sidecar.url) as made:
        yield made


async def refused(code: ErrorCode, what: object) -> str:
    """The message of what was refused with that code."""
    with pytest.raises(CommandError) as raised:
        await what  # type: ignore[misc]
    assert raised.value.error.code is code, raised.value
    return raised.value.error.message


async def test_the_end_of_the_run_that_the_command_began(client: ComponentClient, programs: Programs) -> None:
    for name in "ab":
        (programs.folder / name).touch()
    by_name, typed = client.for_workflow("job", "j1"), client.for_workflow(JobWorkflow, "j1")
    assert await by_name.call("start").then_await_end(PATIENCE).invoke("a", reply=Job) == Job(("a",))
    assert await typed.call(JobWorkflow.start).then_await_end(PATIENCE).invoke("b") == Job(("a", "b"))
    await typed.call("start").then_await_end(PATIENCE).invoke("a")
    assert (await by_name.lifecycle()).run == 3
    # a command that only updates, or replies, belongs to the run there is
    assert await by_name.call("note").then_await_end(PATIENCE).invoke("fine", reply=Job) == Job(("a", "b", "a"), "fine")
    assert (await typed.call(JobWorkflow.look).then_await_end(PATIENCE).invoke()).note == "fine"
    assert (await by_name.lifecycle()).run == 3


async def test_what_does_not_end_well(client: ComponentClient) -> None:
    job = client.for_workflow(JobWorkflow, "j1")
    start = job.call(JobWorkflow.start).then_await_end(SHORT)
    assert await refused(ErrorCode.CONFLICT, start.invoke("")) == "make what?"
    assert await refused(ErrorCode.TIMEOUT, job.await_end(SHORT)) == "job/j1 has not ended within 0.3 s; it goes on, await it again"
    assert await refused(ErrorCode.TIMEOUT, start.invoke("a")) == "job/j1 has not ended within 0.3 s; it goes on, await it again"
    assert await refused(ErrorCode.WORKFLOW_FAILED, job.call(JobWorkflow.spoil).then_await_end(PATIENCE).invoke()) == "no wood"
    assert await refused(ErrorCode.WORKFLOW_FAILED, job.await_end(SHORT)) == "no wood"
    gone = await refused(ErrorCode.NOT_FOUND, job.call("remove").then_await_end(PATIENCE).invoke())
    assert gone == "job/j1 was deleted while its end was awaited"


async def test_a_repeated_command_awaits_the_run_it_once_began_and_no_other(client: ComponentClient, programs: Programs) -> None:
    job = client.for_workflow("job", "j1")
    once = job.call("start").with_idempotency_key("k1")
    (programs.folder / "a").touch()
    assert await once.then_await_end(PATIENCE).invoke("a", reply=Job) == Job(("a",))
    assert await once.then_await_end(PATIENCE).invoke("a", reply=Job) == Job(("a",))
    assert (await job.lifecycle()).run == 1
    await job.call("start").invoke("b")
    message = await refused(ErrorCode.CONFLICT, once.then_await_end(PATIENCE).invoke("a"))
    assert message == "run 1 of job/j1 has ended and run 2 begun: how it ended is in the journal"
    (programs.folder / "b").touch()
    assert await job.await_end(PATIENCE, reply=Job) == Job(("a", "b"))
    await job.call("remove").invoke()
    assert "job/j1 was deleted" in await refused(ErrorCode.NOT_FOUND, once.then_await_end(PATIENCE).invoke("a"))


@pytest.mark.parametrize("step", ["wait", "wait-in-a-thread"])
async def test_a_step_waits_for_another_workflow(client: ComponentClient, programs: Programs, step: str) -> None:
    (programs.folder / "a").touch()
    boss = client.for_workflow(BossWorkflow, "b1")
    assert await boss.call(BossWorkflow.start).then_await_end(PATIENCE).invoke((step, "a")) == "a at attempt 1"


async def test_parts_of_a_run_that_ends(client: ComponentClient, programs: Programs) -> None:
    job = client.for_workflow("job", "j1")
    await job.call("start").invoke("a")
    seen: list[object] = []
    async for part in job.await_end_parts(PATIENCE, reply=Job):
        match part:
            case Heartbeat(lifecycle):
                assert lifecycle is not None
                seen.append((lifecycle.status, lifecycle.step))
                if len(seen) == 2:
                    (programs.folder / "a").touch()
            case Ended(state):
                seen.append(state.made)
            case Failed() | TimedOut():
                pytest.fail(f"{part}")
    running = (LifecycleStatus.RUNNING, "make")
    assert seen == [running, running, ("a",)]
    assert [part async for part in job.await_end_parts(PATIENCE, reply=Job)] == [Ended(Job(("a",)))]
    assert [part async for part in job.await_end_parts(PATIENCE)] == [Ended(None)]


async def test_parts_of_a_run_that_does_not(client: ComponentClient) -> None:
    job = client.for_workflow("job", "j1")
    parts = [part async for part in job.await_end_parts(SHORT)]
    assert [type(part) for part in parts] == [Heartbeat, TimedOut]
    assert isinstance(parts[-1], TimedOut)
    assert parts[-1].lifecycle is not None
    assert parts[-1].lifecycle.status is LifecycleStatus.NOT_STARTED
    await job.call("spoil").invoke()
    assert [part async for part in job.await_end_parts(PATIENCE, reply=Job)][-1] == Failed("no wood", ErrorCode.CONFLICT)
    with pytest.raises(CommandError, match="no component 'nothing'"):
        _ = [part async for part in client.for_workflow("nothing", "n1").await_end_parts(PATIENCE)]
    with pytest.raises(ValueError, match="must be longer than zero"):
        _ = [part async for part in job.await_end_parts(timedelta(0))]
