"""What else is written than items: snapshots, and the removal of what a deletion left. Each is one statement or two."""

import logging
import sqlite3
import time
from collections.abc import Sequence

import msgspec

from ankka_sidecar.adapters.journal.sqlite import statements
from ankka_sidecar.adapters.journal.sqlite.failures import ITEM_ERRORS
from ankka_sidecar.ports.journal import DELETED, Snapshot

log = logging.getLogger("ankka.sidecar.journal")


def put_snapshot(connection: sqlite3.Connection, snapshot: Snapshot) -> bool:
    """Store a snapshot unless one of a higher sequence is there; false, too, if the database cannot hold it."""
    names = Snapshot.__struct_fields__
    changed = ", ".join(f"{name} = excluded.{name}" for name in names[3:])
    try:
        return (
            connection.execute(
                f"INSERT INTO snapshot ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
                f"ON CONFLICT (component, instance, generation) DO UPDATE SET {changed} WHERE excluded.sequence >= sequence",
                msgspec.structs.astuple(snapshot),
            ).rowcount
            == 1
        )
    except ITEM_ERRORS as error:
        log.error("journal: the snapshot of %r/%r cannot be stored: %s", snapshot.component, snapshot.instance, error)
        return False


def prune(connection: sqlite3.Connection, component: str, instance: str, generation: int, limit: int) -> int:
    """Remove up to `limit` of a deleted generation's rows without a key, oldest first, and its snapshot."""
    place = (component, instance, generation)
    last = connection.execute(
        "SELECT sequence, type FROM journal WHERE component = ? AND instance = ? AND generation = ? ORDER BY sequence DESC LIMIT 1", place
    ).fetchone()
    if last is None or last[1] != DELETED:
        return 0
    connection.execute("DELETE FROM snapshot WHERE component = ? AND instance = ? AND generation = ?", place)
    return connection.execute(
        "DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE component = ? AND instance = ? AND generation = ? "
        'AND sequence < ? AND "key" IS NULL ORDER BY sequence LIMIT ?)',
        (*place, last[0], limit),
    ).rowcount


def trim(connection: sqlite3.Connection, component: str, instance: str, generation: int, after: int, limit: int) -> int:
    """Remove up to `limit` rows between a generation's first one and `after`, oldest first, but keyed ones and what a load needs."""
    place = (component, instance, generation)
    last = connection.execute(
        "SELECT sequence, state_sequence FROM journal WHERE component = ? AND instance = ? AND generation = ? ORDER BY sequence DESC LIMIT 1", place
    ).fetchone()
    if last is None:
        return 0
    return connection.execute(
        "DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE component = ? AND instance = ? AND generation = ? "
        'AND sequence > 1 AND sequence < ? AND sequence IS NOT ? AND "key" IS NULL ORDER BY sequence LIMIT ?)',
        (*place, min(after, last[0]), last[1], limit),
    ).rowcount


def prune_leftovers(connection: sqlite3.Connection, limit: int) -> int:
    """Remove rows of deleted generations that a crash kept from being pruned."""
    return connection.execute(f"DELETE FROM journal WHERE rowid IN ({statements.LEFTOVERS} LIMIT ?)", (limit,)).rowcount


def forget(connection: sqlite3.Connection, before: int, limit: int) -> int:
    """Remove what is left of instances that were deleted before that instant; those with a keyed row stay."""
    generations = statements.GENERATIONS.format("instance.component", "instance.instance")
    found = connection.execute(
        "SELECT component, instance, generation FROM instance WHERE status = 'deleted' AND updated_at < ? AND NOT EXISTS "
        f"(SELECT 1 FROM journal j INDEXED BY journal_place WHERE j.generation IN ({generations}) AND j.component = instance.component "
        'AND j.instance = instance.instance AND j."key" IS NOT NULL) LIMIT ?',
        (before, limit),
    ).fetchall()
    of_instance = statements.GENERATIONS.format("?1", "?2")
    connection.executemany("DELETE FROM snapshot WHERE component = ? AND instance = ? AND generation <= ?", found)
    connection.executemany(
        f"DELETE FROM journal WHERE generation IN ({of_instance}) AND component = ?1 AND instance = ?2 AND generation <= ?3", found
    )
    connection.executemany("DELETE FROM instance WHERE component = ? AND instance = ? AND generation = ?", found)
    return len(found)


def forget_keys(connection: sqlite3.Connection, first: bytes, last: bytes, before: int) -> int:
    """Take the keys from `first` to `last` off rows that are older than `before`; how many there were."""
    those, values = '"key" BETWEEN ? AND ? AND at < ?', (first, last, before)
    gone = connection.execute(f"{statements.FORGET_WITH_ROW} {those}", values).rowcount
    return gone + connection.execute(f"{statements.FORGET} {those}", values).rowcount


def see_schemas(connection: sqlite3.Connection, schemas: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Note schemas that are new, behind the others; all of them with their numbers."""
    now = time.time_ns() // 1_000
    connection.executemany(
        "INSERT INTO schema (component, fingerprint, first_seen) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(component, fingerprint, now) for component, fingerprint in schemas],
    )
    rows = connection.execute("SELECT component, fingerprint, number FROM schema ORDER BY number").fetchall()
    return {(component, fingerprint): number for component, fingerprint, number in rows}
