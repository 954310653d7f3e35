"""The statements of the hot path: each stores or looks up a whole group in one step.

Why one statement for a group, when a loop over one-row statements is as fast on an idle machine: SQLite's step is
where Python's lock is let go and taken again, and while the event loop is busy each taking may wait a whole switch
interval. Measured beside a busy loop: 120 items/s row by row, 3,000 in one statement.

A statement exists for the sizes of `SIZES`; a group is filled up with rows of NULLs, which every statement skips.
`NULL` never equals, so a lookup finds nothing for them.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Final

from ankka_sidecar.ports.journal import Item, Row

SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)

ROW: Final = tuple(f'"{name}"' if name == "key" else name for name in Row.__struct_fields__)
"""The journal's columns in the order of `Row`."""

LISTING: Final = ("component", "instance", "generation", "sequence", "shard", "updated_at", "status", "deadline", "step", "failure", "run")
"""The columns of `instance`: those of `Found`, then those of `Listing`."""

LAZY: Final = ("component", "instance", "generation", "sequence", "updated_at", "step")
"""What reaches `instance` later than its row."""

GENERATIONS: Final = "SELECT generation FROM journal WHERE component = {0} AND instance = {1} AND (sequence = 1 OR type = 'deleted')"
"""The generations of an instance that are still there, by the index that knows them."""

LEFTOVERS: Final = (
    "SELECT j.rowid FROM instance i JOIN journal j ON j.generation = i.generation AND j.component = i.component "
    "AND j.instance = i.instance AND j.sequence < i.sequence WHERE i.status = 'deleted' AND j.\"key\" IS NULL"
)
"""Rows of deleted generations that can be pruned."""

FORGET: Final = 'UPDATE journal INDEXED BY journal_key SET "key" = NULL, fingerprint = NULL, reply = NULL WHERE'
"""Take the key off rows, with what belongs to it; a condition on the key follows."""

FORGET_WITH_ROW: Final = (
    "DELETE FROM journal INDEXED BY journal_key WHERE type <> 'deleted' AND generation < "
    "(SELECT i.generation FROM instance i WHERE i.component = journal.component AND i.instance = journal.instance) AND"
)
"""Of generations that others have followed, remove rows; a condition on the key follows."""

_NEWEST: Final = (
    f"(SELECT rowid FROM journal WHERE generation = ({GENERATIONS.format('v.component', 'v.instance')} ORDER BY generation DESC LIMIT 1) "
    "AND component = v.component AND instance = v.instance ORDER BY sequence DESC LIMIT 1)"
)


def padded_size(count: int) -> int:
    """The smallest size there is a statement for that holds `count` rows."""
    return next(size for size in SIZES if size >= count)


def padded(rows: Iterable[Sequence[object]], count: int, columns: int) -> list[object]:
    """The parameters of `count` rows, filled up with NULLs to the statement's size."""
    parameters = list(chain.from_iterable(rows))
    parameters.extend([None] * (columns * (padded_size(count) - count)))
    return parameters


def _values(columns: Sequence[str], size: int) -> str:
    one = f"({', '.join('?' * len(columns))})"
    return f"v({', '.join(columns)}) AS (VALUES {', '.join([one] * size)})"


@cache
def insert_rows(size: int, keyed: bool) -> str:
    """Insert the rows that follow their instance's newest one and whose key is new; the others are left out, and the row count tells.

    Looking whether a key is new costs a tenth of the time, so only a group with a key (`keyed`) does.
    Begins with INSERT because `sqlite3` counts rows only of statements that do.
    """
    return (
        f"INSERT INTO journal ({', '.join(ROW)}, state_sequence) WITH {_values(ROW, size)} "
        f"SELECT {', '.join(f'v.{name}' for name in ROW)}, "
        "CASE WHEN v.payload IS NOT NULL THEN v.sequence WHEN v.sequence > 1 THEN last.state_sequence END "
        f"FROM v LEFT JOIN journal AS last ON last.rowid = {_NEWEST} "
        "WHERE CASE WHEN v.sequence = 1 THEN last.generation IS NULL OR last.generation < v.generation "
        "ELSE last.generation = v.generation AND last.sequence = v.sequence - 1 END"
        + (' ON CONFLICT ("key") WHERE "key" IS NOT NULL DO NOTHING' if keyed else "")
    )


@cache
def upsert_listings(size: int) -> str:
    """Write the listings of instances."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in LISTING[2:])
    return (
        f"INSERT INTO instance ({', '.join(LISTING)}) WITH {_values(LISTING, size)} "
        f"SELECT * FROM v WHERE component IS NOT NULL ON CONFLICT (component, instance) DO UPDATE SET {changes}"
    )


@cache
def update_lazily(size: int) -> str:
    """Bring step and instant of instances up to date, where nothing newer is there already."""
    return (
        f"WITH {_values(LAZY, size)} UPDATE instance SET sequence = v.sequence, updated_at = v.updated_at, step = v.step FROM v "
        "WHERE instance.component = v.component AND instance.instance = v.instance "
        "AND instance.generation = v.generation AND instance.sequence < v.sequence"
    )


@cache
def last_rows(size: int) -> str:
    """The newest row of each instance asked for, by its number, then the row that set the state where it is another."""
    return (
        f"WITH {_values(('number', 'component', 'instance'), size)} "
        f"SELECT v.number, last.state_sequence, {', '.join(f'last.{name}' for name in ROW)}, {', '.join(f'state.{name}' for name in ROW)} "
        f"FROM v CROSS JOIN journal AS last ON last.rowid = {_NEWEST} "
        "LEFT JOIN journal AS state ON state.component = last.component AND state.instance = last.instance "
        "AND state.generation = last.generation AND state.sequence = last.state_sequence "
        "AND last.type <> 'deleted' AND last.payload IS NULL"
    )


@cache
def keyed_rows(size: int) -> str:
    """The row of each key asked for, by its number."""
    return (
        f"WITH {_values(('number', 'sought'), size)} SELECT v.number, found.{', found.'.join(ROW)} "
        'FROM v CROSS JOIN journal AS found INDEXED BY journal_key ON found."key" = v.sought'
    )


def listing_of(item: Item) -> tuple[object, ...]:
    """An item's row of `instance`."""
    row, listing = item.row, item.listing
    if listing is None:
        raise ValueError(f"{row.component}/{row.instance} was appended without a listing")
    return (
        row.component, row.instance, row.generation, row.sequence, row.shard, row.at,
        listing.status, listing.deadline, listing.step, listing.failure, listing.run,
    )  # fmt: skip
