"""Finds what keyed commands have left (W15); whatever queued up while the last were looked up is asked for at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from ankka.protocol import keys
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.payload import Payload
from ankka_sidecar.core.actions import FindReply
from ankka_sidecar.core.inputs import AskLost, Input, ReplyFound
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import MAX_ITEMS, Journal, JournalUnavailable, Row

decode_payload = msgspec.msgpack.Decoder(Payload).decode

Sought = tuple[Instance, FindReply]


class Finder:
    """Answers `FindReply`."""

    def __init__(self, journal: Journal, faults: Faults, feed: Callable[[Instance, Input], None]) -> None:
        self._journal = journal
        self._faults = faults
        self._feed = feed
        self._queue: deque[Sought] = deque()
        self._wake = asyncio.Event()

    def put(self, machine: Instance, action: FindReply) -> None:
        """Look that key up."""
        self._queue.append((machine, action))
        self._wake.set()

    async def run(self) -> None:
        """Look up, for ever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                await self._find([self._queue.popleft() for _ in range(min(MAX_ITEMS, len(self._queue)))])

    async def _find(self, sought: list[Sought]) -> None:
        self._faults.point("find.before")
        try:
            rows = await self._journal.rows_with([keys.stored(action.key, action.generation) for _, action in sought])
        except JournalUnavailable as error:
            for machine, action in sought:
                self._feed(machine, _unknown(action, error))
            return
        for (machine, action), row in zip(sought, rows, strict=True):
            if row is None and action.reborn:
                await self._find_in_all_lives(machine, action)
            else:
                self._feed(machine, _left(action, row))

    async def _find_in_all_lives(self, machine: Instance, action: FindReply) -> None:
        try:
            row = await row_left(self._journal, machine.component, machine.instance, action.key)
        except JournalUnavailable as error:
            self._feed(machine, _unknown(action, error))
        else:
            self._feed(machine, _left(action, row))


async def row_left(journal: Journal, component: str, instance: str, key: bytes) -> Row | None:
    """The row that a command with that key has left, in the newest life of the instance that has one."""
    if key.startswith(keys.STEP):
        return await journal.row_of(key)
    lives = await journal.generations(component, instance)
    for begin in range(0, len(lives), MAX_ITEMS):
        for row in await journal.rows_with([keys.stored(key, generation) for generation in lives[begin : begin + MAX_ITEMS]]):
            if row is not None:
                return row
    return None


def _left(action: FindReply, row: Row | None) -> Input:
    """What a keyed command's row says."""
    if row is None:
        return ReplyFound(action.ask)
    try:
        reply = decode_payload(row.reply or b"")
    except msgspec.DecodeError as error:
        return _unknown(action, error)
    return ReplyFound(action.ask, reply, row.fingerprint or b"", row.at, row.generation, row.sequence)


def _unknown(action: FindReply, error: Exception) -> AskLost:
    text = f"whether this command was done before cannot be read now, nothing was done: {error}"
    return AskLost(action.ask, Error(ErrorCode.UNAVAILABLE, text))
