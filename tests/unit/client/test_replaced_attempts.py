"""Attempts that the sidecar has replaced: their calls are refused at once, and they may not keep what they hold (W5, I12, F79)."""

import asyncio
import logging

import pytest

from ankka.process.overdue import ThreadsExhausted
from ankka.protocol.attempt import Token
from ankka.protocol.frames import Call, CallReplied, CancelCall, CancelStep, Drain, Merge, Merged, Ping, Pong, RunStep, StepAck, StepDone, StepStopped
from ankka.protocol.outcome import EndRun
from ankka.protocol.payload import TEXT, Payload
from tests.unit.client.hosted import Hosted, hosted
from tests.unit.client.stub_sidecar import StubSession
from tests.unit.client.stubborn import StubbornWorkflow

TOKEN = Token("stubborn", "s1", 1, 1, 3, 1)
REPLACED = "CONFLICT: cart/k1/quantity: the attempt that makes this call was replaced: it was cancelled, or its time was over"


def token(instance: str) -> Token:
    return Token("stubborn", instance, 1, 1, 3, 1)


def run(name: str, given: int | None = None, of: Token = TOKEN) -> RunStep:
    return RunStep(of, name, None if given is None else Payload(b"%d" % given, TEXT), Payload(b"0"), 4, 4, 10_000_000)


async def alive(session: StubSession) -> None:
    """The loop has handled all that was sent before, and has nothing to say to it."""
    await session.send(Ping(1))
    await session.expect(Pong)


async def test_a_step_that_swallows_its_cancellation_calls_nothing_and_answers_once() -> None:
    async with hosted(StubbornWorkflow) as (process, session):
        await session.send(run("swallow", 1))
        await process.notes.running.wait()
        await session.send(CancelStep(TOKEN))
        assert await session.expect(StepDone) == StepDone(TOKEN, 4, EndRun(), Payload(b"1", manifest="stubborn"))
        assert process.notes.said == ["swallowed CancelledError", REPLACED]
        await session.send(CancelStep(TOKEN), StepAck(TOKEN, stale=True))
        await alive(session)
        assert len(process.hosting.session.attempts) == 0


async def test_a_call_under_way_is_withdrawn_when_its_attempt_is_replaced() -> None:
    async with hosted(StubbornWorkflow) as (process, session):
        await session.send(run("swallow", 0))
        call = await session.expect(Call)
        await session.send(CancelStep(TOKEN))
        assert await session.expect(CancelCall) == CancelCall(call.request)
        assert await session.expect(StepStopped) == StepStopped(TOKEN)
        await session.send(CallReplied(call.request, Payload(b"7", TEXT)))  # the sidecar had sent it already
        await alive(session)
        assert process.notes.said == []


async def test_a_thread_that_waits_for_its_call_learns_that_its_attempt_was_replaced() -> None:
    async with hosted(StubbornWorkflow) as (process, session):
        await session.send(run("call-in-thread"))
        first = await session.expect(Call)
        await session.send(CallReplied(first.request, Payload(b"7", TEXT)))
        call = await session.expect(Call)
        await session.send(CancelStep(TOKEN))
        assert await session.expect(CancelCall) == CancelCall(call.request)
        # it returned an effect, which is answered as it is: the sidecar drops it as stale
        assert await session.expect(StepDone) == StepDone(TOKEN, 4, EndRun())
        assert process.notes.said == [f"True: {REPLACED}; whether this call was done is not known"]


async def test_what_a_step_left_behind_calls_nothing_after_its_answer() -> None:
    async with hosted(StubbornWorkflow) as (process, session):
        await session.send(run("leave-behind"))
        call = await session.expect(Call)
        assert await session.expect(CancelCall) == CancelCall(call.request)
        assert await session.expect(StepDone) == StepDone(TOKEN, 4, EndRun())
        await asyncio.wait(process.notes.tasks)
        ended = "CONFLICT: cart/k1/quantity: the attempt that makes this call has ended: its answer was given"
        assert process.notes.said == [f"{ended}; whether this call was done is not known"]


async def test_an_attempt_that_goes_on_after_the_grace_time_is_cancelled_again_and_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ankka"):
        async with hosted(StubbornWorkflow, welcome_grace=10_000) as (process, session):
            await session.send(run("swallow", 3))
            await process.notes.running.wait()
            await session.send(CancelStep(TOKEN))
            await session.expect(StepDone)
            assert process.notes.said == ["swallowed CancelledError"] * 3 + [REPLACED]
    said = [record.getMessage() for record in caplog.records]
    step = "step 'swallow' of stubborn/s1, attempt 1"
    dropped = "its result is dropped; it swallows its cancellation, and is cancelled again"
    assert said == [
        f"{step} was replaced and has not ended within 0.01 s: {dropped}",
        f"{step}, which was replaced, has ended at last; its result was dropped",
    ]


async def hold(process: Hosted, session: StubSession, *instances: str) -> None:
    """Each of them holds a thread."""
    await session.send(*[run("hold", of=token(instance)) for instance in instances])
    for _ in instances:
        assert await asyncio.to_thread(process.notes.held.acquire, timeout=5)


async def test_half_of_the_threads_held_by_replaced_attempts_end_the_process() -> None:
    # W5: of two threads one. What else runs is let finish, and what comes is given back.
    async with hosted(StubbornWorkflow, welcome_grace=10_000) as (process, session):
        await hold(process, session, "s1", "s2")
        await session.send(CancelStep(token("s1")))
        await session.expect(Drain)
        await session.send(run("hold", of=token("s3")))
        assert await session.expect(StepStopped) == StepStopped(token("s3"), "drained")
        await session.send(StepAck(token("s3")))
        process.notes.thread_gate.set()
        answers = [await session.expect(StepDone), await session.expect(StepDone)]
        assert {answer.token for answer in answers} == {token("s1"), token("s2")}
        await session.send(StepAck(token("s1"), stale=True), StepAck(token("s2")))
        held = "1 of 2 step threads are held by attempts that were replaced and do not end: step 'hold' of stubborn/s1, attempt 1"
        with pytest.raises(ThreadsExhausted, match=held):
            async with asyncio.timeout(5):
                await process.keeper


async def test_a_thread_that_ends_within_the_grace_time_counts_for_nothing() -> None:
    async with hosted(StubbornWorkflow) as (process, session):
        await hold(process, session, "s1", "s2")
        await session.send(CancelStep(token("s1")), CancelStep(token("s2")))
        await alive(session)
        process.notes.thread_gate.set()
        for _ in range(2):
            assert (await session.expect(StepDone)).token in (token("s1"), token("s2"))
        assert not process.keeper.done()


async def test_a_replaced_thread_does_not_hold_up_a_drain() -> None:
    async with hosted(StubbornWorkflow, welcome_grace=10_000) as (process, session):
        process.hosting._work.overdue.exhausted = None
        await hold(process, session, "s1")
        await session.send(CancelStep(token("s1")))
        await _overdue(process, token("s1"))
        draining = asyncio.create_task(process.hosting.drain(30))
        await session.expect(Drain)
        async with asyncio.timeout(5):
            await draining
            await process.keeper


async def _overdue(process: Hosted, of: Token) -> None:
    async with asyncio.timeout(5):
        while of not in process.hosting._work.overdue:  # noqa: ASYNC110 - a timer of the process, which tells nobody
            await asyncio.sleep(0.01)


async def test_a_merge_is_answered() -> None:
    async with hosted(StubbornWorkflow) as (_, session):
        await session.send(Merge(9, "stubborn", "s1", "hold", None, Payload(b"2"), Payload(b"3"), 1_000_000))
        assert await session.expect(Merged) == Merged(9, Payload(b"3", manifest="stubborn"), ("$",))
