"""Waiting for an end while the sidecar goes away and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from ankka import CommandError, ComponentClient, Ended, ErrorCode, Failed, Heartbeat, TimedOut
from ankka.calls.caller import Caller, Target
from ankka.calls.ending import EndWait
from ankka.process.client_session import ClientSession
from ankka.protocol.awaited import AwaitedRun, seen_in
from ankka.protocol.spec import ComponentKind
from tests.integration.awaiting.workshop import PATIENCE, BossWorkflow, Job, JobWorkflow
from tests.integration.support.programs import Programs, Sidecar

WORKSHOP = "tests.integration.awaiting.workshop"
Part = Heartbeat | Ended[Job] | Failed | TimedOut


class Parts:
    """Takes the parts of a run's end as they come; `unreachable` is set by a heartbeat without a sidecar."""

    def __init__(self, parts: AsyncGenerator[Part]) -> None:
        self._parts = parts
        self.running = asyncio.Event()
        self.unreachable = asyncio.Event()
        self.last = asyncio.create_task(self._take())

    async def _take(self) -> Part:
        async for part in self._parts:
            if not isinstance(part, Heartbeat):
                return part
            (self.unreachable if part.lifecycle is None else self.running).set()
        raise AssertionError("there was no last part")


async def end(sidecar: Sidecar, *, kill: bool) -> None:
    assert await asyncio.to_thread(sidecar.kill if kill else sidecar.stop) == (-9 if kill else 0)


@pytest.mark.parametrize("kill", [True, False])
async def test_every_way_of_waiting_survives_the_end_of_the_sidecar(programs: Programs, kill: bool) -> None:
    sidecar = programs.sidecar("--drain", "100ms")
    programs.process(WORKSHOP, sidecar)
    async with ComponentClient(sidecar.url) as client:
        job = client.for_workflow(JobWorkflow, "j1")
        then = asyncio.create_task(job.call(JobWorkflow.start).then_await_end(PATIENCE).invoke("a"))
        parts = Parts(job.await_end_parts(PATIENCE, reply=Job))
        waiting = asyncio.create_task(job.await_end(PATIENCE, reply=Job))
        async with asyncio.timeout(20):
            await parts.running.wait()
        for _ in range(2):
            parts.unreachable.clear()
            parts.running.clear()
            await end(sidecar, kill=kill)
            async with asyncio.timeout(20):
                await parts.unreachable.wait()
                sidecar = await asyncio.to_thread(programs.again, sidecar)
                await parts.running.wait()
        assert [task.done() for task in (then, waiting, parts.last)] == [False] * 3
        (programs.folder / "a").touch()
        made = Job(("a",))
        assert (await then, await waiting, await parts.last) == (made, made, Ended(made))
        assert (await job.lifecycle()).run == 1


@pytest.mark.parametrize("step", ["wait", "wait-in-a-thread"])
async def test_a_step_that_waits_for_another_workflow_goes_on_over_a_kill(programs: Programs, step: str) -> None:
    sidecar = programs.sidecar()
    programs.process(WORKSHOP, sidecar)
    async with ComponentClient(sidecar.url) as client:
        boss = client.for_workflow(BossWorkflow, "b1")
        await boss.call(BossWorkflow.start).invoke((step, "a"))
        parts = Parts(client.for_workflow("job", "a").await_end_parts(PATIENCE, reply=Job))
        async with asyncio.timeout(20):
            await parts.running.wait()
        await end(sidecar, kill=True)
        await asyncio.to_thread(programs.again, sidecar)
        (programs.folder / "a").touch()
        assert await boss.await_end(PATIENCE, reply=str) == "a at attempt 1"
        assert (await client.for_workflow("job", "a").lifecycle()).run == 1


async def test_the_end_ran_while_nobody_was_there(programs: Programs) -> None:
    """The run ends while the sidecar that was asked is gone: the next one answers at once."""
    sidecar = programs.sidecar()
    programs.process(WORKSHOP, sidecar)
    async with ComponentClient(sidecar.url) as client:
        job = client.for_workflow(JobWorkflow, "j1")
        parts = Parts(job.await_end_parts(PATIENCE, reply=Job))
        then = asyncio.create_task(job.call(JobWorkflow.start).then_await_end(PATIENCE).invoke("a"))
        async with asyncio.timeout(20):
            await parts.running.wait()
        await end(sidecar, kill=True)
        (programs.folder / "a").touch()
        await asyncio.to_thread(programs.again, sidecar)
        assert (await then, await parts.last) == (Job(("a",)), Ended(Job(("a",))))


async def test_a_sidecar_that_does_not_come_back_in_time(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(WORKSHOP, sidecar)
    async with ComponentClient(sidecar.url) as client:
        job = client.for_workflow("job", "j1")
        await job.call("start").invoke("a")
        await end(sidecar, kill=True)
        with pytest.raises(CommandError) as raised:
            await job.await_end(timedelta(seconds=1))
        assert raised.value.error.code is ErrorCode.UNAVAILABLE
        assert [type(part) for part in [part async for part in job.await_end_parts(timedelta(seconds=1))]][-1] is TimedOut


async def test_a_client_that_is_closed_waits_no_longer(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(WORKSHOP, sidecar)
    async with ComponentClient(sidecar.url) as client:
        parts = Parts(client.for_workflow("job", "j1").await_end_parts(PATIENCE, reply=Job))
        waiting = asyncio.create_task(client.for_workflow("job", "j1").await_end(PATIENCE))
        async with asyncio.timeout(20):
            await parts.running.wait()
    for closed in (waiting, parts.last):
        with pytest.raises(CommandError) as raised:
            async with asyncio.timeout(5):
                await closed
        assert raised.value.error.code is ErrorCode.UNAVAILABLE


async def test_an_await_that_names_its_run_gets_no_other_runs_end(programs: Programs) -> None:
    """What an await says when it is repeated after a lost connection, against what may have happened meanwhile."""
    sidecar = programs.sidecar()
    programs.process(WORKSHOP, sidecar)
    target = Target(ComponentKind.WORKFLOW, "job", "j1")
    session = ClientSession(sidecar.url, None)
    await session.open()
    caller = Caller(session)

    async def end_of(awaited: AwaitedRun) -> str:
        try:
            return (await EndWait(caller, target, timedelta(milliseconds=200), awaited).end()).data.decode()
        except CommandError as error:
            return str(error)

    def since(instant: float) -> AwaitedRun:
        return AwaitedRun(waited=round((time.monotonic() - instant) * 1_000_000))

    async with ComponentClient(sidecar.url) as client:
        job = client.for_workflow("job", "j1")
        unseen = seen_in(await job.lifecycle())
        before_all = time.monotonic()
        (programs.folder / "a").touch()
        await job.call("start").then_await_end(PATIENCE).invoke("a")
        first = seen_in(await job.lifecycle())
        behind_first = time.monotonic()
        for awaited in (unseen, first, since(before_all), since(behind_first)):
            assert '"made":["a"]' in await end_of(awaited)
        await job.call("start").invoke("b")
        within_second = time.monotonic()
        second = seen_in(await job.lifecycle())
        assert (unseen.run, first.run, second.run) == (1, 1, 2)
        for awaited in (unseen, first, since(before_all), since(behind_first)):
            assert await end_of(awaited) == "CONFLICT: run 1 of job/j1 has ended and run 2 begun: how it ended is in the journal"
        for awaited in (second, since(within_second)):
            assert (await end_of(awaited)).startswith("TIMEOUT: job/j1 has not ended")
        await job.call("remove").invoke()
        behind_deletion = time.monotonic()
        for awaited in (first, second, since(behind_first), since(within_second)):
            assert await end_of(awaited) == "NOT_FOUND: job/j1 was deleted while its end was awaited"
        assert (await end_of(since(behind_deletion))).startswith("TIMEOUT: job/j1 has not ended")
        await job.call("start").then_await_end(PATIENCE).invoke("a")
        for awaited in (first, second, since(behind_first), since(within_second)):
            assert await end_of(awaited) == "NOT_FOUND: job/j1 was deleted while its end was awaited"
        assert '"made":["a"]' in await end_of(since(behind_deletion)), "the next run was awaited, and it has ended"
        assert '"made":["a"]' in await end_of(seen_in(await job.lifecycle()))
        assert '"made":["a"]' in await end_of(AwaitedRun(key=b"never used"))
    await session.close()
