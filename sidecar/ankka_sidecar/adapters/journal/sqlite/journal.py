"""`SqliteJournal`: the journal port over one file."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ankka_sidecar.adapters.journal.sqlite import changes, queries
from ankka_sidecar.adapters.journal.sqlite.leases import SqliteLeases
from ankka_sidecar.adapters.journal.sqlite.lock import FileLock
from ankka_sidecar.adapters.journal.sqlite.opening import acquire_lock, open_database, prepare_path
from ankka_sidecar.adapters.journal.sqlite.reader import Question, Reader
from ankka_sidecar.adapters.journal.sqlite.writer import Append, Work, Writer
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import MAX_ITEMS, Item, JournalUnavailable, Last, Outcome, Page, Query, Row, Snapshot

T = TypeVar("T")
Q = TypeVar("Q")


class SqliteJournal:
    """The journal in one SQLite file, which is this sidecar's alone while it is open. Made by `open`.

    >>> import asyncio, tempfile
    >>> async def main():
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         journal = await SqliteJournal.open(f"{folder}/journal.db")
    ...         ownership = await journal.leases().take()
    ...         await journal.close()
    ...         return ownership.epochs[0], journal.shards
    >>> asyncio.run(main())
    (1, 256)
    """

    def __init__(self, path: Path, shards: int, lock: FileLock, writer: Writer, loads: Reader, listings: Reader) -> None:
        """For `open`."""
        self.path = path
        self.shards = shards
        """How many shards the database was made with."""
        self._lock = lock
        self._writer = writer
        self._loads = loads
        self._listings = listings
        self._loop = asyncio.get_running_loop()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: str | Path, *, shards: int | None = None, faults: Faults | None = None) -> "SqliteJournal":
        """Open the journal at `path`, made with its folder if it is not there; a relative path starts at the working directory.

        `shards` (256 where `None`) counts for a new database only. Raises `JournalLocked` naming the holder, and
        `CannotOpen` for a path, a file or a version that cannot be.
        """
        loop = asyncio.get_running_loop()
        real, lock, connection, there = await asyncio.to_thread(_open, path, shards)
        writer = Writer(real, connection, loop, faults.point if faults is not None else _no_point)
        writer.start()

        def broken() -> str | None:
            return writer.broken

        loads = Reader(real, loop, broken, "ankka-journal-loads")
        return cls(real, there, lock, writer, loads, Reader(real, loop, broken, "ankka-journal-listings"))

    def leases(self, version: str = "") -> SqliteLeases:
        """The leases in the same file; nothing can be appended before they are taken. `version` is this sidecar's."""
        return SqliteLeases(self, version)

    def tell_address(self, http: str) -> None:
        """Say in the lock file at which URL this sidecar listens, for whoever finds the journal locked."""
        self._lock.tell_address(http)

    # --- the port --------------------------------------------------------------------------------------------------

    async def append(self, items: Sequence[Item]) -> list[Outcome]:
        if len(items) > MAX_ITEMS or len({(item.row.component, item.row.instance) for item in items}) < len(items):
            raise ValueError(f"an append of {len(items)} items: expected at most {MAX_ITEMS}, each of another instance")
        self._check_open()
        future: asyncio.Future[list[Outcome]] = self._loop.create_future()
        self._writer.put(Append(items, future))
        return await future

    async def last(self, component: str, instance: str) -> Last | None:
        return await self._ask(self._loads, queries.last_of, (component, instance))

    async def ends(self, instances: Sequence[tuple[str, str]]) -> list[Last | None]:
        return await self._ask_one(self._loads, lambda connection: queries.last_of(connection, instances))

    async def read(self, component: str, instance: str, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[Row]:
        return await self._ask_one(self._loads, lambda connection: queries.read_rows(connection, component, instance, after, limit))

    async def generations(self, component: str, instance: str) -> list[int]:
        return await self._ask_one(self._loads, lambda connection: queries.generations_of(connection, component, instance))

    async def snapshot_of(self, component: str, instance: str, generation: int) -> Snapshot | None:
        return await self._ask_one(self._loads, lambda connection: queries.snapshot_of(connection, component, instance, generation))

    async def put_snapshot(self, snapshot: Snapshot) -> bool:
        def run(connection: sqlite3.Connection) -> bool:
            return self._writer.epochs.get(snapshot.shard) == snapshot.epoch and changes.put_snapshot(connection, snapshot)

        return await self.write(run)

    async def find(self, query: Query) -> Page:
        return await self._ask_one(self._listings, lambda connection: queries.find(connection, query))

    async def due(self, before: int, limit: int) -> list[tuple[str, str]]:
        return await self._ask_one(self._loads, lambda connection: queries.due_before(connection, before, limit))

    async def row_of(self, key: bytes) -> Row | None:
        return await self._ask(self._loads, queries.keyed_rows, key)

    async def rows_with(self, keys: Sequence[bytes]) -> list[Row | None]:
        return await self._ask_one(self._loads, lambda connection: queries.keyed_rows(connection, keys))

    async def rows_of(self, prefix: bytes, limit: int) -> list[Row]:
        return await self._ask_one(self._loads, lambda connection: queries.rows_by_prefix(connection, prefix, limit))

    async def forget_keys(self, prefix: bytes, before: int, after: bytes, limit: int) -> bytes | None:
        # Looked at by a reader, so that no append waits for it, and one more than asked for, to know whether there are more.
        keys = await self._ask_one(self._listings, lambda connection: queries.keys_behind(connection, prefix, after, limit + 1))
        seen = keys[:limit]
        if any(at < before for _, at in seen):
            await self.write(lambda connection: changes.forget_keys(connection, seen[0][0], seen[-1][0], before))
        return seen[-1][0] if len(keys) > limit else None

    async def see_schemas(self, schemas: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = await self.write(lambda connection: changes.see_schemas(connection, schemas))
        return found

    async def prune(self, component: str, instance: str, generation: int, limit: int) -> int:
        return await self.write(lambda connection: changes.prune(connection, component, instance, generation, limit))

    async def trim(self, component: str, instance: str, generation: int, after: int, limit: int) -> int:
        return await self.write(lambda connection: changes.trim(connection, component, instance, generation, after, limit))

    async def prune_leftovers(self, limit: int) -> int:
        if not await self._ask_one(self._listings, queries.has_leftovers):
            return 0  # looked up first: a write that changes nothing would be a commit all the same
        pruned: int = await self.write(lambda connection: changes.prune_leftovers(connection, limit))
        return pruned

    async def forget(self, before: int, limit: int) -> int:
        if not await self._ask_one(self._listings, lambda connection: queries.has_deleted(connection, before)):
            return 0
        forgotten: int = await self.write(lambda connection: changes.forget(connection, before, limit))
        return forgotten

    async def close(self) -> None:
        if self._closing is None:
            self._closing = self._loop.create_task(asyncio.to_thread(self._close), name="ankka journal close")
        await asyncio.shield(self._closing)

    # --- for the leases --------------------------------------------------------------------------------------------

    async def write(self, run: Callable[[sqlite3.Connection], T], committed: Callable[[T], None] | None = None) -> T:
        """Run `run` in a transaction of the writer; its result, once that is durable."""
        self._check_open()
        future: asyncio.Future[T] = self._loop.create_future()
        self._writer.put(Work(run, future, committed))
        return await future

    def own(self, epochs: dict[int, int]) -> None:
        """Accept appends under these epochs only; for the writer's thread."""
        self._writer.epochs = epochs

    # --- beneath ---------------------------------------------------------------------------------------------------

    async def _ask(self, reader: Reader, answer_many: Callable[[sqlite3.Connection, Sequence[Q]], Sequence[T]], about: Q) -> T:
        self._check_open()
        future: asyncio.Future[T] = self._loop.create_future()
        reader.ask(Question(answer_many, about, future))
        return await future

    async def _ask_one(self, reader: Reader, answer: Callable[[sqlite3.Connection], T]) -> T:
        return await self._ask(reader, _each, answer)

    def _check_open(self) -> None:
        if self._closing is not None:
            raise JournalUnavailable(f"journal {self.path} is closed")

    def _close(self) -> None:
        self._loads.close()
        self._listings.close()
        self._writer.close()
        self._lock.release()


def _open(path: str | Path, shards: int | None) -> tuple[Path, FileLock, sqlite3.Connection, int]:
    real = prepare_path(path)
    lock = acquire_lock(real)
    try:
        connection, there = open_database(real, shards)
    except BaseException:
        lock.release()
        raise
    return real, lock, connection, there


def _each(connection: sqlite3.Connection, answers: Sequence[Callable[[sqlite3.Connection], T]]) -> list[T]:
    return [answer(connection) for answer in answers]


def _no_point(name: str) -> None:
    """No fault point does anything in production."""
