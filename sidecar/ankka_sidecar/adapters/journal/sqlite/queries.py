"""What can be asked of the file, each over a connection that is handed in."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from ankka_sidecar.adapters.journal.sqlite import statements
from ankka_sidecar.ports.journal import DELETED, Found, Last, Listing, Page, Query, Row, Snapshot
from ankka_sidecar.ports.paging import page_of, position_of

_ROW: Final = ", ".join(statements.ROW)
_WIDTH: Final = len(statements.ROW)
_INDEXED_STATUSES: Final = ("Running", "Paused")
"""Those with an index of their own, which a statement uses only if it names the status itself."""

_FOUND: Final = ", ".join(statements.LISTING)


def last_of(connection: sqlite3.Connection, instances: Sequence[tuple[str, str]]) -> list[Last | None]:
    """The end of each instance's journal; at most 256 at once."""
    parameters = statements.padded(((number, *key) for number, key in enumerate(instances)), len(instances), 3)
    found: list[Last | None] = [None] * len(instances)
    for values in connection.execute(statements.last_rows(statements.padded_size(len(instances))), parameters).fetchall():
        row = Row(*values[2 : 2 + _WIDTH])
        state: Row | None = None
        if values[2 + _WIDTH] is not None:
            state = Row(*values[2 + _WIDTH :])
        elif row.payload is not None and row.type != DELETED:
            state = row
        found[values[0]] = Last(row, state)
    return found


def keyed_rows(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[Row | None]:
    """The row of each key; at most 256 at once."""
    parameters = statements.padded(enumerate(keys), len(keys), 2)
    found: list[Row | None] = [None] * len(keys)
    for values in connection.execute(statements.keyed_rows(statements.padded_size(len(keys))), parameters).fetchall():
        found[values[0]] = Row(*values[1:])
    return found


def rows_by_prefix(connection: sqlite3.Connection, prefix: bytes, limit: int) -> list[Row]:
    """The rows whose key begins with `prefix`, by key."""
    return [Row(*row) for row in _keyed(connection, _ROW, prefix, None, limit)]


def keys_behind(connection: sqlite3.Connection, prefix: bytes, after: bytes, limit: int) -> list[tuple[bytes, int]]:
    """The next keys behind `after` that begin with `prefix`, in order, each with its row's instant."""
    return _keyed(connection, '"key", at', prefix, after, limit)


def _keyed(connection: sqlite3.Connection, columns: str, prefix: bytes, after: bytes | None, limit: int) -> list[Any]:
    # One bound on each side: of two on one side SQLite seeks by one and reads through to the other.
    bounds, parameters = ('"key" >= ?', [prefix]) if after is None or after < prefix else ('"key" > ?', [after])
    end = successor(prefix)
    if end is not None:
        bounds += ' AND "key" < ?'
        parameters.append(end)
    return connection.execute(
        f'SELECT {columns} FROM journal INDEXED BY journal_key WHERE {bounds} ORDER BY "key" LIMIT ?', (*parameters, limit)
    ).fetchall()


def generations_of(connection: sqlite3.Connection, component: str, instance: str) -> list[int]:
    """The generations of an instance, the newest first."""
    found = connection.execute(
        f"SELECT DISTINCT generation FROM ({statements.GENERATIONS.format('?', '?')}) ORDER BY generation DESC", (component, instance)
    )
    return [generation for (generation,) in found.fetchall()]


def read_rows(connection: sqlite3.Connection, component: str, instance: str, after: tuple[int, int], limit: int) -> list[Row]:
    """Rows behind (generation, sequence), in order."""
    values = connection.execute(
        f"SELECT {_ROW} FROM journal WHERE generation IN ({statements.GENERATIONS.format('?', '?')} AND generation >= ?) "
        "AND component = ? AND instance = ? AND (generation > ? OR sequence > ?) ORDER BY generation, sequence LIMIT ?",
        (component, instance, after[0], component, instance, *after, limit),
    )
    return [Row(*row) for row in values.fetchall()]


def snapshot_of(connection: sqlite3.Connection, component: str, instance: str, generation: int) -> Snapshot | None:
    """The snapshot of that generation."""
    row = connection.execute(
        f"SELECT {', '.join(Snapshot.__struct_fields__)} FROM snapshot WHERE component = ? AND instance = ? AND generation = ?",
        (component, instance, generation),
    ).fetchone()
    return None if row is None else Snapshot(*row)


def due_before(connection: sqlite3.Connection, before: int, limit: int) -> list[tuple[str, str]]:
    """Instances whose deadline is at or before an instant; one owner has all shards, so none is asked for."""
    return connection.execute(
        "SELECT component, instance FROM instance WHERE deadline <= ? ORDER BY deadline, component, instance LIMIT ?", (before, limit)
    ).fetchall()


def has_leftovers(connection: sqlite3.Connection) -> bool:
    """Whether there is anything for `prune_leftovers`."""
    return connection.execute(f"{statements.LEFTOVERS} LIMIT 1").fetchone() is not None


def has_deleted(connection: sqlite3.Connection, before: int) -> bool:
    """Whether there may be anything for `forget`."""
    return connection.execute("SELECT 1 FROM instance WHERE status = 'deleted' AND updated_at < ? LIMIT 1", (before,)).fetchone() is not None


def find(connection: sqlite3.Connection, query: Query) -> Page:
    """A page of instances."""
    position = position_of(query)
    conditions: list[str] = []
    parameters: list[Any] = []
    indexed = query.status in _INDEXED_STATUSES
    if indexed:
        conditions.append(f"status = '{query.status}'")
    elif query.status is None:
        conditions.append(f"status <> '{DELETED}'")
    for condition, value in (
        ("component = ?", query.component),
        ("status = ?", None if indexed else query.status),
        ("step = ?", query.step),
        ("updated_at >= ?", query.since),
        ("failure IS NOT NULL AND contains_any_case(failure, ?)", query.failure),
    ):
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    if position is not None:
        conditions.append("(component, instance) > (?, ?)")
        parameters.extend(position)
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    rows = connection.execute(f"SELECT {_FOUND} FROM instance {where}ORDER BY component, instance LIMIT ?", [*parameters, query.limit + 1])
    return page_of([_found(row) for row in rows.fetchall()], query.limit)


def successor(prefix: bytes) -> bytes | None:
    r"""The first key behind all that begin with `prefix`; `None` if there can be none.

    >>> successor(b"sa"), successor(b"s\xff"), successor(b"\xff")
    (b'sb', b't', None)
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _found(row: tuple[Any, ...]) -> Found:
    component, instance, generation, sequence, shard, updated_at, *listing = row
    return Found(component, instance, generation, sequence, shard, updated_at, Listing(*listing))
