"""The keys of the calls that one run of a step or of a keyed command makes, the same in every run of it (W16).

A call's key is made of the visit or the command, the target, the handler, the input, and a number that tells equal
calls apart:

    free ──start──► in use ──done──► used up
     ▲                 └──give_back──► free

  * A call that starts takes the lowest free number, so it does not matter in which order equal calls finish.
  * Only a reply uses a number up. A call that was refused, timed out, was cancelled or is uncertain gives it back; the
    next equal call has the same key, and gets the recorded reply if that call was done after all.
  * A number that nobody had is *fresh* in the first attempt of a visit: no other can have sent its key.
"""

import heapq
from collections.abc import Callable
from functools import partial

from ankka.codecs.canonical import canonical
from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.payload import Payload


class _Numbers:
    """The numbers of equal calls: all below `unused` are used up, in use, or given back (`free`, a heap)."""

    __slots__ = ("free", "unused")

    def __init__(self) -> None:
        self.unused: int = 1
        self.free: list[int] = []


class StartedCall:
    """A call with its key, from its start until it is done or gives its number back."""

    __slots__ = ("_keys", "_number", "_numbers", "fresh", "key")

    def __init__(self, keys: "CallKeys", key: bytes, fresh: bool, numbers: _Numbers | None = None, number: int = 0) -> None:
        self.key: bytes = key
        self.fresh: bool = fresh
        """Whether nobody can have sent this key before."""
        self._keys = keys
        self._numbers = numbers
        self._number = number

    def done(self) -> None:
        """There is a reply: its number is used up."""
        if self._keys.repeated:
            self._keys.done[self.key] = None

    def give_back(self) -> None:
        """It was not done, or nobody knows: the next equal call has its key."""
        if self._numbers is not None:
            heapq.heappush(self._numbers.free, self._number)


class CallKeys:
    """The keys of one run's calls; used on the loop only."""

    __slots__ = ("_basis", "_first", "_make_basis", "_named", "_numbers", "done", "repeated")

    def __init__(self, make_basis: Callable[[], bytes], *, first: bool, repeated: bool) -> None:
        self._make_basis = make_basis
        self._basis: bytes | None = None
        self._first = first
        self._numbers: dict[bytes, _Numbers] = {}
        self._named: set[bytes] = set()
        self.repeated: bool = repeated
        """Whether an earlier attempt may have made these calls; then those that were done are noted."""
        self.done: dict[bytes, None] = {}
        """The keys of the calls that were done, in order."""

    @classmethod
    def of_attempt(cls, token: Token) -> "CallKeys":
        """The keys of a step attempt's calls."""
        return cls(partial(keys.of_visit, token), first=token.attempt == 1, repeated=token.attempt > 1)

    @classmethod
    def of_command(cls, component: str, instance: str, key: bytes) -> "CallKeys":
        """The keys of the calls that a command with an idempotency key makes."""
        return cls(partial(keys.of_command, component, instance, key), first=False, repeated=False)

    def start(self, component: str, instance: str, handler: str, payload: Payload | None) -> StartedCall:
        """A call that is told from its equals by a number."""
        told_by = canonical(payload)
        basis = self._basis or self._based()
        key = of_equals = keys.of_call(basis, component, instance, handler, told_by, 1)
        numbers = self._numbers.get(of_equals)
        if numbers is None:
            numbers = self._numbers[of_equals] = _Numbers()
        fresh = not numbers.free
        if fresh:
            number = numbers.unused
            numbers.unused = number + 1
        else:
            number = heapq.heappop(numbers.free)
        if number > 1:
            key = keys.of_call(basis, component, instance, handler, told_by, number)
        return StartedCall(self, key, fresh and self._first, numbers, number)

    def start_named(self, component: str, instance: str, handler: str, name: str) -> StartedCall:
        """A call that is told from others by its name: the same name again is the same call."""
        key = keys.of_call(self._basis or self._based(), component, instance, handler, name)
        fresh = self._first and key not in self._named
        self._named.add(key)
        return StartedCall(self, key, fresh)

    def _based(self) -> bytes:
        self._basis = self._make_basis()
        return self._basis
