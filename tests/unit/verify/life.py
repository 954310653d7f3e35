"""Instances' journals made from events with the core's own `evolve`, as a sidecar would have written them, to be damaged."""

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
from ankka_sidecar.core import event_sourced, key_value, workflow
from ankka_sidecar.core.events import (
    AnyEvent,
    Deleted,
    Ended,
    FailedOver,
    Interrupted,
    Paused,
    Persisted,
    Resumed,
    Retried,
    Started,
    Transitioned,
    Updated,
)
from ankka_sidecar.core.events import name_of as type_of
from ankka_sidecar.core.records import AnyRecord, EntityRecord, KeyValueRecord, WorkflowRecord, next_place
from ankka_sidecar.core.sharding import shard_of
from ankka_sidecar.ports.journal import Found, Listing, Row, Snapshot
from ankka_sidecar.verify import Bounds, StoredRow, Violation, verify

from ankka.protocol.payload import Payload, StepTarget

S = 1_000_000
T0 = 1_700_000_000 * S
SHARDS = 16
encode = msgspec.msgpack.encode
_effects = itertools.count(1)


def to(step: str) -> StepTarget:
    return StepTarget(step)


class Life:
    """One instance. `add` events, damage `rows` and `listing`, then ask for the `findings`."""

    def __init__(self, component: str = "checkout", instance: str = "c1", record: AnyRecord | None = None) -> None:
        self.component, self.instance = component, instance
        self.record: AnyRecord = record if record is not None else WorkflowRecord()
        self.rows: list[Row] = []
        self.noted: list[int | None] = []
        self.snapshots: list[Snapshot] = []
        self.listing: Found | None = None
        self.epoch = 1
        self.epochs: dict[int, int] = {}
        self.schemas: dict[str, list[str]] = {}

    @property
    def shard(self) -> int:
        return shard_of(self.component, self.instance, SHARDS)

    def add(self, *events: AnyEvent, **columns: Any) -> "Life":
        """Append events as the engine would; `columns` are set in each row."""
        for event in events:
            generation, sequence = next_place(self.record, event.at)
            self.record = folded(self.record, event)
            payload = b"{}" if getattr(event, "changed", False) else None
            row = Row(
                self.component, self.instance, generation, sequence, next(_effects), event.at, self.shard, self.epoch, type_of(event),
                encode(event), encode(self.record), payload,
            )  # fmt: skip
            self.rows.append(msgspec.structs.replace(row, **columns))
            last = self.noted[-1] if self.noted and sequence > 1 else None
            self.noted.append(sequence if payload is not None else last)
            self.listing = Found(self.component, self.instance, generation, sequence, self.shard, event.at, self.shown(event))
        return self

    def shown(self, event: AnyEvent) -> Listing:
        deleted, record = isinstance(event, Deleted), self.record
        if isinstance(record, EntityRecord):
            return Listing("deleted" if deleted else "active", record.expires_at)
        failure = record.failure.message if record.failure else None
        step = record.pending.target.step if record.pending else None
        return Listing("deleted" if deleted else str(record.status), workflow.deadline(record), step, failure, record.run)

    def change(self, number: int, **columns: Any) -> None:
        """Damage row `number` (from 0; -1 is the last)."""
        self.rows[number] = msgspec.structs.replace(self.rows[number], **columns)

    def list_as(self, **changes: Any) -> None:
        """Damage the listing: its own columns, or those of its `Listing`."""
        assert self.listing is not None
        inner = {name: changes.pop(name) for name in list(changes) if name in Listing.__struct_fields__}
        self.listing = msgspec.structs.replace(self.listing, listing=msgspec.structs.replace(self.listing.listing, **inner), **changes)

    def snapshot(self, sequence: int, **changes: Any) -> None:
        """A snapshot of the last generation."""
        plain = Snapshot(self.component, self.instance, self.rows[-1].generation, sequence, self.shard, self.epoch, b"", "", "", 1)
        self.snapshots.append(msgspec.structs.replace(plain, **changes))

    def violations(self, bounds: Bounds | None = None) -> list[Violation]:
        """What is found."""
        rows = [StoredRow(row, noted) for row, noted in zip(self.rows, self.noted, strict=True)]
        listings = [] if self.listing is None else [self.listing]
        return verify(rows, listings, SHARDS, snapshots=self.snapshots, epochs=self.epochs, schemas=self.schemas, bounds=bounds)

    def findings(self, bounds: Bounds | None = None) -> list[tuple[str, str, int | None]]:
        """What is found, as (rule, what, sequence)."""
        return [(one.rule, one.what, one.sequence) for one in self.violations(bounds)]


def folded(record: AnyRecord, event: AnyEvent) -> AnyRecord:
    """The record after an event of whatever kind."""
    if isinstance(record, WorkflowRecord):
        assert not isinstance(event, Persisted)
        return workflow.evolve(record, event)
    if isinstance(record, KeyValueRecord):
        assert isinstance(event, Updated | Deleted)
        return key_value.evolve(record, event)
    assert isinstance(event, Persisted | Deleted)
    return event_sourced.evolve(record, event)


def workflow_life() -> Life:
    """Every kind of thing that happens to a checkout in two runs, and a third one that runs."""
    return Life().add(
        Started(T0, 1, to("reserve"), "start", T0 + 600 * S, 600 * S, changed=True),
        Transitioned(T0 + 1, to("charge"), "reserve", changed=True),
        Interrupted(T0 + 2, "charge", 2, "its process died"),
        Retried(T0 + 3, "charge", 3, "step 'charge' failed: declined"),
        FailedOver(T0 + 4, "charge", "step 'charge' failed: declined", to("compensate")),
        Transitioned(T0 + 5, to("wait"), "compensate"),
        Paused(T0 + 6, "wait", T0 + 10, to("close"), changed=True),
        Resumed(T0 + 10, to("close")),
        Ended(T0 + 11, "close"),
        Started(T0 + 12, 2, to("reserve"), "start"),
        Ended(T0 + 13, "reserve"),
        Started(T0 + 14, 3, to("reserve"), "start", changed=True),
    )


def entity_life(count: int = 3) -> Life:
    """A cart with so many effects."""
    events = [Persisted(T0 + number, "add", (Payload(b"{}"),)) for number in range(count)]
    return Life("cart", "a", EntityRecord()).add(*events)


def key_value_life() -> Life:
    """A profile that was set twice, deleted, and set again for a day."""
    day = T0 + 86_400 * S
    return Life("profile", "p", KeyValueRecord()).add(
        Updated(T0, "set"), Updated(T0 + 1, "set"), Deleted(T0 + 2, "drop"), Updated(T0 + 9, "set", expires_at=day)
    )


def merged(lives: Sequence[Life]) -> list[Violation]:
    """What is found in several instances at once."""
    rows = [StoredRow(row, noted) for life in lives for row, noted in zip(life.rows, life.noted, strict=True)]
    return verify(rows, [life.listing for life in lives if life.listing is not None], SHARDS)
