"""F97: writers, readers and a backup at once, and never "database is locked"."""

import asyncio
import sqlite3
from pathlib import Path

from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.ports.journal import Journal, Listing, Outcome, Query

from tests.contract.journal.rows import item

WRITERS = READERS = 16
ROUNDS = 25


async def write(journal: Journal, writer: int) -> None:
    for sequence in range(1, ROUNDS + 1):
        one = item(f"w-{writer}", sequence, listing=Listing("Running", run=sequence), payload=bytes(2_000))
        assert await journal.append([one]) == [Outcome.STORED]


async def read(journal: Journal, reader: int) -> None:
    seen = 0
    while seen < ROUNDS:
        last = await journal.last("checkout", f"w-{reader}")
        await journal.find(Query(status="Running", limit=5))
        await journal.read("checkout", f"w-{reader}", limit=3)
        assert last is None or last.row.sequence >= seen
        seen = last.row.sequence if last is not None else 0


def back_up(path: Path, target: Path) -> None:
    """A backup by another connection, as `sqlite3 journal.db .backup` makes it, a few pages at a time."""
    source, copy = sqlite3.connect(path), sqlite3.connect(target)
    source.backup(copy, pages=5)
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    source.close()


# F97
async def test_writers_readers_and_a_backup_never_meet_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    await asyncio.gather(
        *(write(journal, writer) for writer in range(WRITERS)),
        *(read(journal, reader) for reader in range(READERS)),
        asyncio.to_thread(back_up, path, tmp_path / "backup.db"),
    )
    # I1: unique and without gaps.
    for writer in range(WRITERS):
        assert [row.sequence for row in await journal.read("checkout", f"w-{writer}")] == list(range(1, ROUNDS + 1))
    await journal.close()


async def test_another_programs_write_lock_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    append = asyncio.ensure_future(journal.append([item("a")]))
    # A load needs no lock, and its answer shows that the append had its turn to run into one.
    assert await journal.last("checkout", "a") is None
    assert not append.done()
    other.execute("ROLLBACK")
    assert await append == [Outcome.STORED]
    other.close()
    await journal.close()


async def test_a_load_does_not_wait_for_a_commit(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    assert await journal.append([item("a")]) == [Outcome.STORED]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    append = asyncio.ensure_future(journal.append([item("a", 2)]))
    for _ in range(20):
        last = await journal.last("checkout", "a")
        assert last is not None
        assert last.row.sequence == 1
    other.execute("ROLLBACK")
    assert await append == [Outcome.STORED]
    other.close()
    await journal.close()


async def test_a_load_after_an_append_sees_it_however_busy_it_is(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    await journal.leases().take()

    async def follow(name: str) -> None:
        for sequence in range(1, 20):
            assert await journal.append([item(name, sequence)]) == [Outcome.STORED]
            last = await journal.last("checkout", name)
            assert last is not None
            assert last.row.sequence == sequence

    await asyncio.gather(*(follow(str(number)) for number in range(40)))
    await journal.close()
