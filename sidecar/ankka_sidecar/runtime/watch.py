"""What is looked at now and then: deadlines of instances that are not resident, calls and work without a process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import islice

from ankka_sidecar.core.inputs import RoomNeeded, Woke
from ankka_sidecar.ports.journal import JournalUnavailable
from ankka_sidecar.runtime.attachments import Attachments
from ankka_sidecar.runtime.node import Node

log = logging.getLogger("ankka.sidecar")

TICK = 0.1
SWEEP_EVERY = 1_000_000
AHEAD = 2_000_000
"""µs that a sweep looks ahead: what is due sooner is loaded, and waits for its instant as a resident machine."""
SWEEP = 1_000
UNREADABLE_TRIES = 3
"""How often an instance whose rows cannot be read is tried again by itself; a call still tries, and a restart begins anew."""
FORGET_EVERY = 10_000_000
TOMBSTONES_STAY = 86_400_000_000
FORGET = 500
MOST = 128_000
"""Rows of one sweep at most, however many of the first ones are resident already."""


class Watch:
    """See the module."""

    def __init__(self, node: Node, attachments: Attachments, *, idle: Callable[[int], None] | None = None) -> None:
        self._node = node
        self._attachments = attachments
        self._idle = idle
        self._swept_at = 0
        self._forgot_at = node.clock.now()
        self._limit = SWEEP
        self.healthy = True

    async def run(self) -> None:
        """Look, for ever."""
        while True:
            now = self._node.clock.now()
            self._attachments.look_after(now)
            self._node.expire(now)
            self._node.dispatcher.expire(now, self._node.settings.attach_wait)
            self._make_room()
            if self._idle is not None:
                self._idle(now)
            if now - self._swept_at >= SWEEP_EVERY:
                self._swept_at = now
                await self._sweep(now)
            if now - self._forgot_at >= FORGET_EVERY:
                self._forgot_at = now
                await self._forget(now)
            await asyncio.sleep(TICK)

    def _make_room(self) -> None:
        """Beyond max-resident, those loaded first leave first, if they are idle."""
        machines = self._node.machines
        self._node.dormant.tidy(self._node.clock.now(), len(machines))
        excess = len(machines) - self._node.settings.max_resident
        if excess > 0:
            for machine in list(islice(machines.values(), 2 * excess)):
                self._node.feed(machine, RoomNeeded())

    async def _forget(self, now: int) -> None:
        """Tombstones stay a day: until then a late frame of the old life could arrive."""
        try:
            await self._node.journal.forget(now - TOMBSTONES_STAY, FORGET)
        except JournalUnavailable as error:
            log.warning("what was deleted long ago stays for now: %s", error)

    async def _sweep(self, now: int) -> None:
        """Load what is due soon. Resident machines keep their own wake-ups, so they are passed over."""
        try:
            due = await self._node.journal.due(now + AHEAD, self._limit)
        except JournalUnavailable as error:
            if self.healthy:
                log.error("the journal cannot be swept for deadlines: %s", error)
            self.healthy = False
            return
        self.healthy = True
        unreadable = self._node.loader.unreadable
        absent = [key for key in due if key not in self._node.machines and unreadable.get(key, 0) < UNREADABLE_TRIES]
        # A page full of resident machines must not hide the rest.
        self._limit = min(self._limit * 2, MOST) if len(due) >= self._limit and len(absent) < SWEEP // 2 else SWEEP
        for component, instance in absent:
            kind = await self._node.kind_of(component, instance)
            if kind is not None:
                self._node.feed(self._node.machine(component, instance, kind), Woke())
