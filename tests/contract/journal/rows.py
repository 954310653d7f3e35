"""Rows, items and snapshots for the journal's contract: valid, small, and changed as a test says."""

import itertools
from typing import Any

import msgspec
from ankka_sidecar.ports.journal import Item, Journal, Listing, Outcome, Row, Snapshot

_effects = itertools.count(1)


def row(instance: str = "a", sequence: int = 1, *, epoch: int = 1, **changes: Any) -> Row:
    """A row of generation 100 of component `checkout`; its instant is its sequence."""
    plain = Row(
        component="checkout",
        instance=instance,
        generation=100,
        sequence=sequence,
        effect=next(_effects),
        at=sequence,
        shard=7,
        epoch=epoch,
        type="transitioned",
        event=b"event",
        record=b"record",
    )
    return msgspec.structs.replace(plain, **changes)


def item(instance: str = "a", sequence: int = 1, *, listing: Listing | None = None, step: str | None = None, **changes: Any) -> Item:
    """An item over `row`."""
    return Item(row(instance, sequence, **changes), listing, step)


def full_row(instance: str = "a", sequence: int = 1, **changes: Any) -> Row:
    """A row with every column filled, each with another value."""
    filled = row(
        instance,
        sequence,
        payload=b'{"total":3}',
        content_type="application/json",
        manifest="checkout-state",
        schema="f1",
        trace="00-trace-span-01",
        key=b"key-1",
        fingerprint=b"print",
        reply=b'"done"',
        effect=2**63 - 1,
        at=-(2**63),
    )
    return msgspec.structs.replace(filled, **changes)


def snapshot(sequence: int, *, generation: int = 100, epoch: int = 1, **changes: Any) -> Snapshot:
    """A snapshot of instance `a`."""
    plain = Snapshot("cart", "a", generation, sequence, 7, epoch, f"state after {sequence}".encode(), "application/json", "cart", 1)
    return msgspec.structs.replace(plain, **changes)


async def store(journal: Journal, *items: Item) -> None:
    """Append items one after the other; each has to be stored."""
    for one in items:
        assert await journal.append([one]) == [Outcome.STORED]
