"""When which machine wants to be woken: exact when near, in buckets of a second when far.

A machine has at most one wake-up here. One callback is scheduled at a time, for the earliest.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

from ankka_sidecar.core.instance import Instance
from ankka_sidecar.ports.clock import Clock

NEAR = 2_000_000
"""µs below which a wake-up is exact."""
SECOND = 1_000_000


class Timers:
    """The wake-ups of all resident machines."""

    def __init__(self, clock: Clock, wake: Callable[[Instance], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._near: list[tuple[int, int, Instance]] = []
        self._far: dict[int, set[Instance]] = {}
        self._at: dict[Instance, int] = {}
        self._count = 0
        self._handle: asyncio.TimerHandle | None = None
        self._scheduled_for: int | None = None

    def __len__(self) -> int:
        return len(self._at)

    def arm(self, machine: Instance, at: int) -> None:
        """Wake `machine` at `at`, instead of when it was to be woken before."""
        self.disarm(machine)
        now = self._clock.now()
        self._at[machine] = at
        if at - now <= NEAR:
            self._count += 1
            heapq.heappush(self._near, (at, self._count, machine))
            self._schedule(at, now)
        else:
            second = at // SECOND
            self._far.setdefault(second, set()).add(machine)
            self._schedule(second * SECOND, now)

    def disarm(self, machine: Instance) -> None:
        """Do not wake it any more."""
        at = self._at.pop(machine, None)
        if at is None:
            return
        bucket = self._far.get(at // SECOND)
        if bucket is not None:
            bucket.discard(machine)
            if not bucket:
                del self._far[at // SECOND]

    def stop(self) -> None:
        """Wake nobody any more."""
        if self._handle is not None:
            self._handle.cancel()
        self._near.clear()
        self._far.clear()
        self._at.clear()

    def _schedule(self, at: int, now: int) -> None:
        if self._scheduled_for is not None and self._scheduled_for <= at:
            return
        if self._handle is not None:
            self._handle.cancel()
        self._scheduled_for = at
        self._handle = asyncio.get_running_loop().call_later(max(0, at - now) / 1_000_000, self._fire)

    def _fire(self) -> None:
        self._scheduled_for = None
        now = self._clock.now()
        self._bring_near(now)
        due: list[Instance] = []
        while self._near and self._near[0][0] <= now:
            at, _, machine = heapq.heappop(self._near)
            if self._at.get(machine) == at:
                del self._at[machine]
                due.append(machine)
        for machine in due:
            self._wake(machine)
        upcoming = [self._near[0][0]] if self._near else []
        if self._far:
            upcoming.append(min(self._far) * SECOND)
        if upcoming:
            self._schedule(min(upcoming), self._clock.now())

    def _bring_near(self, now: int) -> None:
        for second in [second for second in self._far if second * SECOND <= now + SECOND]:
            for machine in self._far.pop(second):
                self._count += 1
                heapq.heappush(self._near, (self._at[machine], self._count, machine))
