"""Callers on a real table of calls, and a sidecar's memory of keys behind it, for tests of idempotency keys."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from ankka.calls.caller import Caller, Origin
from ankka.calls.component_calls import Calls
from ankka.client import ComponentClient
from ankka.process.calls import CallTable
from ankka.process.outgoing import Outgoing
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call, CallRefused, CallReplied
from ankka.protocol.payload import TEXT, Payload
from ankka.protocol.wire import decode_to_sidecar

UNKNOWN = Error(ErrorCode.TIMEOUT, "no answer came", {"outcome": "unknown"})
REFUSAL = Error(ErrorCode.CONFLICT, "not now")


def token(attempt: int = 1, visit: int = 7) -> Token:
    return Token("transfer", "t1", 1_700_000_000_000_000, 1, visit, attempt)


class Line:
    """A process's calls, with a session that is always open."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.table = CallTable(time.monotonic)
        self.outgoing = Outgoing(1_000_000, lambda: None)
        self.table.opened(self.outgoing, 1_000)

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        return await self.table.ask(call, repeatable=repeatable)

    def written(self) -> list[Call]:
        """The calls since the last look."""
        calls: list[Call] = []
        while (message := self.outgoing.take()) is not None:
            calls += [frame for frame in decode_to_sidecar(message) if isinstance(frame, Call)]
        return calls

    async def sent(self) -> Call:
        """The one call that the tasks under way have made."""
        await asyncio.sleep(0)
        (call,) = self.written()
        return call

    def wallet(self, origin: Origin, instance: str = "w1") -> Calls:
        return ComponentClient.inside(self, origin).for_event_sourced_entity("wallet", instance)

    def caller(self, attempt: int) -> Caller:
        return Caller(self, Origin(attempt=token(attempt)))


@dataclass
class Ledger:
    """What was done, and for which key: the sidecar's side of W15."""

    done: dict[bytes, Payload] = field(default_factory=dict[bytes, Payload])
    effects: Counter[bytes] = field(default_factory=Counter[bytes])

    def do(self, call: Call) -> Payload:
        """Do a call, or answer what was recorded for its key; a fresh one must never have been done."""
        assert call.key is not None
        assert call.input is not None
        if call.key in self.done:
            assert not call.fresh, "no recorded reply would be looked for"
            return self.done[call.key]
        self.effects[call.input.data] += 1
        self.done[call.key] = reply = Payload(b"%d" % len(self.done), TEXT)
        return reply

    def knows(self, call: Call) -> bool:
        return call.key in self.done


def answer(line: Line, call: Call, reply: Payload | Error) -> None:
    if isinstance(reply, Error):
        line.table.refused(CallRefused(call.request, reply))
    else:
        line.table.replied(CallReplied(call.request, reply))
