"""What a SQLite journal keeps when its process is killed, and when it is closed and opened again."""

import sqlite3
from pathlib import Path

import pytest
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.ports.journal import Found, Item, JournalUnavailable, JournalUncertain, Last, Listing, Outcome, Query

from tests.contract.journal import programs
from tests.contract.journal.rows import full_row, item, row, snapshot, store


async def sequences(path: Path) -> list[int]:
    """The sequences in the journal's instance `a`, once it is opened again, with the listing's beside them equal."""
    journal = await SqliteJournal.open(path)
    try:
        found = [stored.sequence for stored in await journal.read("checkout", "a")]
        # F15: row and listing are one transaction.
        assert [(one.sequence, one.listing.run) for one in (await journal.find(Query())).items] == [(last, last) for last in found[-1:]]
        return found
    finally:
        await journal.close()


@pytest.mark.chaos
async def test_an_acknowledged_row_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    process = programs.start(programs.APPEND, path, "")
    for sequence in range(1, 21):
        assert programs.line_of(process) == str(sequence)
    programs.end(process)
    found = await sequences(path)
    assert found == list(range(1, len(found) + 1))
    assert len(found) >= 20


# The first commit is the taking of the leases.
@pytest.mark.chaos
@pytest.mark.parametrize(
    ("fault", "acknowledged", "there"),
    [("commit.before:4=kill", 2, [1, 2]), ("commit.after:4=kill", 2, [1, 2, 3]), ("listing.before:3=kill", 2, [1, 2])],
)
async def test_a_kill_at_a_commit_leaves_whole_effects(tmp_path: Path, fault: str, acknowledged: int, there: list[int]) -> None:
    path = tmp_path / "journal.db"
    process = programs.start(programs.APPEND, path, fault)
    try:
        said, _ = process.communicate(timeout=30)
        assert said.split() == [str(sequence) for sequence in range(1, acknowledged + 1)]
        assert process.returncode == -9
        assert await sequences(path) == there
    finally:
        programs.end(process)


async def test_reopening_keeps_everything_and_raises_the_epoch(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "journal.db"
    journal = await SqliteJournal.open(path, shards=16)
    assert (await journal.leases().take()).epochs == dict.fromkeys(range(16), 1)
    first, second = full_row("a", 1), row("a", 2)
    await store(journal, Item(first, Listing("Paused", deadline=9)), Item(second, step="later"))
    assert await journal.put_snapshot(snapshot(5))
    await journal.close()

    journal = await SqliteJournal.open(path)
    assert journal.shards == 16
    assert await journal.last("checkout", "a") == Last(second, first)
    assert await journal.read("checkout", "a") == [first, second]
    assert await journal.row_of(b"key-1") == first
    assert await journal.snapshot_of("cart", "a", 100) == snapshot(5)
    assert await journal.due(9, 10) == [("checkout", "a")]
    # What waited lazily was written when the journal was closed.
    assert (await journal.find(Query())).items == (Found("checkout", "a", 100, 2, 7, 2, Listing("Paused", deadline=9, step="later")),)
    assert (await journal.leases().take()).epochs[7] == 2
    assert await journal.append([item("a", 3)]) == [Outcome.FENCED]
    assert await journal.append([item("a", 3, epoch=2)]) == [Outcome.STORED]
    await journal.close()


async def test_what_comes_lazily_never_overwrites_a_newer_listing(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    await journal.leases().take()
    await store(journal, item("a", 1, listing=Listing("Running", step="x")), item("a", 2, step="y"), item("a", 3, listing=Listing("Completed")))
    await store(
        journal, item("b", 1, listing=Listing("Running", step="x")), item("b", 2, step="y"), item("b", 1, generation=101, listing=Listing("Running"))
    )
    await journal.close()
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    assert [(found.generation, found.sequence, found.listing.step) for found in (await journal.find(Query())).items] == [
        (100, 3, None),
        (101, 1, None),
    ]
    await journal.close()


async def test_a_commit_that_fails_is_uncertain_and_the_journal_goes_on(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    await journal.leases().take()
    await store(journal, item("a", 1))

    # A deferred constraint fails at COMMIT, and nowhere before.
    def deferred_violation(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("INSERT INTO child VALUES (1)")

    def prepare(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")

    await journal.write(prepare)
    writer = journal._writer._connection
    assert writer is not None
    writer.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(JournalUncertain, match="the fate of a commit is unknown"):
        await journal.write(deferred_violation)
    assert journal._writer._connection is not writer
    last = await journal.last("checkout", "a")
    assert last is not None
    assert last.row.sequence == 1
    await store(journal, item("a", 2))
    await journal.close()


async def test_a_full_disk_is_unavailable_and_says_so(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    await journal.leases().take()
    await store(journal, item("a", 1))
    writer = journal._writer._connection
    assert writer is not None
    writer.execute("PRAGMA max_page_count = 1")  # the smallest it can be is the present size
    with pytest.raises(JournalUnavailable, match=r"journal\.db: the disk is full; free space there"):
        await journal.append([item("a", 2, payload=bytes(200_000))])
    last = await journal.last("checkout", "a")
    assert last is not None
    assert last.row.sequence == 1
    writer.execute("PRAGMA max_page_count = 1000000")
    await store(journal, item("a", 2))
    await journal.close()
