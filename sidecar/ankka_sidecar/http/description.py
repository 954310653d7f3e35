"""The API's description: the bare routes, which FastAPI does not know, beside its own (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI

from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.spec import ComponentSpec
from ankka_sidecar.core.lifecycle import EntityLifecycle
from ankka_sidecar.http.handler_paths import paths_of
from ankka_sidecar.runtime.dispatcher import declared_by
from ankka_sidecar.runtime.node import Node

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what happened, and what to do"},
        "code": {"type": "string", "description": "an error code, such as CONFLICT"},
        "details": {"type": "object", "description": "further facts, where there are any"},
    },
}
_PROBLEM_BODY: dict[str, Any] = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_REFUSED = {"default": {"description": "A problem (RFC 9457)", "content": _PROBLEM_BODY}}
_OPERATION: dict[str, Any] = {
    "description": "why, and who asks for it; both may be left out",
    "content": {"application/json": {"schema": {"type": "object", "properties": {"reason": {"type": "string"}, "by": {"type": "string"}}}}},
}
_OPERATIONS = (
    ("pause", "Hold a workflow's run", "What runs may finish, nothing new starts."),
    ("resume", "Let a held run go on", "Nothing happens to one that is not held."),
    ("cancel", "End a workflow's run", "As Failed, or by the step that the workflow names for it (cancel_to)."),
)
_ANYTHING: dict[str, Any] = {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}}
(_WORKFLOW, _ENTITY), _OWN_TYPES = msgspec.json.schema_components((WorkflowLifecycle, EntityLifecycle), ref_template="#/components/schemas/{name}")
_LIFECYCLE: dict[str, Any] = {"application/json": {"schema": {"anyOf": [_WORKFLOW, _ENTITY]}}}
_STREAM: dict[str, Any] = {"text/event-stream": {"schema": {"type": "string"}}}


def describe(app: FastAPI, node: Node) -> None:
    """Give the application a description that has every route, and every handler that is attached when it is asked for."""
    own = app.openapi
    made_of: list[ComponentSpec] | None = None

    def openapi() -> dict[str, Any]:
        nonlocal made_of
        specs = _attached(node)
        if app.openapi_schema is None or specs != made_of:
            app.openapi_schema = None  # else FastAPI would answer with the last one
            app.openapi_schema = _described(own(), specs)
            made_of = specs
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # how FastAPI has it done


def _described(document: dict[str, Any], specs: list[ComponentSpec]) -> dict[str, Any]:
    """FastAPI's description of its own routes, with all others."""
    for path in document["paths"].values():
        for operation in path.values():
            del operation["responses"]["422"]  # what cannot be read is a 400 here, like everything else
            operation["responses"] |= _REFUSED
    handlers, schemas = paths_of(specs, _REFUSED)
    document["paths"] = handlers | _paths() | document["paths"]
    document["components"] = {"schemas": {"Problem": _PROBLEM, **_OWN_TYPES, **schemas}}
    return document


def _attached(node: Node) -> list[ComponentSpec]:
    """What the attached processes declare, one spec per component: the newest, with the handlers that only others have."""
    attached = node.dispatcher.attached
    specs: list[ComponentSpec] = []
    for component in declared_by(attached):
        newest = node.dispatcher.spec_of(component)
        if newest is None:
            continue
        others = [process.components[component] for process in attached if component in process.components]
        handlers = {handler.name: handler for spec in (*reversed(others), newest) for handler in spec.handlers}
        ordered = tuple(handlers[name] for name in sorted(handlers))
        specs.append(newest if len(others) == 1 else msgspec.structs.replace(newest, handlers=ordered))
    return specs


def _paths() -> dict[str, Any]:
    instance = [_in_path("component", "the component's id"), _in_path("id", "the instance's id, percent-encoded, a slash too")]
    handler = [*instance, _in_path("handler", "the wire name of a command or query")]
    ended = {**_ok("The end state", _ANYTHING), "424": _problem("The workflow failed"), "504": _problem("It has not ended within the timeout")}
    wait = _in_query("timeout", "seconds to wait", {"type": "number", "minimum": 0, "maximum": 3600, "default": 30})
    page = [
        _in_query("after", "the `next` of the page before", {"type": "string"}),
        _in_query("limit", "items at most", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
    ]
    behind = [
        _in_query("after", "the `id` of an event: those behind it", {"type": "string"}),
        {"name": "Last-Event-ID", "in": "header", "required": False, "description": "the same, and it wins", "schema": {"type": "string"}},
    ]
    return {
        "/v1/{component}/{id}/{handler}": {
            "post": _operation("Call a handler", "callHandler", handler, _replied(), "A command or query; answered when its effect is durable.")
            | {"requestBody": {"description": "the input, if the handler takes one", "content": {**_ANYTHING, "application/octet-stream": {}}}},
            "get": _operation("Call a query", "callQuery", handler, _replied(), "Queries without input."),
        },
        "/v1/{component}/{id}/ankka:lifecycle": {
            "get": _operation("The engine's own view of an instance", "lifecycle", instance, _ok("The lifecycle", _LIFECYCLE), "Needs no process."),
        },
        "/v1/{component}/{id}/ankka:await": {
            "get": _operation(
                "Wait for a workflow's end",
                "await",
                [*instance, wait],
                ended,
                "Of this run, or of the first one. Repeat it when the connection is lost.",
            ),
        },
        "/v1/{component}/{id}/ankka:journal": {
            "get": _operation("The timeline of an instance", "journal", [*instance, *page], _ok("A page", _ANYTHING), "Its journal."),
        },
        "/v1/{component}/{id}/ankka:events": {
            "get": _operation("The timeline as a stream", "events", [*instance, *behind], _ok("Server-sent events", _STREAM), "It does not end."),
        },
        **{
            f"/v1/{{component}}/{{id}}/ankka:{name}": {"post": _operation(summary, name, instance, _done(), text) | {"requestBody": _OPERATION}}
            for name, summary, text in _OPERATIONS
        },
        "/v1/{component}/{id}": {
            "delete": _operation("Remove an instance", "delete", instance, _done(), "Whatever it is doing.") | {"requestBody": _OPERATION},
        },
        "/healthz": {"get": _operation("Is the sidecar alive?", "healthz", [], _ok("It is", _ANYTHING), "")},
        "/readyz": {"get": _operation("Can it take calls?", "readyz", [], _ok("It can", _ANYTHING), "503 says what it waits for.")},
    }


def _operation(summary: str, name: str, parameters: list[dict[str, Any]], responses: dict[str, Any], text: str) -> dict[str, Any]:
    return {"summary": summary, "description": text, "operationId": name, "parameters": parameters, "responses": responses | _REFUSED}


def _replied() -> dict[str, Any]:
    return {**_ok("The reply", _ANYTHING), "204": {"description": "Done, with nothing to say"}}


def _done() -> dict[str, Any]:
    return {"204": {"description": "It is in the journal"}}


def _ok(description: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": description, "content": content}}


def _problem(description: str) -> dict[str, Any]:
    return {**_REFUSED["default"], "description": description}


def _in_path(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "description": description, "schema": {"type": "string"}}


def _in_query(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
