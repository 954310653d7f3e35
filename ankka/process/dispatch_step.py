"""One step attempt to its method, and what it came to back as a frame.

Async steps run on the loop, sync steps in a thread with the caller's context variables. What a step raises is a fault
(rule W6), whatever it is: also `SystemExit`, and a `CancelledError` nobody asked for. Only a task that was cancelled from
outside answers `StepStopped`.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ankka.context import StepContext
from ankka.definition.definitions import ComponentDefinition, StepDefinition
from ankka.definition.settings import Recovery, microseconds
from ankka.effects.common import ABSENT
from ankka.effects.workflow import End, Pause, StepFail, TransitionTo, WorkflowStepEffect
from ankka.process.dispatch_values import (
    MESSAGE_LIMIT,
    Create,
    Unreadable,
    Unusable,
    decode_input,
    decode_state,
    encode,
    encode_target,
    expect_effect,
    new_object,
    scope_of,
    sendable,
)
from ankka.process.fault_log import log_failure
from ankka.protocol.errors import Error, clean_text
from ankka.protocol.frames import RunStep, StepDone, StepFaulted, StepStopped
from ankka.protocol.outcome import EndRun, FailRun, GoTo, Outcome, PauseFor

if TYPE_CHECKING:
    from ankka.client import ComponentClient

T = TypeVar("T")
StepAnswer = StepDone | StepFaulted | StepStopped


class Threads(Protocol):
    """Where sync steps run."""

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Run `function` in a thread with the caller's context variables."""
        ...


async def run_step(
    definition: ComponentDefinition,
    frame: RunStep,
    client: "ComponentClient | None",
    resources: Any,
    threads: Threads,
    create: Create | None = None,
) -> StepAnswer:
    """Run one attempt of a step; cancelling the task cancels the attempt.

    A sync step that is cancelled sees `context.is_cancelled`; the answer comes when its thread has come to an end.
    """
    step = definition.step(frame.step)
    if step is None:
        return StepStopped(frame.token, f"this process does not declare the step {frame.step!r} of {definition.component_id!r}")
    attempt = StepAttempt(definition, step, frame, client, resources, create)
    began = time.monotonic()
    try:
        return await (attempt.run_async() if step.is_async else attempt.run_threaded(threads))
    except Unreadable as error:
        text = clean_text(str(error))[:MESSAGE_LIMIT]
        log_failure(logging.WARNING, f"step {step.name!r} of {definition.component_id}/{frame.token.instance} is not run here: {text}", error)
        return StepStopped(frame.token, text, unreadable=True)
    except BaseException as error:
        if _cancelled(asyncio.current_task()):
            return StepStopped(frame.token)
        return _fault(definition, step, frame, error, time.monotonic() - began)


class StepAttempt:
    """One attempt: exceptions go to whoever runs it."""

    __slots__ = ("_client", "_create", "_definition", "_frame", "_resources", "_step")

    def __init__(
        self,
        definition: ComponentDefinition,
        step: StepDefinition,
        frame: RunStep,
        client: "ComponentClient | None",
        resources: Any,
        create: Create | None,
    ) -> None:
        self._definition = definition
        self._step = step
        self._frame = frame
        self._client = client
        self._resources = resources
        self._create = create

    async def run_async(self) -> StepDone:
        """Run it on the loop."""
        call, close = self._prepared(asyncio.current_task())
        try:
            return self._done(await call())
        finally:
            close()

    async def run_threaded(self, threads: Threads) -> StepDone:
        """Run it in a thread, which is waited for also when the attempt is cancelled: it holds its place until then."""
        call, close = self._prepared(asyncio.current_task())

        def in_thread() -> tuple[Any, BaseException | None]:
            try:
                effect = call()
                return (effect if inspect.isawaitable(effect) else self._done(effect)), None
            except BaseException as error:  # a future cannot hold every exception (StopIteration)
                return None, error

        try:
            result, error = await _whole(threads.run(in_thread))
            if error is not None:
                raise error
            return self._done(await result) if inspect.isawaitable(result) else result
        finally:
            close()

    def _prepared(self, task: "asyncio.Task[Any] | None") -> tuple[Callable[[], Any], Callable[[], None]]:
        definition, step, frame = self._definition, self._step, self._frame
        where = self._where
        given = None if step.input is None else frame.input  # an input of an older version that none is taken of any more
        try:
            arguments = decode_input(step.input, given, where)
            component = new_object(definition, frame.token.instance, self._create)
            scope = scope_of(component)
            scope.state = decode_state(definition, component, frame.state)
        except Unusable as error:
            raise Unreadable(str(error)) from error
        scope.context = StepContext(
            definition.component_id, frame.token.instance, frame.sequence, self._client, self._resources, token=frame.token, at=frame.at, task=task
        )
        return lambda: step.function(component, *arguments), scope.close

    @property
    def _where(self) -> str:
        return f"step {self._step.name!r} of {self._definition.component_id}/{self._frame.token.instance}"

    def _done(self, effect: Any) -> StepDone:
        expect_effect(effect, WorkflowStepEffect, self._where)
        state = None if effect.state is ABSENT else encode(self._definition.state_codec, effect.state, f"the state {self._where} sets")
        return StepDone(self._frame.token, self._frame.base, self._outcome(effect.next), state)

    def _outcome(self, next_: TransitionTo | Pause | End | StepFail) -> Outcome:
        match next_:
            case TransitionTo():
                return GoTo(encode_target(self._definition, next_, self._where))
            case Pause(after, on_timeout):
                target = None if on_timeout is None else encode_target(self._definition, on_timeout, self._where)
                return PauseFor(None if after is None else microseconds(after), target)
            case End():
                return EndRun()
            case StepFail(message, code):
                return FailRun(sendable(Error(code, message)))


async def _whole(running: "asyncio.Future[T]") -> T:
    """The result of a thread; a cancellation is passed on only as `context.is_cancelled`."""
    while True:
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if running.done() or not _cancelled(asyncio.current_task()):
                raise


def _cancelled(task: "asyncio.Task[Any] | None") -> bool:
    return task is not None and task.cancelling() > 0


def _fault(definition: ComponentDefinition, step: StepDefinition, frame: RunStep, error: BaseException, elapsed: float) -> StepFaulted:
    token = frame.token
    where = f"step {step.name!r} of {definition.component_id}/{token.instance}"
    text = describe(error)
    if isinstance(error, Unusable):  # which step it was is said before it, here and by the engine
        text = text.replace(f"the input of {where}", "its input", 1).replace(where, "it", 1)
    log_failure(logging.WARNING, f"{where} failed in attempt {token.attempt} after {elapsed:.3f} s: {text}", error)
    return StepFaulted(token, type_names(error), text, not is_excluded(error, step.recovery))


def describe(error: BaseException) -> str:
    """An error as it is kept: its type and its text, cleaned and bounded, whatever it holds.

    >>> describe(ValueError("no\\x00stock"))
    'ValueError: no\\\\x00stock'
    """
    if isinstance(error, Unusable):
        return clean_text(str(error))[:MESSAGE_LIMIT]
    try:
        text = str(error)
    except BaseException as inner:
        text = f"(its text cannot be had: {type(inner).__name__})"
    return clean_text(f"{type(error).__name__}: {text}" if text else type(error).__name__)[:MESSAGE_LIMIT]


def type_names(error: BaseException) -> tuple[str, ...]:
    """The names of an error's classes, most special first, each plain and with its module.

    >>> type_names(KeyError("x"))[:4]
    ('KeyError', 'builtins.KeyError', 'LookupError', 'builtins.LookupError')
    """
    classes = [cls for cls in type(error).__mro__ if cls is not object]
    return tuple(clean_text(name) for cls in classes for name in (cls.__name__, f"{cls.__module__}.{cls.__qualname__}"))


def is_excluded(error: BaseException, recovery: Recovery) -> bool:
    """Whether `not_on` takes this error out of the retries."""
    names = type_names(error)
    return any(name in names if isinstance(name, str) else isinstance(error, name) for name in recovery.not_on)
