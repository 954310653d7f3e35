"""What attached processes declare, as paths of the API's description: one per handler, with the schemas of input and reply."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from ankka.protocol import payload as content
from ankka.protocol.spec import ComponentKind, ComponentSpec, HandlerSpec, TypeSpec
from ankka_sidecar.http.bodies import taken_by, takes_null
from ankka_sidecar.http.openapi import INSTANCE, NOT_ENDED, NOTHING, REFUSED, TIMEOUT, Part, in_header, ok
from ankka_sidecar.http.schemas import Schemas

_KEY = in_header(
    "Idempotency-Key",
    "a text of the caller's; the command is done once for it, and a repetition gets the stored reply",
    {"type": "string", "minLength": 1, "maxLength": 255},
)
_TEXT: Part = {"schema": {"type": "string"}}
_BINARY: Part = {}


def paths_of(specs: Iterable[ComponentSpec]) -> tuple[dict[str, Part], dict[str, Part]]:
    """The paths, and the schemas they refer to."""
    schemas = Schemas()
    paths: dict[str, Part] = {}
    for spec in specs:
        base = f"/v1/{quote(spec.component, safe='')}/{{id}}"
        for handler in spec.handlers:
            paths[f"{base}/{quote(handler.name, safe='')}"] = _operations(spec, handler, schemas)
        if spec.kind is ComponentKind.WORKFLOW and spec.state is not None:
            paths[f"{base}/ankka:await"] = {"get": _await(spec, spec.state, schemas)}
    return paths, schemas.shared


def _operations(spec: ComponentSpec, handler: HandlerSpec, schemas: Schemas) -> Part:
    operation: Part = {
        "tags": [spec.component],
        "summary": handler.summary or handler.name,
        "operationId": f"{spec.component}.{handler.name}",
        "parameters": [INSTANCE],
        "responses": _responses(spec, handler.reply, schemas) | REFUSED,
    }
    posted = {**operation, "parameters": [INSTANCE] if handler.read_only else [INSTANCE, _KEY]}
    if handler.input is not None:
        posted["requestBody"] = _body(spec, handler, handler.input, schemas)
    if handler.read_only and (handler.input is None or handler.input.optional):
        return {"post": posted, "get": {**operation, "operationId": f"{spec.component}.{handler.name}.get"}}
    return {"post": posted}


def _body(spec: ComponentSpec, handler: HandlerSpec, given: TypeSpec, schemas: Schemas) -> Part:
    kinds = {content.JSON: {"schema": schemas.add(spec.component, given.schema)}, content.TEXT: _TEXT, content.BYTES: _BINARY}
    return {
        "required": not (given.optional or takes_null(given.schema)),
        "content": {kind: kinds[kind] for kind in taken_by(handler)},
    }


def _responses(spec: ComponentSpec, reply: TypeSpec, schemas: Schemas) -> Part:
    if reply.content_type == content.NOTHING:
        return NOTHING
    kinds: Part = {content.JSON: {"schema": schemas.add(spec.component, reply.schema)}}
    if reply.primitive is not None:
        kinds[content.TEXT] = _TEXT
    if reply.content_type == content.BYTES:
        kinds[content.BYTES] = _BINARY
    return ok(f"The reply: {reply.name}", kinds)


def _await(spec: ComponentSpec, state: TypeSpec, schemas: Schemas) -> Part:
    return {
        "tags": [spec.component],
        "summary": "Wait for the workflow's end",
        "operationId": f"{spec.component}.ankka:await",
        "parameters": [INSTANCE, TIMEOUT],
        "responses": _responses(spec, state, schemas) | NOT_ENDED | REFUSED,
    }
