"""How a kit calls a handler: its name, its input and key as a caller sends them, its reply as a caller gets it."""

from collections.abc import Callable
from typing import Any

from ankka.codec import DONE
from ankka.codecs.by_value import payload_of
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition
from ankka.definition.hints import takes_none
from ankka.definition.marks import marks_of
from ankka.protocol import keys
from ankka.protocol.payload import NOTHING, Payload


def handler_name(handler: "str | Callable[..., Any]") -> str:
    """The wire name of a handler given by name or by method."""
    if isinstance(handler, str):
        return handler
    for mark in marks_of(handler):
        return mark.name
    raise ValueError(f"{handler!r} is no handler; give its wire name or the method")


def encoded_input(definition: ComponentDefinition, name: str, value: Any) -> Payload | None:
    """A handler's input as a caller would send it; `EncodingError` if it is not of the handler's type."""
    if value is None:
        return None
    handler = definition.handlers.get(name)
    taken = None if handler is None else handler.input
    return payload_of(value) if taken is None else taken.codec.encode_payload(value)


def key_of(definition: ComponentDefinition, entity_id: str, key: str | None) -> bytes | None:
    """A caller's idempotency key as it goes over the wire."""
    return None if key is None else keys.of_caller(definition.component_id, entity_id, key)


def decoded_reply(handler: HandlerDefinition, payload: Payload) -> Any:
    """A reply as the caller gets it; what is answered like `Done` is `Done`."""
    if payload.content_type == NOTHING and not payload.data and not takes_none(handler.reply):
        return DONE
    return handler.reply_codec.decode_payload(payload)
