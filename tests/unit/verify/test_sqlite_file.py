"""Verification of a real journal file: written by the real adapter, read beside it, damaged with SQL."""

import asyncio
import re
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.core.events import Deleted, Persisted, Started
from ankka_sidecar.core.records import EntityRecord
from ankka_sidecar.ports.journal import Item, Outcome
from ankka_sidecar.verify import NotAJournal, check_sqlite, open_for_reading, run

from ankka.protocol.payload import Payload
from tests.unit.verify.life import SHARDS, T0, Life, entity_life, to, workflow_life


async def append(journal: SqliteJournal, life: Life) -> None:
    """Store a life's rows one by one; only its last listing is written, as of a crash between them."""
    for number, row in enumerate(life.rows):
        item = Item(row, life.listing.listing if life.listing is not None and number in (0, len(life.rows) - 1) else None)
        assert await journal.append([item]) == [Outcome.STORED]


async def write(path: Path, *lives: Life) -> None:
    """A journal of these instances."""
    journal = await SqliteJournal.open(path, shards=SHARDS)
    await journal.leases().take()
    for life in lives:
        await append(journal, life)
    await journal.close()


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A clean journal of a workflow, an entity and a deleted instance."""
    file = tmp_path / "journal ü#.db"
    gone = Life("checkout", "gone").add(Started(T0, 1, to("a"), "start", changed=True), Deleted(T0 + 1, "delete"))
    await write(file, workflow_life(), entity_life(), gone)
    return file


def damage(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def findings(path: Path) -> list[tuple[str, str, int | None]]:
    return [(one.rule, one.instance, one.sequence) for one in check_sqlite(path)]


async def test_a_journal_that_was_not_damaged_is_clean(path: Path) -> None:
    assert check_sqlite(path) == []
    with open_for_reading(f"sqlite:///{path}") as contents:
        report = run(contents)
        assert (contents.count(), report.rows, report.instances, report.is_clean) == (17, 17, 3, True)


async def test_a_path_is_taken_as_it_is(path: Path) -> None:
    odd = await asyncio.to_thread(path.rename, path.with_name("a?b%20c.db"))
    assert check_sqlite(odd) == []


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        (["DELETE FROM journal WHERE instance = 'c1' AND sequence = 5"], [("I1", "c1", 6)]),
        (
            ["DROP INDEX journal_place", "INSERT INTO journal SELECT * FROM journal WHERE instance = 'c1' AND sequence = 2"],
            [("I1", "c1", 2), ("I3", "c1", 2)],
        ),
        (["UPDATE journal SET epoch = 2 WHERE instance = 'a' AND sequence = 2"], [("I2", "a", 2), ("I2", "a", 3)]),
        (
            ["UPDATE journal SET record = (SELECT record FROM journal WHERE instance = 'a' AND sequence = 2) WHERE instance = 'a' AND sequence = 3"],
            None,
        ),
        (["UPDATE journal SET payload = NULL WHERE instance = 'c1' AND sequence = 2"], None),
        (["UPDATE journal SET state_sequence = 1 WHERE instance = 'c1' AND sequence = 3"], [("I6", "c1", 3)]),
        (["UPDATE instance SET status = 'Paused' WHERE instance = 'c1'"], [("I9", "c1", 12)]),
        (["DELETE FROM instance WHERE instance = 'gone'"], [("I9", "gone", None)]),
        (["DELETE FROM journal WHERE instance = 'gone'"], [("I9", "gone", None)]),
        (["UPDATE journal SET shard = (shard + 1) % 16 WHERE instance = 'a' AND sequence = 1"], [("shards", "a", 1)]),
        (["UPDATE journal SET event = x'c1' WHERE instance = 'a' AND sequence = 1"], [("decoding", "a", 1)]),
        (
            [
                "INSERT INTO schema (component, fingerprint, first_seen) VALUES ('cart', 'f1', 1)",
                "UPDATE journal SET schema = 'f2' WHERE instance = 'a'",
            ],
            None,
        ),
        (
            ["DROP INDEX journal_key", "UPDATE journal SET \"key\" = x'016b', fingerprint = zeroblob(32), reply = x'91c40178' WHERE sequence = 2"],
            [("I4", "c1", 2), ("I4", "gone", 2)],
        ),
        (["UPDATE journal SET \"key\" = x'016b', reply = x'91c40178' WHERE instance = 'a' AND sequence = 1"], [("I4", "a", 1)]),
        (
            ["UPDATE journal SET \"key\" = x'016b', fingerprint = zeroblob(31), reply = x'91c40178' WHERE instance = 'a' AND sequence = 1"],
            [("I4", "a", 1)],
        ),
        (["UPDATE journal SET \"key\" = x'016b', fingerprint = zeroblob(32), reply = x'c0' WHERE instance = 'a' AND sequence = 1"], [("I4", "a", 1)]),
        (["UPDATE journal SET \"key\" = x'016b', fingerprint = zeroblob(32), reply = x'91c40178' WHERE instance = 'a' AND sequence = 1"], []),
        (["UPDATE journal SET reply = x'91c40178' WHERE instance = 'a' AND sequence = 1"], [("I4", "a", 1)]),
        (
            ["INSERT INTO snapshot SELECT component, instance, generation, 9, shard, 1, x'', '', '', 1 FROM instance WHERE instance = 'a'"],
            [("I6", "a", 9)],
        ),
    ],
)
async def test_damage_is_found_as_what_it_is(path: Path, statements: list[str], found: list[tuple[str, str, int | None]] | None) -> None:
    damage(path, *statements)
    if found is not None:
        assert findings(path) == found
    else:
        assert len({(rule, instance) for rule, instance, _ in findings(path)}) == 1, findings(path)


# I4
async def test_a_shared_key_is_found_though_the_index_does_not_show_it(path: Path) -> None:
    """The index misses a change of the table, as that of a damaged file may."""
    damage(path, "UPDATE journal SET \"key\" = CAST('k' || sequence AS BLOB), fingerprint = zeroblob(32), reply = x'91c40178' WHERE instance = 'a'")
    narrow = "UPDATE sqlite_schema SET sql = replace(sql, '\"key\" IS NOT NULL', '\"key\" = 1') WHERE name = 'journal_key'"
    damage(path, "PRAGMA writable_schema = ON", narrow)
    damage(path, "UPDATE journal SET \"key\" = x'6b31' WHERE instance = 'a' AND sequence = 3")
    damage(path, "PRAGMA writable_schema = ON", narrow.replace("IS NOT NULL", "?").replace("= 1", "IS NOT NULL").replace("?", "= 1"))
    (found,) = check_sqlite(path)
    assert (found.rule, found.instance, found.sequence, found.what) == ("I4", "a", 3, "key 6b31 was carried out twice")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute('SELECT count(*) FROM journal INDEXED BY journal_key WHERE "key" = ?', (b"k1",)).fetchone() == (1,)


async def test_it_reads_one_moment_beside_a_journal_that_is_written_to(path: Path) -> None:
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    with open_for_reading(str(path)) as contents:
        late = Life("checkout", "late")
        late.epoch = 2
        await append(journal, late.add(Started(T0, 1, to("a"), "start")))
        assert await journal.last("checkout", "late") is not None
        report = run(contents)
        assert (report.violations, report.instances) == ([], 3), "what was written since is not seen"
    assert check_sqlite(path) == []
    with open_for_reading(str(path)) as contents:
        assert run(contents).instances == 4
    await journal.close()


async def test_it_cannot_write(path: Path) -> None:
    with open_for_reading(str(path)) as contents, pytest.raises(sqlite3.OperationalError, match="readonly"):
        contents._connection.execute("DELETE FROM journal")


def nothing(file: Path) -> None:
    assert not file.exists()


def folder(file: Path) -> None:
    file.mkdir()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def document(file: Path) -> None:
    file.write_bytes(b"%PDF-1.7" * 200)


def other_database(file: Path) -> None:
    damage(file, "CREATE TABLE journal (a)")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (nothing, "does not exist"),
        (folder, r"is not a file; give the path of a journal, for example .*/x.db/journal.db"),
        (empty, "is an SQLite database but no journal"),
        (document, "not an SQLite database"),
        (other_database, r"no journal \(no table instance, meta, schema, shard, snapshot\)"),
    ],
)
def test_what_is_no_journal_is_said(tmp_path: Path, make: Callable[[Path], None], says: str) -> None:
    file = tmp_path / "x.db"
    make(file)
    with pytest.raises(NotAJournal, match=says):
        check_sqlite(file)


@pytest.mark.parametrize(("url", "says"), [("memory:", "in memory is gone"), ("postgresql://u:p@h/d", "PostgreSQL"), ("sqlite://x", "three slashes")])
def test_addresses_without_a_file(url: str, says: str) -> None:
    with pytest.raises(NotAJournal, match=re.escape(says)), open_for_reading(url):
        pass


async def test_a_journal_of_a_newer_version(path: Path) -> None:
    damage(path, "UPDATE meta SET value = 99 WHERE name = 'min_code'")
    with pytest.raises(NotAJournal, match="needs format 99, this version has 1; update Ankka"):
        check_sqlite(path)


async def test_a_damaged_file_is_a_violation(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        root, size = connection.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'journal'"
        ).fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    (found,) = check_sqlite(path)
    assert found.rule == "file"
    assert "restore a backup" in found.advice
    assert "the file is damaged" in found.found


@pytest.mark.slow
async def test_memory_does_not_grow_with_the_journal(tmp_path: Path) -> None:
    """Large states and inputs are read one by one, or not at all."""
    file = tmp_path / "journal.db"
    await write(file, entity_life(1))
    with closing(sqlite3.connect(file)) as connection, connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(journal)")]
        for number in range(2_000):
            name = f"n{number}"
            life = Life("cart", name, EntityRecord()).add(Persisted(T0, "add", (Payload(b"x" * 20_000),)))
            assert life.listing is not None
            row = {**{f: getattr(life.rows[0], f) for f in life.rows[0].__struct_fields__}, "state_sequence": None, "reply": b"y" * 20_000}
            connection.execute(f"INSERT INTO journal VALUES ({', '.join('?' * len(columns))})", [row[column] for column in columns])
            listed = msgspec.structs.astuple(life.listing)
            connection.execute("INSERT INTO instance VALUES (?,?,?,?,?,?,?,?,?,?,?)", (*listed[:6], *msgspec.structs.astuple(listed[6])))
    tracemalloc.start()
    try:
        found = check_sqlite(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {one.rule for one in found} == {"I4"}, "a reply without a key: that is how they were made large"
    assert peak < 5_000_000
