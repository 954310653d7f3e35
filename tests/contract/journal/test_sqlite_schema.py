"""The tables of a SQLite journal: by script or by migration the same, and what happens with other versions."""

import logging
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.adapters.journal.sqlite.migrations import script_config
from ankka_sidecar.adapters.journal.sqlite.opening import REVISIONS, create_by_script
from ankka_sidecar.ports.journal import CannotOpen

from tests.contract.journal.rows import item, store


def schema_of(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Tables and indexes, however their text is laid out."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {(kind, name, re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", sql)).strip()) for kind, name, sql in rows}


def change(path: Path, *statements: str) -> None:
    """Change a closed journal's file."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def make(path: Path, shards: int | None = None) -> None:
    """A new journal with one row."""
    journal = await SqliteJournal.open(path, shards=shards)
    await journal.leases().take()
    await store(journal, item("a"))
    await journal.close()


async def test_script_and_migrations_make_the_same_tables(tmp_path: Path) -> None:
    by_script = sqlite3.connect(":memory:", isolation_level=None)
    create_by_script(by_script)
    path = tmp_path / "journal.db"
    # A database that Alembic has begun and not finished is older than every revision.
    change(path, "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))")
    await make(path, shards=8)
    by_migration = sqlite3.connect(path)
    assert schema_of(by_migration) == schema_of(by_script)
    versions = [connection.execute("SELECT version_num FROM alembic_version").fetchall() for connection in (by_script, by_migration)]
    assert versions == [[(REVISIONS[-1],)]] * 2
    assert dict(by_migration.execute("SELECT name, value FROM meta WHERE name <> 'created_at'").fetchall()) == {"min_code": 1, "shards": 8}
    assert by_migration.execute("SELECT count(*), min(epoch), max(epoch) FROM shard").fetchone() == (8, 1, 1)
    by_script.close()
    by_migration.close()


def test_the_revisions_named_are_those_alembic_has() -> None:
    script = ScriptDirectory.from_config(script_config())
    assert [revision.revision for revision in script.walk_revisions()] == list(reversed(REVISIONS))


async def test_a_newer_database_that_needs_newer_code_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await make(path)
    change(path, "UPDATE alembic_version SET version_num = '0099'", "UPDATE meta SET value = 7 WHERE name = 'min_code'")
    with pytest.raises(CannotOpen, match=r"newer version of Ankka: .*revision 0099 and need format 7, this version has 1; update Ankka"):
        await SqliteJournal.open(path)


async def test_a_newer_database_that_only_added_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal.db"
    await make(path)
    change(path, "UPDATE alembic_version SET version_num = '0099'", "ALTER TABLE journal ADD COLUMN later TEXT")
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    await store(journal, item("a", 2, epoch=2))
    await journal.close()
    assert "newer revision (0099)" in caplog.text


async def test_the_number_of_shards_is_the_databases_and_another_one_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal.db"
    await make(path, shards=32)
    with caplog.at_level(logging.WARNING):
        journal = await SqliteJournal.open(path, shards=64)
    assert journal.shards == 32
    assert len((await journal.leases().take()).epochs) == 32
    await journal.close()
    assert "was made with 32 shards, which stands; 64 were asked for" in caplog.text
    caplog.clear()
    journal = await SqliteJournal.open(path)
    await journal.close()
    assert journal.shards == 32
    assert caplog.text == ""


@pytest.mark.parametrize("shards", [0, -1, 65_537])
async def test_a_number_of_shards_that_cannot_be_is_refused(tmp_path: Path, shards: int) -> None:
    with pytest.raises(CannotOpen, match=f"{shards} shards: expected 1 to 65536"):
        await SqliteJournal.open(tmp_path / "journal.db", shards=shards)


def test_opening_a_journal_of_this_version_imports_no_migrations(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
async def main():
    for _ in range(2):
        journal = await SqliteJournal.open(sys.argv[1])
        await journal.close()
asyncio.run(main())
print(sorted({name.partition(".")[0] for name in sys.modules} & {"alembic", "sqlalchemy"}))
"""
    said = subprocess.run([sys.executable, "-c", program, tmp_path / "journal.db"], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


async def test_commits_reach_the_disk_and_readers_cannot_write(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    await journal.leases().take()
    await journal.last("checkout", "a")
    writer, reader = journal._writer._connection, journal._loads._connection
    assert writer is not None
    assert reader is not None
    assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    if sys.platform == "darwin":
        assert writer.execute("PRAGMA fullfsync").fetchone() == (1,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM journal")
    await journal.close()
