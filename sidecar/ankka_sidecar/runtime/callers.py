"""Who waits for a reply: a number per call, what was asked, and the function that takes the result."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error
from ankka.protocol.payload import Payload

Result = Payload | Error
Answer = Callable[[Result], None]


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call as it came in, from HTTP, a client or a process. `timeout` in µs."""

    component: str
    instance: str
    handler: str
    input: Payload | None
    timeout: int
    kind: str | None = None
    read_only: bool = False
    """The caller wants a query, and a command is refused."""
    metadata: dict[str, str] = {}
    chain: tuple[str, ...] = ()
    attempt: Token | None = None
    key: bytes | None = None
    trace: str | None = None
    fresh: bool = False


class Callers:
    """Calls under way."""

    def __init__(self, answered: Callable[[int, Request], None]) -> None:
        """`answered` is told of each call that has its result, after its caller was."""
        self._answered = answered
        self._waiting: dict[int, tuple[Answer, Request]] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, call: int) -> bool:
        return call in self._waiting

    def add(self, answer: Answer, request: Request) -> int:
        """A number for a call whose result goes to `answer`."""
        self._number += 1
        self._waiting[self._number] = (answer, request)
        return self._number

    def answer(self, call: int, result: Result) -> None:
        """Give a call its result; a call that was dropped meanwhile gets none."""
        waiting = self._waiting.pop(call, None)
        if waiting is not None:
            waiting[0](result)
            self._answered(call, waiting[1])

    def request_of(self, call: int) -> Request | None:
        """What a waiting call had asked."""
        waiting = self._waiting.get(call)
        return waiting[1] if waiting is not None else None

    def of(self, component: str, instance: str) -> list[int]:
        """The calls that wait for one instance."""
        return [call for call, (_, asked) in self._waiting.items() if (asked.component, asked.instance) == (component, instance)]

    def mute(self, call: int) -> None:
        """The caller has gone, but its call is still to be waited for."""
        waiting = self._waiting.get(call)
        if waiting is not None:
            self._waiting[call] = (_unheard, waiting[1])

    def drop(self, call: int) -> Request | None:
        """The caller has gone; what it had asked, if it was still waiting."""
        waiting = self._waiting.pop(call, None)
        return waiting[1] if waiting is not None else None

    def under_way(self) -> list[tuple[int, Request]]:
        """Every call that waits, and what it had asked."""
        return [(call, request) for call, (_, request) in self._waiting.items()]


def _unheard(result: Result) -> None:
    """A result that nobody waits for."""
