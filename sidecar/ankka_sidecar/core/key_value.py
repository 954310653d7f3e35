"""The rules of a key value entity, pure: one effect is one row, and the state lies beside its event.

No event is folded: the state is that of the last row of the generation. An expiry is decided as for an event sourced
entity (`event_sourced.decide_deadline`).
"""

from __future__ import annotations

from ankka.protocol.frames import EntityCommandDone
from ankka_sidecar.core.durations import later
from ankka_sidecar.core.events import Deleted, KeyValueEvent, Updated
from ankka_sidecar.core.records import EntityRecord, KeyValueRecord, has_lived_before, next_place


def evolve(record: EntityRecord, event: KeyValueEvent) -> KeyValueRecord:
    """The record after `event`; after a deletion the next event begins a new generation."""
    generation, sequence = next_place(record, event.at)
    if isinstance(event, Deleted):
        return KeyValueRecord(generation=generation, reborn=record.reborn)
    assert event.changed, "a key value entity's update without a state"
    return KeyValueRecord(generation, sequence, event.at, event.expires_at, has_lived_before(record))


def decide_command(record: EntityRecord, done: EntityCommandDone, handler: str, now: int) -> KeyValueEvent | None:
    """The event of a command's effect; `None` where nothing is to be journalled.

    An effect without an expiry of its own ends an earlier one.
    """
    assert not done.events, "a key value entity has no events"
    if done.delete:
        return Deleted(now, handler) if record.sequence else None
    if done.state is None:
        return None
    return Updated(now, handler, expires_at=None if done.expire_after is None else later(now, done.expire_after))
