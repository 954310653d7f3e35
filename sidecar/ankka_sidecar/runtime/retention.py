"""Forgets replies to keyed commands once they are older than their retention (W15, W16), a few at a time.

A machine looks at a reply's age itself, so what is forgotten late does no harm; this keeps the journal from growing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from ankka.protocol import keys
from ankka_sidecar.ports.journal import JournalUnavailable
from ankka_sidecar.runtime.node import Node

CHUNK: Final = 500
PAUSE: Final = 0.05
"""Seconds between chunks: what is forgotten must not delay what is done."""
SHORTEST: Final = 1.0
LONGEST: Final = 3_600.0

log = logging.getLogger("ankka.sidecar.journal")


class Retention:
    """Looks through all keys now and then, a tenth of the shortest retention apart (from 1 s to 1 h)."""

    def __init__(self, node: Node) -> None:
        limits = node.settings.machine
        self._node = node
        self._kept = {keys.STEP: limits.step_call_retention, keys.COMMAND: limits.idempotency_retention, keys.CALLER: limits.idempotency_retention}
        self._every = min(LONGEST, max(SHORTEST, min(self._kept.values()) / 10_000_000))

    async def run(self) -> None:
        """Forget, for ever."""
        while True:
            await asyncio.sleep(self._every)
            await self.look_through()

    async def look_through(self) -> None:
        """Look at every key once."""
        for kind, kept in self._kept.items():
            try:
                await self._forget(kind, self._node.clock.now() - kept)
            except JournalUnavailable as error:
                log.warning("replies older than their retention stay for now: %s", error)
                return

    async def _forget(self, kind: bytes, before: int) -> None:
        after: bytes | None = kind
        while after is not None:
            after = await self._node.journal.forget_keys(kind, before, after, CHUNK)
            await asyncio.sleep(PAUSE)
