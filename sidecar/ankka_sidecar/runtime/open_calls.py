"""The calls that step attempts have under way (W5, I12).

When an attempt is replaced, its calls that still wait in a mailbox are withdrawn, and those that run are awaited: until
then, or until the grace time is over, the attempt counts as not stopped, so that its successor does not start beside a
call of its own past.
"""

from __future__ import annotations

from collections.abc import Callable

from ankka.protocol.attempt import Token
from ankka_sidecar.core.inputs import Input


class OpenCalls:
    """Calls by attempt, and the news of an attempt's end that waits for them."""

    def __init__(self, deliver: Callable[[Token, Input], None], withdraw: Callable[[int], None]) -> None:
        self._deliver = deliver
        self._withdraw = withdraw
        self._open: dict[Token, dict[int, str]] = {}
        self._waiting: dict[Token, tuple[int, Input]] = {}

    def begun(self, token: Token, call: int, what: str) -> None:
        """An attempt has made a call."""
        self._open.setdefault(token, {})[call] = what

    def ended(self, token: Token, call: int) -> None:
        """The call has its result, or is known not to happen."""
        calls = self._open.get(token)
        if calls is None:
            return
        calls.pop(call, None)
        if not calls:
            del self._open[token]
            waiting = self._waiting.pop(token, None)
            if waiting is not None:
                self._deliver(token, waiting[1])

    def of(self, token: Token) -> tuple[str, ...]:
        """What an attempt has under way."""
        return tuple(self._open.get(token, {}).values())

    def withdraw(self, token: Token) -> None:
        """The attempt was replaced or has ended: what of its calls has not begun is not begun."""
        for call in list(self._open.get(token, ())):
            self._withdraw(call)

    def after(self, token: Token, given: Input, until: int) -> None:
        """Deliver `given` when the attempt has no call under way any more, at `until` at the latest."""
        if token in self._open:
            self._waiting[token] = (until, given)
        else:
            self._deliver(token, given)

    def expire(self, now: int) -> None:
        """Wait no longer for calls of attempts whose grace is over."""
        for token, (until, given) in list(self._waiting.items()):
            if until <= now:
                del self._waiting[token]
                self._deliver(token, given)
