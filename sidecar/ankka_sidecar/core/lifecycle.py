"""The engine's own view of an instance, as its lifecycle query answers it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.payload import JSON, Payload
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class EntityLifecycle(msgspec.Struct, frozen=True, rename="camel"):
    """What the engine knows of an entity instance: `Active`, or `Empty` where nothing is (or no longer is) recorded."""

    status: str
    sequence: int
    updated_at: datetime | None = None
    expires_at: datetime | None = None


def instant(microseconds: int | None) -> datetime | None:
    """µs since the epoch as an aware UTC datetime; what lies beyond the year 9999 is its end."""
    if microseconds is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return _LAST


def of_workflow(record: WorkflowRecord, waiting_for: str | None) -> WorkflowLifecycle:
    """The lifecycle of a workflow."""
    pending = record.pending
    return WorkflowLifecycle(
        status=record.status,
        step=pending.target.step if pending else None,
        retries=record.retries,
        failure=record.failure.message if record.failure else None,
        attempt=pending.attempt if pending else None,
        next_attempt_at=instant(pending.not_before) if pending else None,
        paused_until=instant(record.pause.until) if record.pause else None,
        held=record.held,
        waiting_for=waiting_for,
        started_at=instant(record.started_at),
        updated_at=instant(record.updated_at),
        run=record.run,
    )


def of_entity(record: EntityRecord) -> EntityLifecycle:
    """The summary of an entity."""
    status = "Active" if record.sequence else "Empty"
    return EntityLifecycle(status, record.sequence, instant(record.updated_at), instant(record.expires_at))


def as_payload(lifecycle: WorkflowLifecycle | EntityLifecycle) -> Payload:
    """The reply's bytes."""
    return Payload(msgspec.json.encode(lifecycle), JSON)
