"""What the kits share in calling a handler: its name, its input as a caller sends it, its reply as a caller gets it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ankka.codec import DONE
from ankka.definition.build import definition_of
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition
from ankka.definition.hints import takes_none
from ankka.definition.marks import marks_of
from ankka.definition.settings import microseconds
from ankka.protocol import keys
from ankka.protocol.payload import NOTHING, Payload
from ankka.protocol.spec import ComponentKind
from ankka.testkit.scripted_calls import codec_for

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
"""When simulated time begins, unless a test says otherwise."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KITS = {
    ComponentKind.WORKFLOW: ("a workflow", "WorkflowTestKit"),
    ComponentKind.EVENT_SOURCED_ENTITY: ("an event sourced entity", "EventSourcedTestKit"),
    ComponentKind.KEY_VALUE_ENTITY: ("a key value entity", "KeyValueTestKit"),
}


def definition_for(component: type[Any], kind: ComponentKind) -> ComponentDefinition:
    """The definition of a component of that kind; `TypeError` if it is of another."""
    definition = definition_of(component)
    if definition.kind is not kind:
        what, kit = _KITS[definition.kind]
        raise TypeError(f"{component.__name__} is {what}, not {_KITS[kind][0]}; use {kit}.of({component.__name__})")
    return definition


def instant_of(now: datetime | None) -> int:
    """A simulated beginning in µs; `ValueError` for a time without a zone."""
    given = BEGAN if now is None else now
    if given.tzinfo is None:
        raise ValueError(f"now={given!r} has no time zone; write datetime(…, tzinfo=UTC)")
    return microseconds(given - _EPOCH)


def handler_name(handler: "str | Callable[..., Any]") -> str:
    """The wire name of a handler given by name or by method."""
    if isinstance(handler, str):
        return handler
    for mark in marks_of(handler):
        return mark.name
    raise ValueError(f"{handler!r} is no handler; give its wire name or the method")


def encoded_input(definition: ComponentDefinition, name: str, value: Any) -> Payload | None:
    """A handler's input as a caller would send it; `EncodingError` if it is not of the handler's type."""
    handler = definition.handlers.get(name)
    taken = None if handler is None else handler.input
    if value is None:
        return None
    codec = codec_for(type(value)) if taken is None else taken.codec
    return codec.encode_payload(value)


def decoded_reply(handler: HandlerDefinition, payload: Payload) -> Any:
    """A reply as the caller gets it; what is answered like `Done` is `Done`."""
    if payload.content_type == NOTHING and not payload.data and not takes_none(handler.reply):
        return DONE
    return handler.reply_codec.decode_payload(payload)


def key_of(definition: ComponentDefinition, entity_id: str, key: str | None) -> bytes | None:
    """A caller's idempotency key as it goes over the wire."""
    return None if key is None else keys.of_caller(definition.component_id, entity_id, key)
