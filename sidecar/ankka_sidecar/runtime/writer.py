"""The group writer: whatever queued up during the last commit is the next group."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from ankka_sidecar.core.inputs import AppendConflicted, Appended, AppendFenced, AppendRefused, AppendUncertain, Input
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import Item, Journal, JournalUnavailable, JournalUncertain, Outcome

GROUP = 256
"""Items of one group at most."""

log = logging.getLogger("ankka.sidecar.journal")


class GroupWriter:
    """Appends items in groups, one group at a time, and feeds each machine what became of its item.

    A machine has one append in flight, so a group holds one item per instance.
    """

    def __init__(self, journal: Journal, faults: Faults, feed: Callable[[Instance, Input], None]) -> None:
        self._journal = journal
        self._faults = faults
        self._feed = feed
        self._queue: deque[tuple[Instance, Item]] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin writing."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="ankka group writer")

    def put(self, machine: Instance, item: Item) -> None:
        """Queue an item."""
        self._queue.append((machine, item))
        if self._task is None or not self._task.done():
            self._idle.clear()
        self._wake.set()

    async def ended(self) -> None:
        """Wait for the writer's end; raises what ended it."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def drain(self) -> None:
        """Wait until nothing is queued or in flight; a writer that broke has nothing to wait for."""
        await self._idle.wait()

    async def stop(self) -> None:
        """Write what is queued, then end."""
        await self.drain()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    group = [self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))]
                    await self._commit(group)
                self._idle.set()
        finally:
            self._idle.set()

    async def _commit(self, group: list[tuple[Instance, Item]]) -> None:
        self._faults.point("append.before")
        try:
            outcomes = await self._journal.append([item for _, item in group])
        except JournalUnavailable as error:
            log.error("the journal refused a group of %d effects: %s", len(group), error)
            for machine, item in group:
                self._feed(machine, AppendRefused(item.row.effect, str(error)))
            return
        except JournalUncertain as error:
            log.error("the fate of a group of %d effects is unknown: %s", len(group), error)
            for machine, item in group:
                self._feed(machine, AppendUncertain(item.row.effect, str(error)))
            return
        self._faults.point("append.after")
        for (machine, item), outcome in zip(group, outcomes, strict=True):
            self._feed(machine, _input_of(item.row.effect, outcome))


def _input_of(effect: int, outcome: Outcome) -> Input:
    if outcome is Outcome.STORED:
        return Appended(effect)
    if outcome is Outcome.CONFLICT:
        return AppendConflicted(effect)
    if outcome is Outcome.REFUSED:
        return AppendRefused(effect, "the database cannot hold it; the log says why", permanent=True)
    return AppendFenced(effect)
