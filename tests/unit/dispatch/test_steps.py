"""One attempt of a step: its outcome, its faults (W6), its cancellation (W5)."""

import asyncio
import logging
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ankka.codec import default_codec_for
from ankka.codecs.by_value import payload_of
from ankka.definition.build import definition_of
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import WorkflowStepEffect
from ankka.process.dispatch_step import StepAnswer, run_step
from ankka.process.threads import StepThreads
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error
from ankka.protocol.frames import RunStep, StepDone, StepFaulted, StepStopped
from ankka.protocol.outcome import EndRun, FailRun, GoTo, PauseFor
from ankka.protocol.payload import Payload, StepTarget
from ankka.workflow import step
from tests.unit.dispatch.stepping import VARIABLE, State, Steps

HERE = Steps.__module__
INT = default_codec_for(int)


@pytest.fixture
def threads() -> Iterator[StepThreads]:
    made = StepThreads(4)
    yield made
    made.close()


def frame(name: str, value: Any = None, attempt: int = 1, visit: int = 7, at: int = 0) -> RunStep:
    payload = None if value is None else payload_of(value)
    return RunStep(Token("steps", "s1", 11, 1, visit, attempt), name, payload, None, 5, 7, 30_000_000, at=at)


async def run(threads: StepThreads, name: str, value: Any = None, workflow: type[Steps] = Steps, **options: Any) -> StepAnswer:
    return await run_step(definition_of(workflow), frame(name, value, **options), None, None, threads)


async def fault(threads: StepThreads, name: str, value: Any) -> StepFaulted:
    answer = await run(threads, name, value)
    assert isinstance(answer, StepFaulted)
    return answer


async def test_outcomes(threads: StepThreads) -> None:
    token = frame("next").token
    state = Steps.state_codec.encode_payload(State("s1 3"))
    assert await run(threads, "next", 3) == StepDone(token, 5, GoTo(StepTarget("next", INT.encode_payload(4))), state)
    assert await run(threads, "awaitable") == StepDone(
        token, 5, GoTo(StepTarget("next", INT.encode_payload(2))), Steps.state_codec.encode_payload(State("s1 1"))
    )
    assert await run(threads, "pause") == StepDone(token, 5, PauseFor(1_500_000, StepTarget("next", INT.encode_payload(4))))
    assert await run(threads, "pause-for-ever") == StepDone(token, 5, PauseFor())
    assert await run(threads, "fail") == StepDone(token, 5, FailRun(Error(ErrorCode.CONFLICT, "no\\x00 stock")))


async def test_a_step_without_an_input_gets_its_default_or_none(threads: StepThreads) -> None:  # F18
    token = frame("default").token
    encode = Steps.state_codec.encode_payload
    three = default_codec_for(int | None).encode_payload(3)
    assert await run(threads, "default") == StepDone(token, 5, GoTo(StepTarget("optional")), encode(State("9")))
    assert await run(threads, "default", 3) == StepDone(token, 5, GoTo(StepTarget("optional")), encode(State("3")))
    assert await run(threads, "optional") == StepDone(token, 5, GoTo(StepTarget("default", three)), encode(State("None")))


async def test_a_sync_step_runs_in_a_thread_with_the_callers_context_variables(threads: StepThreads) -> None:  # F76
    VARIABLE.set("set")
    answer = await run(threads, "sync")
    assert answer == StepDone(frame("sync").token, 5, EndRun(), Steps.state_codec.encode_payload(State("set False")))


@pytest.mark.parametrize("name", ["raise", "raise-sync"])
@pytest.mark.parametrize(
    ("what", "message", "types"),
    [
        (
            "declined",
            "CardDeclined: no\\x00 money \\ud800",
            ("CardDeclined", f"{HERE}.CardDeclined", "Declined", f"{HERE}.Declined"),
        ),
        ("empty", "ValueError", ("ValueError", "builtins.ValueError", "Exception", "builtins.Exception")),
        ("unprintable", "Unprintable: (its text cannot be had: ValueError)", ("Unprintable", f"{HERE}.Unprintable")),
        ("exit", "SystemExit: 3", ("SystemExit", "builtins.SystemExit", "BaseException", "builtins.BaseException")),
        ("interrupt", "KeyboardInterrupt", ("KeyboardInterrupt", "builtins.KeyboardInterrupt")),
        ("cancelled", "CancelledError: by itself", ("CancelledError", "asyncio.exceptions.CancelledError")),
        ("refused", "CommandError: CONFLICT: checked out", ("CommandError", "ankka.command_error.CommandError")),
        ("group", "ExceptionGroup: two (2 sub-exceptions)", ("ExceptionGroup", "builtins.ExceptionGroup")),
    ],
)
async def test_whatever_a_step_raises_is_a_fault(threads: StepThreads, name: str, what: str, message: str, types: tuple[str, ...]) -> None:  # W6
    answer = await fault(threads, name, what)
    assert answer.message == message
    assert answer.types[: len(types)] == types
    assert answer.token == frame(name).token


async def test_stop_iteration_does_not_hang_a_sync_step(threads: StepThreads) -> None:  # F18
    answer = await fault(threads, "raise-sync", "stop-iteration")
    assert answer.message == "RuntimeError: coroutine raised StopIteration"  # what Python makes of it


async def test_a_long_message_is_cut(threads: StepThreads) -> None:
    assert len((await fault(threads, "raise", "long")).message) == 4_000


async def test_not_on_takes_types_their_subclasses_and_names(threads: StepThreads) -> None:  # W6
    assert not (await fault(threads, "raise", "declined")).retryable
    assert not (await fault(threads, "raise", "refused")).retryable
    assert (await fault(threads, "raise", "empty")).retryable
    assert not (await fault(threads, "raise-sync", "declined")).retryable
    assert (await fault(threads, "raise-sync", "refused")).retryable


async def test_one_log_line_per_fault(threads: StepThreads, caplog: pytest.LogCaptureFixture) -> None:
    await run(threads, "raise", "empty", attempt=2)
    (record,) = [record for record in caplog.records if record.name == "ankka"]
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("step 'raise' of steps/s1 failed in attempt 2 after 0.0")
    assert record.exc_info is not None


async def test_a_refusal_of_ours_is_one_line_in_the_log(threads: StepThreads, caplog: pytest.LogCaptureFixture) -> None:
    await run(threads, "spoil", "none")
    (record,) = [record for record in caplog.records if record.name == "ankka"]
    reason = "it returned None, expected an effect (WorkflowStepEffect); return what self.step_effects builds"
    assert re.fullmatch(rf"step 'spoil' of steps/s1 failed in attempt 1 after 0\.\d+ s: {re.escape(reason)}", record.getMessage())
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("none", "it returned None, expected an effect (WorkflowStepEffect); return what self.step_effects builds"),
        (
            "command-effect",
            "it returned WorkflowReadOnlyEffect, expected an effect (WorkflowStepEffect); return what self.step_effects builds",
        ),
        (
            "open",
            "it returned an effect that does not say what is next; end it with "  # noqa: ISC004
            ".then_transition_to(…), .then_pause(), .then_end() or .then_fail(…)",
        ),
        ("state", "the state it sets cannot be encoded: $.text: expected str, got int 3"),
        ("target", "it leads to the step 'synk', which 'steps' does not declare; did you mean 'sync'?"),
        ("no-end", "ValueError: a pause with on_timeout='sync' needs after=timedelta(…); without it the pause has no end"),
        ("past", "ValueError: after=-1 day, 23:59:59 must be longer than zero"),
        ("seconds", "ValueError: after=5 is no duration; write timedelta(seconds=…)"),
        ("input", "it gives the step 'next' no input, but the step needs one: number, int"),
    ],
)
async def test_effects_that_cannot_be_used_are_faults(threads: StepThreads, what: str, message: str) -> None:  # W9
    assert (await fault(threads, "spoil", what)).message == message


async def test_a_step_without_the_input_it_needs(threads: StepThreads) -> None:
    needed = "step 'next' of steps/s1 needs an input: number, int"
    assert await run(threads, "next", None) == StepStopped(frame("next").token, needed, unreadable=True)
    unread = "the input of step 'next' of steps/s1 cannot be read: $: expected int, got text 'three'"
    assert await run(threads, "next", "three") == StepStopped(frame("next").token, unread, unreadable=True)


async def test_an_input_of_an_older_version_is_dropped_where_none_is_taken_any_more(threads: StepThreads) -> None:
    assert isinstance(await run(threads, "sync", 3), StepDone)


async def test_a_step_that_is_not_declared_is_no_fault(threads: StepThreads) -> None:  # W12, F64
    answer = await run(threads, "gone")
    assert answer == StepStopped(frame("gone").token, "this process does not declare the step 'gone' of 'steps'")


async def test_a_state_that_cannot_be_read_is_no_fault(threads: StepThreads) -> None:
    broken = replace_state(frame("sync"), Payload(b'{"text":3}', manifest="state"))
    answer = await run_step(definition_of(Steps), broken, None, None, threads)
    assert answer == StepStopped(broken.token, "the state of steps/s1 cannot be read: $.text: expected str, got int 3", unreadable=True)


def replace_state(of: RunStep, state: Payload) -> RunStep:
    return RunStep(of.token, of.step, of.input, state, of.base, of.sequence, of.timeout)


@pytest.mark.parametrize("name", ["wait", "angry"])
async def test_a_cancelled_async_step_is_stopped(threads: StepThreads, name: str) -> None:  # W5
    task = asyncio.create_task(run(threads, name))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    assert await task == StepStopped(frame(name).token)


async def test_a_step_that_swallows_its_cancellation_answers_what_it_comes_to(threads: StepThreads) -> None:  # F79
    task = asyncio.create_task(run(threads, "swallow"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    assert await task == StepDone(frame("swallow").token, 5, EndRun())


async def test_a_cancelled_sync_step_sees_it_and_is_waited_for(threads: StepThreads) -> None:  # W5, F50
    loop = asyncio.get_running_loop()
    running = asyncio.Event()
    go_on = threading.Event()
    seen: list[bool] = []

    class Waiting(Steps):
        @step("sync")
        def sync(self) -> WorkflowStepEffect[State]:
            seen.append(self.context.is_cancelled)
            loop.call_soon_threadsafe(running.set)
            go_on.wait(10)
            seen.append(self.context.is_cancelled)
            raise ValueError("leaving")

    task = asyncio.create_task(run(threads, "sync", workflow=Waiting))
    await running.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    assert await task == StepStopped(frame("sync").token)
    assert seen == [False, True]


async def test_context_reaches_every_thread_a_step_uses(threads: StepThreads) -> None:  # F76
    seen: list[tuple[str, int, str]] = []

    class Threaded(Steps):
        @step("wait")
        async def wait(self) -> WorkflowStepEffect[State]:
            VARIABLE.set("here")

            def look() -> None:
                seen.append((self.entity_id, self.context.attempt, VARIABLE.get()))

            await asyncio.gather(*(asyncio.to_thread(look) for _ in range(20)))
            await asyncio.gather()  # F18
            return self.step_effects.then_end()

    assert isinstance(await run(threads, "wait", workflow=Threaded, attempt=3), StepDone)
    assert seen == [("s1", 3, "here")] * 20


async def test_what_a_visit_draws_is_the_same_in_each_attempt(threads: StepThreads) -> None:
    drawn: list[Any] = []

    class Drawing(Steps):
        @step("wait")
        async def wait(self) -> WorkflowStepEffect[State]:
            context = self.context
            drawn.append((context.now(), context.uuid(), context.uuid(), context.random(), context.idempotency_key))
            assert context.now() == context.now()
            assert context.now().tzinfo is UTC
            return self.step_effects.then_end()

    at = 1_700_000_000_000_000
    for visit, attempt in ((7, 1), (7, 2), (8, 1)):
        assert isinstance(await run(threads, "wait", workflow=Drawing, visit=visit, attempt=attempt, at=at), StepDone)
    first, second, other = drawn
    assert first == second
    assert first[0] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert first[1] != first[2]
    assert 0 <= first[3] < 1
    assert not set(first[1:]) & set(other[1:])
