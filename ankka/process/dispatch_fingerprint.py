"""Which input a command with an idempotency key was given, in 16 bytes: the same for inputs that are equal once decoded (W15)."""

import logging
from typing import Any

from ankka.codecs.canonical import canonical
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition
from ankka.process.dispatch_values import Unusable, decode_input, handler_of
from ankka.process.fault_log import log_failure
from ankka.protocol import keys
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Fingerprint, Fingerprinted, Refused
from ankka.protocol.payload import Payload


def fingerprint(definition: ComponentDefinition, frame: Fingerprint) -> Fingerprinted | Refused:
    """Answer which input it is; one that cannot be read is refused as the command would be."""
    where = f"{frame.handler!r} of {definition.component_id}/{frame.instance}"
    try:
        handler = handler_of(definition, frame.handler)
        arguments = decode_input(handler.input, frame.input, where)
        return Fingerprinted(frame.request, fingerprint_of(handler, arguments, frame.input))
    except Unusable as problem:
        return Refused(frame.request, problem.error)
    except BaseException as error:  # a class of the user's that its input is made of
        log_failure(logging.ERROR, f"the input of {where} cannot be read", error)
        return Refused(frame.request, Error(ErrorCode.INTERNAL, f"the input of {where} cannot be read; the log of its process has the reason"))


def fingerprint_of(handler: HandlerDefinition, arguments: tuple[Any, ...], given: Payload | None) -> bytes:
    """The fingerprint of a decoded input, before its handler can change it; `given` is what it was decoded from."""
    if handler.input is None or not arguments:
        return keys.fingerprint(handler.name, None)
    codec = handler.input.codec
    encoded: Payload | None
    try:
        encoded = Payload(codec.encode(arguments[0]), codec.content_type)
    except Exception:  # a value that can be read but not written is as good a command: told by what it was read from
        encoded = given
    return keys.fingerprint(handler.name, Payload(canonical(encoded), codec.content_type))
