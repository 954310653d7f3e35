"""Time, as the runtime may know it."""

from typing import Protocol


class Clock(Protocol):
    """The journal's time: µs since the epoch, never backwards."""

    def now(self) -> int:
        """The present instant in µs."""
        ...
