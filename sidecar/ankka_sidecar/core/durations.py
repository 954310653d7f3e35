"""Durations (µs): in messages for people, and added to instants."""

_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"))

LAST = 2**63 - 1
"""The last instant a journal can hold; what lies beyond is cut off there."""


def later(now: int, duration: int) -> int:
    """The instant `duration` after `now`.

    >>> later(5, 10), later(5, 2**63) == LAST
    (15, True)
    """
    return min(now + duration, LAST)


def in_words(microseconds: int) -> str:
    """A duration in its largest units.

    >>> in_words(90_000_000), in_words(1_500_000), in_words(250_000), in_words(0)
    ('1 min 30 s', '1.5 s', '250 ms', '0 s')
    """
    if microseconds < 1_000_000:
        return f"{microseconds / 1_000:g} ms" if microseconds else "0 s"
    if microseconds < 60_000_000:
        return f"{microseconds / 1_000_000:g} s"
    parts: list[str] = []
    rest = microseconds
    for size, unit in _UNITS[:4]:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts)
