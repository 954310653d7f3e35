"""One group's items: fence them, store those that follow, and find the bad ones when the fast way does not store all.

The fast way stores all rows in one statement and all listings in a second. Only when that stored fewer rows than asked
for, or met a value the database cannot hold, is the group taken back and stored item by item.
"""

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from ankka_sidecar.adapters.journal.sqlite import statements
from ankka_sidecar.adapters.journal.sqlite.failures import ITEM_ERRORS
from ankka_sidecar.ports.journal import Item, Outcome

_FORGET_ONE: Final = f'{statements.FORGET} "key" = ?'

log = logging.getLogger("ankka.sidecar.journal")

Lazy = tuple[str, str, int, int, int, str | None]
"""What an instance's listing still lacks, in the order of `statements.LAZY`."""


def store_group(
    connection: sqlite3.Connection, items: Sequence[Item], lazy: Sequence[Lazy], epochs: Mapping[int, int], point: Callable[[str], None]
) -> list[Outcome]:
    """Store a group inside the transaction that is open, and `lazy` ahead of it; what became of each item.

    May take the transaction back and begin it anew, so it has to come first in it.
    """
    outcomes = [Outcome.STORED if epochs.get(item.row.shard) == item.row.epoch else Outcome.FENCED for item in items]
    owned = [number for number, outcome in enumerate(outcomes) if outcome is Outcome.STORED]
    _store_lazily(connection, lazy)
    if _store_all(connection, [items[number] for number in owned], point):
        return outcomes
    connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    _store_lazily(connection, lazy)
    for number in owned:
        outcomes[number] = _store_one(connection, items[number], point)
    return outcomes


def _store_all(connection: sqlite3.Connection, items: Sequence[Item], point: Callable[[str], None]) -> bool:
    """Store all in two statements; false if that did not store each of them."""
    if not items:
        return True
    try:
        if _insert(connection, items) != len(items):
            return False
        listed = [item for item in items if item.listing is not None]
        if listed:
            point("listing.before")
            _upsert(connection, listed)
    except ITEM_ERRORS:
        return False
    return True


def _store_one(connection: sqlite3.Connection, item: Item, point: Callable[[str], None]) -> Outcome:
    connection.execute("SAVEPOINT item")
    try:
        stored = _insert(connection, [item]) == 1
        if stored and item.listing is not None:
            point("listing.before")
            _upsert(connection, [item])
    except ITEM_ERRORS as error:
        connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")
        row = item.row
        log.error("journal: %r/%r sequence %d cannot be stored: %s: %s", row.component, row.instance, row.sequence, type(error).__name__, error)
        return Outcome.REFUSED
    if not stored:
        connection.execute("ROLLBACK TO item")  # what it would have forgotten stays
    connection.execute("RELEASE item")
    return Outcome.STORED if stored else Outcome.CONFLICT


def _insert(connection: sqlite3.Connection, items: Sequence[Item]) -> int:
    """Forget what the items say is too old, then insert their rows; how many were stored."""
    keyed = any(item.row.key is not None for item in items)
    too_old = [(item.row.key,) for item in items if item.forgets] if keyed else []
    if too_old:
        connection.executemany(_FORGET_ONE, too_old)
    parameters = statements.padded((msgspec.structs.astuple(item.row) for item in items), len(items), len(statements.ROW))
    return connection.execute(statements.insert_rows(statements.padded_size(len(items)), keyed), parameters).rowcount


def _upsert(connection: sqlite3.Connection, listed: Sequence[Item]) -> None:
    parameters = statements.padded(map(statements.listing_of, listed), len(listed), len(statements.LISTING))
    connection.execute(statements.upsert_listings(statements.padded_size(len(listed))), parameters)


def _store_lazily(connection: sqlite3.Connection, lazy: Sequence[Lazy]) -> None:
    if lazy:
        parameters = statements.padded(lazy, len(lazy), len(statements.LAZY))
        connection.execute(statements.update_lazily(statements.padded_size(len(lazy))), parameters)
