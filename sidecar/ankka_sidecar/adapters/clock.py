"""The system's clock as a journal's clock: close to the wall clock, but never backwards."""

import time
from collections.abc import Callable
from typing import Final

_ANCHOR_EVERY_NS: Final = 3_000_000_000
_MAX_SLEW: Final = 100
"""One part in so many: how much slower the clock runs while it waits for a wall clock that was set back."""


class SystemClock:
    """The wall clock at the last anchor plus the monotonic time since; anchored anew every 3 s.

    A wall clock that was set forward (or a suspended machine) is followed at the next anchor. One that was set back is
    approached at 1 % of the time that passes, so that time neither falls nor stands still and deadlines keep firing.

    >>> clock = SystemClock()
    >>> clock.now() <= clock.now()
    True
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, monotonic: Callable[[], int] = time.monotonic_ns) -> None:
        """Start at the wall clock's present. Both sources give nanoseconds; tests pass their own."""
        self._wall = wall
        self._monotonic = monotonic
        self._anchored = monotonic()
        self._offset = wall() - self._anchored
        self._last = 0

    def now(self) -> int:
        """The present instant in µs since the epoch, UTC; never less than an earlier answer."""
        ticks = self._monotonic()
        if ticks - self._anchored >= _ANCHOR_EVERY_NS:
            self._anchor(ticks)
        instant = (ticks + self._offset) // 1_000
        self._last = max(self._last, instant)
        return self._last

    def _anchor(self, ticks: int) -> None:
        wanted = self._wall() - ticks
        lowest = self._offset - (ticks - self._anchored) // _MAX_SLEW
        self._offset = max(wanted, lowest)
        self._anchored = ticks
