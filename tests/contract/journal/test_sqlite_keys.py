"""What keys cost a SQLite journal: no statement for who has none, no commit where nothing is old, an index for each question."""

import sqlite3
from pathlib import Path

import pytest
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal, queries
from ankka_sidecar.ports.journal import Item

from tests.contract.journal.rows import item, row, store


@pytest.fixture
async def journal(tmp_path: Path) -> "SqliteJournal":
    """A journal whose shards are taken."""
    opened = await SqliteJournal.open(tmp_path / "journal.db")
    await opened.leases().take()
    return opened


def written_by(journal: SqliteJournal) -> list[str]:
    """The statements its writer executes from now on, by their first word."""
    statements: list[str] = []
    connection = journal._writer._connection
    assert connection is not None
    connection.set_trace_callback(lambda statement: statements.append(statement.split()[0]))
    return statements


async def test_only_an_item_that_forgets_costs_a_statement(journal: SqliteJournal) -> None:
    statements = written_by(journal)
    await journal.append([item("a"), item("b", key=b"k"), item("c", key=b"l")])
    assert statements == ["BEGIN", "INSERT", "COMMIT"]
    statements.clear()
    await journal.append([item("d"), Item(row("e", key=b"k"), forgets=True)])
    assert statements == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]
    await journal.close()


async def test_forget_keys_writes_only_where_something_is_old(journal: SqliteJournal) -> None:
    await store(journal, item("a", key=b"s1", at=10), item("b", key=b"s2", at=20))
    statements = written_by(journal)
    assert await journal.forget_keys(b"s", 10, b"", 10) is None
    assert statements == []
    assert await journal.forget_keys(b"s", 11, b"", 10) is None
    assert statements == ["BEGIN", "DELETE", "UPDATE", "COMMIT"]
    await journal.close()


@pytest.mark.parametrize(
    ("prefix", "after"), [(b"", b""), (b"s", b""), (b"s", b"s\xff"), (b"s", b"a"), (b"s", b"z"), (b"\xff", b""), (b"\xff", b"\xff\xff")]
)
def test_a_prefix_is_one_range_of_the_index(prefix: bytes, after: bytes) -> None:
    """A page begins at its first key, however many of the prefix come before it."""
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE journal ("key" BLOB, at INTEGER)')
    connection.execute('CREATE UNIQUE INDEX journal_key ON journal ("key") WHERE "key" IS NOT NULL')
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    assert queries.keys_behind(connection, prefix, after, 10) == []
    connection.set_trace_callback(None)
    (plan,) = connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert plan[3].startswith("SEARCH journal USING INDEX journal_key (key>?")
    assert asked[0].count(">") == 1
    connection.close()
