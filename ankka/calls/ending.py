"""Waiting for the end of a workflow's run, over restarts of the sidecar too.

    asking ──the end, or why there is none──► over
       │ ▲
       │ └── asked again, naming the run ◄── the sidecar went away, or is not ready
       └──time is over──► `TIMEOUT`

The first question is about the run that the sidecar finds, and is one message and nothing else: most waits end with its
answer. One that has to be asked again names its run, by what was seen of it or by how long it is awaited already, and the
sidecar answers with no other run's end.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

import msgspec

from ankka.calls.caller import Caller, Target
from ankka.command_error import CommandError
from ankka.definition.settings import check_duration
from ankka.protocol.awaited import AwaitedRun, as_input, seen_in
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.payload import Payload

T = TypeVar("T")
S_co = TypeVar("S_co", covariant=True)

LIFECYCLE = "ankka:lifecycle"
AWAIT = "ankka:await"
HEARTBEAT = 1.0
"""Seconds between heartbeats."""
FIRST_HEARTBEAT = 0.05
"""Seconds without an answer after which the first heartbeat comes."""
ASK_AGAIN = 0.2
"""Seconds until a sidecar that is not ready is asked again."""
LATE = 0.05
"""Seconds beyond the timeout in which the connection may still say why there was no answer."""

_decode_lifecycle = msgspec.json.Decoder(WorkflowLifecycle).decode


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The run has not ended. `lifecycle` is the engine's view of now, `None` while no sidecar answers."""

    lifecycle: WorkflowLifecycle | None


@dataclass(frozen=True, slots=True)
class Ended(Generic[S_co]):
    """The run has completed; `state` is its end state, `None` if no type was named for it.

    >>> Ended("charged").state
    'charged'
    """

    state: S_co


@dataclass(frozen=True, slots=True)
class Failed:
    """The run has failed: the reason, and the code it failed with (`INTERNAL` unless the step said another).

    >>> Failed("payment declined", ErrorCode.CONFLICT).code.http_status
    409
    """

    message: str
    code: ErrorCode


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The run has not ended within the time; it goes on. `lifecycle` is what was last seen of it, `None` if nothing was."""

    lifecycle: WorkflowLifecycle | None


class EndWait:
    """One wait for the end of one run of `target`; `awaited` names the run if it is known already."""

    def __init__(self, caller: Caller, target: Target, timeout: timedelta, awaited: AwaitedRun | None = None) -> None:
        seconds = check_duration(timeout, "timeout").total_seconds()
        self._caller = caller
        self._target = target
        if caller.origin.deadline is not None:
            seconds = min(seconds, max(0.0, caller.origin.deadline - time.monotonic()))
        self._seconds = seconds
        self._until: float | None = None
        """When its time is over, on the loop's clock."""
        self._awaited = awaited
        self._obstacle: CommandError | None = None
        """Why there is no answer now."""
        self._seen: WorkflowLifecycle | None = None
        self._has_asked = False

    async def end(self) -> Payload:
        """The end state; `CommandError` if the run failed, is gone, or has not ended in time."""
        try:
            async with asyncio.timeout(self._left() + LATE):
                return await self._ask_for_end()
        except TimeoutError:
            raise self._late() from None
        except CommandError as refusal:
            self._note(refusal)
        return await self._end_over_restarts()

    async def _end_over_restarts(self) -> Payload:
        asking = asyncio.ensure_future(self._ask_until_answered(self._obstacle))
        try:
            while not await _is_done(asking, min(HEARTBEAT, self._left() + LATE)):
                if self._left() <= 0:
                    raise self._late()
                if self._obstacle is not None:
                    await self._look_beside(asking)
            return asking.result()
        finally:
            _let_go(asking)

    async def parts(self, decode: Callable[[Payload], T]) -> "AsyncGenerator[Heartbeat | Ended[T] | Failed | TimedOut]":
        """Heartbeats, then how it ended."""
        asking = asyncio.ensure_future(self._ask_until_answered())
        wait = FIRST_HEARTBEAT
        try:
            while not await _is_done(asking, min(wait, self._left() + LATE)):
                if self._left() <= 0:
                    yield TimedOut(self._seen)
                    return
                lifecycle = await self._look_beside(asking)
                if not asking.done():
                    yield Heartbeat(lifecycle)
                wait = HEARTBEAT
            yield self._last(asking, decode)
        finally:
            _let_go(asking)

    def _last(self, asking: "asyncio.Future[Payload]", decode: Callable[[Payload], T]) -> Ended[T] | Failed | TimedOut:
        try:
            return Ended(decode(asking.result()))
        except CommandError as raised:
            error = raised.error
            if error.code is ErrorCode.WORKFLOW_FAILED:
                return Failed(error.message, _code_of(error))
            if self._left() <= 0 and (_may_pass(error) or error.code is ErrorCode.TIMEOUT):
                return TimedOut(self._seen)
            raise

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _ask_until_answered(self, refused: CommandError | None = None) -> Payload:
        """Ask until somebody answers; `refused` is what the question before this came to."""
        before = None if refused is None else refused.error
        while True:
            if before is not None:
                await asyncio.sleep(min(ASK_AGAIN, self._left()))
            try:
                return await self._ask_for_end()
            except CommandError as refusal:
                if refusal.error is before:
                    raise  # the very same error again is no answer of a sidecar's: the client was closed
                before = refusal.error
                self._note(refusal)
            except RuntimeError:
                if self._obstacle is None:
                    raise
                raise self._obstacle from None  # the client was closed meanwhile

    async def _ask_for_end(self) -> Payload:
        awaited = self._awaited
        if awaited is None and self._has_asked:
            awaited = AwaitedRun(waited=max(1, round((self._seconds - self._left()) * 1_000_000)))
        self._has_asked = True
        return await self._ask(AWAIT, None if awaited is None else as_input(awaited), self._left(), repeatable=self._awaited is not None)

    def _note(self, refusal: CommandError) -> None:
        """Take a refusal for an obstacle that may pass, or raise what it means."""
        error = refusal.error
        if not _may_pass(error):
            raise refusal
        if self._left() <= 0:
            raise (self._late() if error.code is ErrorCode.TIMEOUT else refusal) from None
        self._obstacle = self._lost() if error.code is ErrorCode.TIMEOUT else refusal

    async def _look_beside(self, asking: "asyncio.Future[Payload]") -> WorkflowLifecycle | None:
        """The lifecycle, unless the end comes first or no sidecar answers; the run that is seen is the one to await."""
        looking = asyncio.ensure_future(self._look())
        try:
            await asyncio.wait((asking, looking), return_when=asyncio.FIRST_COMPLETED)
            return looking.result() if looking.done() else None
        finally:
            _let_go(looking)

    async def _look(self) -> WorkflowLifecycle | None:
        try:
            payload = await self._ask(LIFECYCLE, None, min(HEARTBEAT, self._left()), repeatable=True)
        except (CommandError, RuntimeError):  # no sidecar answers, or the client was closed: the await itself says so
            return None
        self._seen = _decode_lifecycle(payload.data)
        if self._awaited is None and self._obstacle is None:
            self._awaited = seen_in(self._seen)
        self._obstacle = None
        return self._seen

    async def _ask(self, handler: str, given: Payload | None, seconds: float, *, repeatable: bool) -> Payload:
        caller = msgspec.structs.replace(self._caller, timeout=max(seconds, 0.001))
        return await caller.ask(self._target, handler, given, repeatable=repeatable)

    @property
    def _where(self) -> str:
        return f"{self._target.component}/{self._target.instance}"

    def _left(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self._seconds
        return max(0.0, self._until - now)

    def _lost(self) -> CommandError:
        return CommandError(f"the sidecar went away while the end of {self._where} was awaited", ErrorCode.UNAVAILABLE)

    def _late(self) -> CommandError:
        if self._obstacle is not None:
            return self._obstacle
        return CommandError(f"{self._where} has not ended within {round(self._seconds, 3):g} s; it goes on, await it again", ErrorCode.TIMEOUT)


def _may_pass(error: Error) -> bool:
    """Whether an await may be repeated: nothing is wrong with it, only nobody could answer."""
    is_lost = error.code in (ErrorCode.TIMEOUT, ErrorCode.INTERNAL) and error.details.get("outcome") == "unknown"
    return is_lost or error.code is ErrorCode.UNAVAILABLE


def _code_of(error: Error) -> ErrorCode:
    with suppress(ValueError):
        return ErrorCode(error.details.get("code", ErrorCode.INTERNAL))
    return ErrorCode.INTERNAL


async def _is_done(future: "asyncio.Future[Any]", seconds: float) -> bool:
    await asyncio.wait((future,), timeout=seconds)
    return future.done()


def _let_go(future: "asyncio.Future[Any]") -> None:
    """Nobody waits for it any more, nor for what it raised."""
    if not future.cancel() and not future.cancelled():
        future.exception()
