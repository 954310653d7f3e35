"""The timeline of an instance: its journal, row by row, for people."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from ankka.protocol.payload import JSON, Payload
from ankka_sidecar.core import events as facts
from ankka_sidecar.core.events import AnyEvent, decode_event
from ankka_sidecar.core.lifecycle import instant
from ankka_sidecar.core.records import AnyRecord, WorkflowRecord, decode_record
from ankka_sidecar.http.problems import bad_request
from ankka_sidecar.ports.journal import Journal, Row

CHUNK = 100
"""Rows read at once: each may hold a state of megabytes, which the timeline drops."""


async def page_of(journal: Journal, component: str, instance: str, after: str, limit: int) -> dict[str, Any]:
    """A page of at most `limit` items behind the place `after`, the `next` of the page before."""
    behind, given = _place(after)
    start = (behind[0], max(behind[1] - 1, 0))  # the row before the page says which attempt its first row may end
    before: AnyRecord | None = None
    items: list[tuple[dict[str, Any], Row, int, int]] = []
    while len(items) <= given + limit:
        rows = await journal.read(component, instance, start, CHUNK)
        for row in rows:
            record = decode_record(row.record)
            made = items_of(row, record, before) if (row.generation, row.sequence) > behind else []
            before = record
            place = msgspec.structs.replace(row, payload=None, event=b"", record=b"")
            items.extend((item, place, number, len(made)) for number, item in enumerate(made, 1))
        if len(rows) < CHUNK:
            break
        start = rows[-1].generation, rows[-1].sequence
    page = items[given : given + limit]
    following = None
    if len(items) > given + limit:
        _, row, number, of = page[-1]
        following = f"{row.generation}:{row.sequence}" + (f":{number}" if number < of else "")
    return {"items": [item for item, *_ in page], "next": following}


def _place(text: str) -> tuple[tuple[int, int], int]:
    """(generation, sequence) behind which to read, and how many items from there on were given already."""
    if not text:
        return (0, 0), 0
    match = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})(?::([0-9]{1,9}))?", text)
    if match is None:
        raise bad_request(f"after={text[:80]!r} is not a place in a journal; use the 'next' of the page before")
    generation, sequence, given = int(match[1]), int(match[2]), int(match[3] or 0)
    # A place within a row: the row is read again.
    return (generation, sequence - 1 if given else sequence), given


def items_of(row: Row, record: AnyRecord, before: AnyRecord | None) -> list[dict[str, Any]]:
    """The items of one row: one for a workflow's effect, one per event for an entity's.

    Step and attempt are those that run next because of it; of what none follows in the same step, those that came to an end:
    `before`, the record of the row before, knows which attempt that was.
    """
    event = decode_event(row.event)
    place: dict[str, Any] = {"generation": row.generation, "sequence": row.sequence, "at": instant(row.at)}
    if isinstance(event, facts.Persisted) or (isinstance(event, facts.Deleted) and not isinstance(record, WorkflowRecord)):
        items = [*(_entity_item(place, event.by, payload) for payload in event.events), *_deletion(place, event)]
        return items or [{**place, "type": "updated", "run": None, "step": None, "attempt": None, "detail": _detail(event)}]
    run = record.run if isinstance(record, WorkflowRecord) else None
    ends = isinstance(event, (facts.FailedOver, facts.Failed, facts.Paused, facts.Ended))
    source = before if ends else record
    pending = source.pending if isinstance(source, WorkflowRecord) else None
    step = getattr(event, "step", None) or (pending.target.step if pending else None)
    if isinstance(event, (facts.Paused, facts.Ended)):
        step = event.by
    attempt = pending.attempt if pending else None
    return [{**place, "type": row.type, "run": run, "step": step, "attempt": attempt, "detail": _detail(event)}]


def _entity_item(place: dict[str, Any], by: str, payload: Payload) -> dict[str, Any]:
    value = _shown(payload)
    tag = cast("dict[str, Any]", value).get("type") if isinstance(value, dict) else None
    name = tag if isinstance(tag, str) else payload.manifest or "event"
    return {**place, "type": name, "run": None, "step": None, "attempt": None, "detail": {"by": by, "event": value}}


def _deletion(place: dict[str, Any], event: AnyEvent) -> list[dict[str, Any]]:
    if not isinstance(event, facts.Deleted):
        return []
    return [{**place, "type": "deleted", "run": None, "step": None, "attempt": None, "detail": {"by": event.by}}]


def _shown(payload: Payload) -> Any:
    if payload.content_type == JSON:
        try:
            return msgspec.json.decode(payload.data)
        except msgspec.DecodeError:
            return repr(payload.data[:200])
    return payload.data.decode("utf-8", "backslashreplace")


def _detail(event: AnyEvent) -> dict[str, Any]:
    """What else the event says, without what is empty."""
    detail: dict[str, Any] = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if name in ("at", "run", "step", "attempt", "changed", "budget") or value is None or value in ("", (), False):
            continue
        if name in ("until", "not_before", "expires_at"):
            value = instant(value)
        elif name in ("target", "on_timeout"):
            detail["to" if name == "target" else "onTimeout"] = value.step
            continue
        detail[_camel(name)] = value
    return detail


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
