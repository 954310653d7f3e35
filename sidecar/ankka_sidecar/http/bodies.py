"""Bodies: a request's becomes an input, a reply becomes a response. Their bytes pass through unparsed."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from ankka.protocol import payload as content
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.payload import Payload
from ankka.protocol.spec import HandlerSpec
from ankka_sidecar.http import problems
from ankka_sidecar.http.problems import ClientGone, Problem, Receive, Scope, Send, bad_request, respond

_CURL = {
    content.JSON: "-H 'Content-Type: application/json'",
    content.TEXT: "-H 'Content-Type: text/plain'",
    content.BYTES: "-H 'Content-Type: application/octet-stream'",
}


async def read_body(scope: Scope, receive: Receive, limit: int, called: str = "max-payload") -> bytes:
    """The request's body; above the limit of that name a 413, as soon as that is known."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise _too_large(int(value), limit, called)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(size, limit, called)
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(size: int, limit: int, called: str) -> Problem:
    text = f"the body has {size:,} bytes or more; at most {limit:,} are taken ({called})"
    return Problem(Error(ErrorCode.TOO_LARGE, text, {"limit": limit}))


def input_of(handler: HandlerSpec | None, body: bytes, content_type: str) -> Payload | None:
    """The input a body is, or a `Problem`. `handler` is `None` while no process has declared it."""
    kind, charset = _parsed(content_type)
    if handler is not None and handler.input is None:
        if body:
            raise Problem(Error(ErrorCode.BAD_REQUEST, f"'{handler.name}' takes no input; send no body", {"input": "unwanted"}))
        return None
    taken = taken_by(handler)
    if not body and not (kind in taken and _holds_empty(handler, kind)):
        if handler is not None and handler.input is not None and not handler.input.optional and not takes_null(handler.input.schema):
            text = f"'{handler.name}' takes an input ({handler.input.name}); send it as the body"
            raise Problem(Error(ErrorCode.BAD_REQUEST, text, {"input": "missing", "name": handler.input.name}))
        return None
    if charset == "utf-8" and (kind or content.JSON) in taken:
        return Payload(body, kind or content.JSON)
    lines = " or ".join(_CURL[one] for one in taken)
    raise bad_request(f"the content type {content_type[:200]!r} is not taken here; use {lines}", 415)


def _parsed(content_type: str) -> tuple[str, str]:
    """The media type and the charset of a `Content-Type`."""
    kind, *parameters = content_type.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return kind.strip(), value.strip(' "')
    return kind.strip(), "utf-8"


def taken_by(handler: HandlerSpec | None) -> list[str]:
    """The content types a handler's input may have, the best first."""
    if handler is None or handler.input is None:
        return [content.JSON, content.TEXT, content.BYTES]
    taken = [content.JSON]
    if handler.input.primitive is not None:
        taken.append(content.TEXT)
    if handler.input.content_type == content.BYTES:
        taken.append(content.BYTES)
    return taken


def _holds_empty(handler: HandlerSpec | None, kind: str) -> bool:
    """Whether no bytes at all are a value: the empty text, or empty `bytes`."""
    if kind == content.TEXT:
        return handler is None or handler.input is None or handler.input.primitive == "str"
    return kind == content.BYTES


def takes_null(schema: dict[str, Any]) -> bool:
    """Whether nothing at all may stand for the input: it is `None`, or optional."""
    cases: list[dict[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return any(case.get("type") == "null" for case in cases)


async def respond_with(send: Send, reply: Payload, handler: HandlerSpec | None, accept: str) -> None:
    """Answer with a reply: 204 for nothing, else JSON; text and bytes as they are where that is preferred."""
    data = reply.data
    match reply.content_type:
        case content.NOTHING:
            await respond(send, 204)
        case content.TEXT if prefers(accept, content.TEXT):
            await respond(send, 200, data, problems.TEXT)
        case content.TEXT:
            is_text = handler is None or handler.reply.primitive in (None, "str")
            await respond(send, 200, msgspec.json.encode(data.decode()) if is_text else data, problems.JSON)
        case content.BYTES if prefers(accept, content.BYTES):
            await respond(send, 200, data, problems.BYTES)
        case content.BYTES:
            await respond(send, 200, msgspec.json.encode(base64.b64encode(data).decode()), problems.JSON)
        case _:
            await respond(send, 200, data, problems.JSON)


def prefers(accept: str, kind: str) -> bool:
    """Whether an `Accept` header asks for that type rather than for JSON.

    >>> prefers("text/plain", "text/plain"), prefers("application/json, text/plain, */*", "text/plain")
    (True, False)
    """
    if kind not in accept:
        return False
    for entry in sorted((_weighed(part) for part in accept.split(",")), key=lambda entry: -entry[1]):
        if entry[1] > 0 and entry[0] in (kind, content.JSON):
            return entry[0] == kind
    return False


def _weighed(entry: str) -> tuple[str, float]:
    kind, *parameters = entry.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return kind.strip(), float(value)
            except ValueError:
                return kind.strip(), 0.0
    return kind.strip(), 1.0
