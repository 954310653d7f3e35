"""The contract of the clock: µs since the epoch, never backwards, near the wall clock and never at a standstill."""

import time

from ankka_sidecar.adapters.clock import SystemClock

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND


class Sources:
    """A wall clock and a monotonic one that a test moves."""

    def __init__(self) -> None:
        self.wall = 1_700_000_000 * SECOND
        self.ticks = 50 * SECOND

    def pass_time(self, nanoseconds: int) -> None:
        self.wall += nanoseconds
        self.ticks += nanoseconds

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall, lambda: self.ticks)


def test_it_is_the_wall_clock_in_microseconds() -> None:
    before = time.time_ns() // 1_000
    now = SystemClock().now()
    assert before - 1_000 <= now <= time.time_ns() // 1_000 + 1_000


def test_it_moves_with_the_monotonic_clock_between_anchors() -> None:
    sources = Sources()
    clock = sources.clock()
    start = clock.now()
    sources.ticks += 2 * SECOND
    assert clock.now() == start + 2_000_000


def test_a_wall_clock_set_forward_is_followed_within_three_seconds() -> None:
    sources = Sources()
    clock = sources.clock()
    start = clock.now()
    sources.wall += HOUR
    sources.pass_time(3 * SECOND)
    assert clock.now() == start + 3_603_000_000


def test_it_never_falls_and_never_stands_still_when_the_wall_clock_is_set_back() -> None:
    sources = Sources()
    clock = sources.clock()
    last = clock.now()
    sources.wall -= HOUR
    for _ in range(100):
        sources.pass_time(SECOND)
        now = clock.now()
        assert last + 900_000 <= now <= last + 1_000_000
        last = now


def test_a_wall_clock_set_back_is_reached_again() -> None:
    sources = Sources()
    clock = sources.clock()
    clock.now()
    sources.wall -= SECOND
    for _ in range(110):
        sources.pass_time(SECOND)
        clock.now()
    assert clock.now() == sources.wall // 1_000
