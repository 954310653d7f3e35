"""Folds each instance's events again, row by row, with the core's own `evolve`.

After a row whose record is not what its events say, it is unknown which of the two is wrong. Both are kept until a row
agrees with one of them, so that one damaged row is one finding and not one for each row behind it.
"""

from __future__ import annotations

from ankka_sidecar.core import event_sourced, key_value, workflow
from ankka_sidecar.core.events import AnyEvent, Deleted, Persisted, Updated, decode_event
from ankka_sidecar.core.records import AnyRecord, EntityRecord, KeyValueRecord, WorkflowRecord, decode_record
from ankka_sidecar.ports.journal import DELETED, Row
from ankka_sidecar.verify.contents import StoredRow
from ankka_sidecar.verify.line import Line


class Replay:
    """The replay of one instance after the other: `begin` an instance, then `next` with each of its rows."""

    def __init__(self) -> None:
        self._previous: Row | None = None
        self._known: list[AnyRecord] = []

    def begin(self) -> None:
        """Another instance follows."""
        self._previous = None
        self._known = []

    def next(self, stored: StoredRow) -> Line:
        """The line of the next row."""
        row, previous = stored.row, self._previous
        event, event_error = _event_of(row)
        record, record_error = _record_of(row)
        before: AnyRecord | None = None
        folded: AnyRecord | None = None
        impossible: str | None = None
        for one in self._candidates(row, event, record):
            result, refusal = (None, None) if event is None else fold(one, event)
            if before is None or (result is not None and result == record):
                before, folded, impossible = one, result, refusal
            if result is not None and result == record:
                break
        self._previous = row
        self._known = [one for one in (folded, record) if one is not None]
        if folded == record:
            del self._known[1:]
        return Line(row, stored.state_sequence, previous, event, record, before, folded, impossible, event_error or record_error)

    def _candidates(self, row: Row, event: AnyEvent | None, record: AnyRecord | None) -> list[AnyRecord]:
        """What the record before `row` may have been; nothing where a row is missing before it."""
        previous = self._previous
        if previous is not None and previous.generation == row.generation:
            return self._known if previous.sequence == row.sequence - 1 and previous.type != DELETED else []
        if row.sequence != 1:
            return []
        if previous is not None and previous.type == DELETED and self._known:
            return self._known
        # A first life, or one behind a deletion that is not there any more.
        if isinstance(record, KeyValueRecord):
            return [KeyValueRecord(), KeyValueRecord(row.generation - 1)]
        if isinstance(record, EntityRecord) or isinstance(event, Persisted):
            return [EntityRecord(), EntityRecord(row.generation - 1)]
        return [WorkflowRecord(), WorkflowRecord(row.generation - 1)]


def fold(record: AnyRecord, event: AnyEvent) -> tuple[AnyRecord | None, str | None]:
    """The record after `event`, or why the core's rules do not allow it."""
    try:
        if isinstance(record, WorkflowRecord):
            if isinstance(event, Persisted):
                return None, "an entity's event in a workflow's journal"
            return workflow.evolve(record, event), None
        if isinstance(record, KeyValueRecord):
            if isinstance(event, Updated | Deleted):
                return key_value.evolve(record, event), None
            return None, "an event in a key value entity's journal that is not one of its own"
        if isinstance(event, Persisted | Deleted):
            return event_sourced.evolve(record, event), None
    except AssertionError as error:
        return None, str(error) or "the core refuses it"
    return None, "an event in an event sourced entity's journal that is not one of its own"


def _event_of(row: Row) -> tuple[AnyEvent | None, str | None]:
    try:
        return decode_event(row.event), None
    except ValueError as error:  # msgspec's errors are
        return None, f"event: {error}"


def _record_of(row: Row) -> tuple[AnyRecord | None, str | None]:
    try:
        return decode_record(row.record), None
    except ValueError as error:
        return None, f"record: {error}"
