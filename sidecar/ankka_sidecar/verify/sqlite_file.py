"""Reads a journal's SQLite file for verification, also while a sidecar writes to it.

The connection can only read and takes no lock that a sidecar would wait for. All is read in one transaction, so it is
one moment of the journal; meanwhile the write-ahead log grows, because what it held at that moment stays in it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from ankka_sidecar.adapters.journal import urls
from ankka_sidecar.adapters.journal.sqlite.connections import connect_reader
from ankka_sidecar.adapters.journal.sqlite.failures import advice_for
from ankka_sidecar.adapters.journal.sqlite.opening import CODE
from ankka_sidecar.adapters.journal.sqlite.statements import LISTING
from ankka_sidecar.ports.journal import Found, Listing, Row, Snapshot
from ankka_sidecar.verify.contents import KeyPlace, StoredRow, Unreadable
from ankka_sidecar.verify.driver import run
from ankka_sidecar.verify.violation import Violation

_LEFT_OUT = ("payload",)
"""Columns of which only their presence is looked at: they may hold megabytes."""


def _columns(names: tuple[str, ...]) -> str:
    return ", ".join(f"CASE WHEN {name} IS NULL THEN NULL ELSE x'' END" if name in _LEFT_OUT else f'"{name}"' for name in names)


_ROW = f"SELECT state_sequence, {_columns(Row.__struct_fields__)} FROM journal WHERE rowid = ?"
_PLACES = "SELECT rowid FROM journal ORDER BY component, instance, generation, sequence, rowid"
_SHARED = 'SELECT "key" FROM journal NOT INDEXED WHERE "key" IS NOT NULL GROUP BY "key" HAVING count(*) > 1'
"""Without the index, which is unique and so would show each key once whatever the table holds."""
_SHARING = f'SELECT "key", component, instance, generation, sequence FROM journal NOT INDEXED WHERE "key" IN ({_SHARED}) ORDER BY 1, 2, 3, 4, 5'
_LISTINGS = f"SELECT {', '.join(LISTING)} FROM instance ORDER BY component, instance"
_SNAPSHOTS = f"SELECT {_columns(Snapshot.__struct_fields__)} FROM snapshot ORDER BY component, instance, generation"


class NotAJournal(ValueError):
    """There is no journal to read at that address; the message says what is there and what to do."""


class SqliteContents:
    """One moment of a journal file; made by `open_for_reading`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, shards: int) -> None:
        self.path = path
        self._connection = connection
        self.shards = shards
        self.epochs: dict[int, int] = dict(connection.execute("SELECT shard, epoch FROM shard"))
        known: dict[str, set[str]] = {}
        for component, fingerprint in connection.execute("SELECT component, fingerprint FROM schema"):
            known.setdefault(component, set()).add(fingerprint)
        self.schemas = {component: frozenset(fingerprints) for component, fingerprints in known.items()}

    def count(self) -> int:
        """How many rows there are; 0 where that cannot be read, which reading the rows will say."""
        try:
            return int(self._connection.execute("SELECT count(*) FROM journal").fetchone()[0])
        except sqlite3.Error:
            return 0

    def rows(self) -> Iterator[StoredRow]:
        # Sorting places and looking each row up takes a few bytes per row; sorting rows would copy the journal.
        look_up = self._connection.cursor()
        for (place,) in self._read(_PLACES):
            try:
                state_sequence, *values = look_up.execute(_ROW, (place,)).fetchone()
            except sqlite3.Error as error:
                raise Unreadable(f"journal {self.path}: row {place}: {advice_for(error)}") from error
            yield StoredRow(Row(*values), state_sequence)

    def listings(self) -> Iterator[Found]:
        for component, instance, generation, sequence, shard, updated_at, *listing in self._read(_LISTINGS):
            yield Found(component, instance, generation, sequence, shard, updated_at, Listing(*listing))

    def snapshots(self) -> Iterator[Snapshot]:
        for values in self._read(_SNAPSHOTS):
            yield Snapshot(*values)

    def shared_keys(self) -> Iterator[tuple[bytes, Sequence[KeyPlace]]]:
        if next(self._read(f"{_SHARED} LIMIT 1"), None) is None:
            return  # mostly so, and it saves reading the table twice more
        for key, group in groupby(self._read(_SHARING), key=itemgetter(0)):
            yield key, [KeyPlace(*place) for _, *place in group]

    def _read(self, statement: str) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement)
        except sqlite3.Error as error:
            raise Unreadable(f"journal {self.path}: {advice_for(error)}") from error


@contextmanager
def open_for_reading(url: str) -> Generator[SqliteContents]:
    """The journal at `url` (as `--journal` takes it) at this moment; `NotAJournal` where there is none."""
    try:
        parsed = urls.parse(url)
    except urls.InvalidUrl as error:
        raise NotAJournal(str(error)) from error
    if isinstance(parsed, urls.MemoryUrl):
        raise NotAJournal("a journal in memory is gone with its sidecar; give that of a file, for example sqlite:///.ankka/journal.db")
    with _open(Path(parsed.path).expanduser()) as contents:
        yield contents


def check_sqlite(path: str | Path) -> list[Violation]:
    """The violations in a journal file, without warnings; an empty list is a clean journal.

    Works while a sidecar has the file open. `NotAJournal` where there is no journal.
    """
    with _open(Path(path)) as contents:
        return run(contents).violations


@contextmanager
def _open(path: Path) -> Generator[SqliteContents]:
    with closing(_connected(path)) as connection:
        yield _contents(path, connection)


def _connected(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise NotAJournal(f"journal {path} does not exist; give the path of a journal, for example sqlite:///.ankka/journal.db")
    if not path.is_file():
        raise NotAJournal(f"journal {path} is not a file; give the path of a journal, for example {path / 'journal.db'}")
    try:
        return connect_reader(path.resolve())
    except sqlite3.Error as error:
        raise NotAJournal(f"journal {path}: {advice_for(error)}") from error


def _contents(path: Path, connection: sqlite3.Connection) -> SqliteContents:
    try:
        connection.execute("BEGIN")  # the first read below fixes the moment
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        missing = {"journal", "instance", "snapshot", "shard", "schema", "meta"} - tables
        if missing:
            raise NotAJournal(f"{path} is an SQLite database but no journal (no table {', '.join(sorted(missing))}); give the path of a journal")
        meta: dict[str, int] = dict(connection.execute("SELECT name, value FROM meta"))
        if meta.get("min_code", CODE) > CODE:
            written = f"journal {path} was written by a newer version of Ankka: it needs format {meta['min_code']}, this version has {CODE}"
            raise NotAJournal(f"{written}; update Ankka")
        if meta.get("shards", 0) < 1:
            raise NotAJournal(f"journal {path} does not say how many shards it has: no sidecar has opened it yet; start one, then verify")
        return SqliteContents(path, connection, meta["shards"])
    except sqlite3.Error as error:
        raise NotAJournal(f"journal {path}: {advice_for(error)}") from error
