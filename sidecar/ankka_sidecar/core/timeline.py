"""The timeline of an instance: its journal, effect by effect, for people and for the kits' tests."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ankka.protocol.payload import JSON, Payload
from ankka_sidecar.core import events as facts
from ankka_sidecar.core.events import AnyEvent
from ankka_sidecar.core.lifecycle import instant
from ankka_sidecar.core.records import AnyRecord, WorkflowRecord


def items_of(generation: int, sequence: int, event: AnyEvent, record: AnyRecord, before: AnyRecord | None) -> list[dict[str, Any]]:
    """The items of one effect: one for a workflow's, one per event for an entity's. `record` is the one after it.

    Step and attempt are those that run next because of it; of what none follows in the same step, those that came to an end:
    `before`, the record of the row before, knows which attempt that was.
    """
    place: dict[str, Any] = {"generation": generation, "sequence": sequence, "at": instant(event.at)}
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
    return [{**place, "type": facts.name_of(event), "run": run, "step": step, "attempt": attempt, "detail": _detail(event)}]


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
