"""The rules of an event sourced entity, pure: one effect is one row, its events inside it."""

from __future__ import annotations

from ankka.protocol.frames import EntityCommandDone
from ankka_sidecar.core.durations import later
from ankka_sidecar.core.events import Deleted, EntityEvent, Persisted
from ankka_sidecar.core.records import EntityRecord, has_lived_before, next_place


def evolve(record: EntityRecord, event: EntityEvent) -> EntityRecord:
    """The record after `event`; after a deletion the next event begins a new generation."""
    generation, sequence = next_place(record, event.at)
    if isinstance(event, Deleted):
        return EntityRecord(generation=generation, reborn=record.reborn)
    return EntityRecord(generation, sequence, event.at, event.expires_at, has_lived_before(record))


def decide_command(record: EntityRecord, done: EntityCommandDone, handler: str, now: int) -> EntityEvent | None:
    """The event of a command's effect; `None` where nothing is to be journalled.

    An effect without an expiry of its own ends an earlier one.
    """
    if done.delete:
        return Deleted(now, handler, done.events) if record.sequence or done.events else None
    if not done.events and done.expire_after is None:
        return None
    return Persisted(now, handler, done.events, None if done.expire_after is None else later(now, done.expire_after))


def decide_deadline(record: EntityRecord, now: int) -> EntityEvent | None:
    """The expiry, once it has passed."""
    if record.sequence and record.expires_at is not None and record.expires_at <= now:
        return Deleted(now, "expired")
    return None
