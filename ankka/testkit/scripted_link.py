"""Stands in for a process's connection: what a handler's client asks, the script answers."""

import asyncio
from collections.abc import Hashable

from ankka.calls.ending import AWAIT, LIFECYCLE
from ankka.command_error import CommandError
from ankka.process.attempts import REPLACED
from ankka.process.calls import check_loop
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import Payload
from ankka.testkit.scripted_calls import Hang, Script, UnscriptedCall
from ankka.testkit.simulated_loop import SimulatedLoop


class ScriptedLink:
    """The link of one handler or step attempt, which has time until `deadline` (on the loop's clock, in seconds).

    `thread` names what is outside the loop while a sync step is at work: while such a step waits for an answer that does
    not come, nothing is.
    """

    def __init__(self, script: Script, loop: SimulatedLoop, deadline: float, thread: Hashable | None = None) -> None:
        self._script = script
        self._loop = loop
        self._deadline = deadline
        self._thread = thread
        self._hanging: dict[asyncio.Future[Payload], str] = {}
        self._is_over = False
        self.problem: UnscriptedCall | None = None
        """A call without an answer: it fails the test, whatever the code that made it does about it."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop the kit runs handlers on."""
        return self._loop

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The calls that have no answer yet, in words."""
        return tuple(self._hanging.values())

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Answer a call as the script says."""
        check_loop(self._loop)
        if self._is_over:
            raise CommandError(f"{call.component}/{call.instance}/{call.handler}: {REPLACED}", ErrorCode.CONFLICT)
        recorded = self._script.recorded_for(call, self._loop.now)
        if recorded is not None:
            return recorded
        try:
            answer = self._script.take(call, self._loop.now)
        except UnscriptedCall as problem:
            if call.handler == LIFECYCLE and f"{call.component}/{call.instance} {AWAIT}" in self.unanswered:
                return await self._hang(call)  # who awaits an end that does not come looks by itself which run it is
            self.problem = self.problem or problem
            raise
        if isinstance(answer, CommandError):
            raise CommandError(answer.error)
        return await self._hang(call) if isinstance(answer, Hang) else answer

    def withdraw(self) -> None:
        """Its attempt was replaced, or nobody waits for its handler: what it waits for does not come, and it calls nothing more."""
        self._is_over = True
        for answer, what in list(self._hanging.items()):
            if not answer.done():
                text = f"{what}: {REPLACED}; whether this call was done is not known"
                answer.set_exception(CommandError(Error(ErrorCode.CONFLICT, text, {"outcome": "unknown"})))

    async def _hang(self, call: Call) -> Payload:
        answer: asyncio.Future[Payload] = self._loop.create_future()
        self._hanging[answer] = f"{call.component}/{call.instance} {call.handler}"
        worked = self._thread in self._loop.outside
        self._loop.outside.discard(self._thread)
        try:
            async with asyncio.timeout_at(min(self._deadline, self._loop.time() + call.timeout / 1_000_000)):
                return await answer
        except TimeoutError:
            text = f"{call.component}/{call.instance} did not answer '{call.handler}' in time: it may have been done or not"
            raise CommandError(Error(ErrorCode.TIMEOUT, text, {"outcome": "unknown"})) from None
        finally:
            del self._hanging[answer]
            if worked:
                self._loop.outside.add(self._thread)
