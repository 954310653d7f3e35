"""What attached processes declare, as paths of the API's description: one per handler, with the schemas of input and reply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from ankka.protocol import payload as content
from ankka.protocol.spec import ComponentKind, ComponentSpec, HandlerSpec, TypeSpec
from ankka_sidecar.http.bodies import taken_by, takes_null
from ankka_sidecar.http.schemas import Schemas

ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "the instance's id, percent-encoded, a slash too",
    "schema": {"type": "string", "minLength": 1},
}
_TEXT: dict[str, Any] = {"schema": {"type": "string"}}
_BINARY: dict[str, Any] = {}


def paths_of(specs: Iterable[ComponentSpec], refused: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The paths, and the schemas they refer to; `refused` are the responses of every problem."""
    schemas = Schemas()
    paths: dict[str, Any] = {}
    for spec in specs:
        base = f"/v1/{quote(spec.component, safe='')}/{{id}}"
        for handler in spec.handlers:
            paths[f"{base}/{quote(handler.name, safe='')}"] = _operations(spec, handler, schemas, refused)
        if spec.kind is ComponentKind.WORKFLOW and spec.state is not None:
            paths[f"{base}/ankka:await"] = {"get": _await(spec, spec.state, schemas, refused)}
    return paths, schemas.shared


def _operations(spec: ComponentSpec, handler: HandlerSpec, schemas: Schemas, refused: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "tags": [spec.component],
        "summary": handler.summary or handler.name,
        "operationId": f"{spec.component}.{handler.name}",
        "parameters": [ID],
        "responses": _responses(spec, handler.reply, schemas) | refused,
    }
    posted = {**operation, "parameters": [ID] if handler.read_only else [ID, _KEY]}
    if handler.input is not None:
        posted["requestBody"] = _body(spec, handler, handler.input, schemas)
    if handler.read_only and (handler.input is None or handler.input.optional):
        return {"post": posted, "get": {**operation, "operationId": f"{spec.component}.{handler.name}.get"}}
    return {"post": posted}


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a text of the caller's; the command is done once for it, and a repetition gets the stored reply",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


def _body(spec: ComponentSpec, handler: HandlerSpec, given: TypeSpec, schemas: Schemas) -> dict[str, Any]:
    kinds = {content.JSON: {"schema": schemas.add(spec.component, given.schema)}, content.TEXT: _TEXT, content.BYTES: _BINARY}
    return {
        "required": not (given.optional or takes_null(given.schema)),
        "content": {kind: kinds[kind] for kind in taken_by(handler)},
    }


def _responses(spec: ComponentSpec, reply: TypeSpec, schemas: Schemas) -> dict[str, Any]:
    if reply.content_type == content.NOTHING:
        return {"204": {"description": "Done, with nothing to say"}}
    kinds: dict[str, Any] = {content.JSON: {"schema": schemas.add(spec.component, reply.schema)}}
    if reply.primitive is not None:
        kinds[content.TEXT] = _TEXT
    if reply.content_type == content.BYTES:
        kinds[content.BYTES] = _BINARY
    return {"200": {"description": f"The reply: {reply.name}", "content": kinds}}


def _await(spec: ComponentSpec, state: TypeSpec, schemas: Schemas, refused: dict[str, Any]) -> dict[str, Any]:
    wait = {"name": "timeout", "in": "query", "required": False, "description": "seconds to wait"}
    problem = refused["default"]
    return {
        "tags": [spec.component],
        "summary": "Wait for the workflow's end",
        "operationId": f"{spec.component}.ankka:await",
        "parameters": [ID, {**wait, "schema": {"type": "number", "minimum": 0, "maximum": 3600, "default": 30}}],
        "responses": {
            **_responses(spec, state, schemas),
            "424": {**problem, "description": "The workflow failed"},
            "504": {**problem, "description": "It has not ended within the timeout"},
            **refused,
        },
    }
