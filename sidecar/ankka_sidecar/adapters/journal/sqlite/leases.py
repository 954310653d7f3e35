"""Leases of a journal file: its lock leaves one owner, so all shards are taken at once and the epoch counts starts."""

import secrets
import sqlite3
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from ankka_sidecar.ports.leases import AttachedProcess, Ownership

T = TypeVar("T")

_decode_processes = msgspec.json.Decoder(tuple[AttachedProcess, ...]).decode


class Writes(Protocol):
    """What the leases need of the journal: its writer."""

    async def write(self, run: Callable[[sqlite3.Connection], T], committed: Callable[[T], None] | None = None) -> T:
        """Run `run` in a transaction, then `committed` with its result once that is durable, both on the writer's thread."""
        ...

    def own(self, epochs: dict[int, int]) -> None:
        """From now on appends are stored under these epochs only. On the writer's thread."""
        ...


class SqliteLeases:
    """The lease port over the journal's own file and writer; made by `SqliteJournal.leases`."""

    def __init__(self, journal: Writes, version: str) -> None:
        self._journal = journal
        self._version = version
        self._incarnation = ""

    async def take(self) -> Ownership:
        incarnation = secrets.token_hex(8)

        def run(connection: sqlite3.Connection) -> Ownership:
            connection.execute("UPDATE shard SET owner = ?, epoch = (SELECT max(epoch) FROM shard) + 1", (incarnation,))
            last = connection.execute("SELECT processes FROM node ORDER BY started_at DESC LIMIT 1").fetchone()
            noted = "[]" if last is None else last[0]
            connection.execute("DELETE FROM node")
            # The last owner's processes are noted as this one's: it may die too before it has noted any.
            connection.execute(
                "INSERT INTO node (incarnation, started_at, dead, version, address, processes) VALUES (?, ?, 0, ?, '', ?)",
                (incarnation, time.time_ns() // 1_000, self._version, noted),
            )
            epochs: dict[int, int] = dict(connection.execute("SELECT shard, epoch FROM shard").fetchall())
            return Ownership(incarnation, epochs, _decode_processes(noted))

        def committed(ownership: Ownership) -> None:
            self._journal.own(ownership.epochs)

        ownership = await self._journal.write(run, committed)
        self._incarnation = incarnation
        return ownership

    async def note_processes(self, processes: tuple[AttachedProcess, ...]) -> None:
        noted = msgspec.json.encode(processes).decode()

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE node SET processes = ? WHERE incarnation = ?", (noted, self._incarnation))

        await self._journal.write(run)

    async def release(self) -> None:
        def run(connection: sqlite3.Connection) -> bool:
            return connection.execute("UPDATE shard SET owner = NULL WHERE owner = ?", (self._incarnation,)).rowcount > 0

        def committed(owned: bool) -> None:
            if owned:
                self._journal.own({})

        await self._journal.write(run, committed)
