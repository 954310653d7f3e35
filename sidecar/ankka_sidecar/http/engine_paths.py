"""The paths that every sidecar has, as OpenAPI describes them: calls of any handler, and what the engine itself knows and does."""

from __future__ import annotations

import msgspec

from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka_sidecar.core.lifecycle import EntityLifecycle
from ankka_sidecar.http.openapi import INSTANCE, NOT_ENDED, NOTHING, REFUSED, TIMEOUT, Part, in_header, in_path, in_query, ok

_OPERATION: Part = {
    "description": "why, and who asks for it; both may be left out",
    "content": {"application/json": {"schema": {"type": "object", "properties": {"reason": {"type": "string"}, "by": {"type": "string"}}}}},
}
_OPERATIONS = (
    ("pause", "Hold a workflow's run", "What runs may finish, nothing new starts."),
    ("resume", "Let a held run go on", "Nothing happens to one that is not held."),
    ("cancel", "End a workflow's run", "As Failed, or by the step that the workflow names for it (cancel_to)."),
)
_JOURNALLED: Part = {"204": {"description": "It is in the journal"}}
_ANYTHING: Part = {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}}
(_WORKFLOW, _ENTITY), SCHEMAS = msgspec.json.schema_components((WorkflowLifecycle, EntityLifecycle), ref_template="#/components/schemas/{name}")
_REPLIED: Part = ok("The reply", _ANYTHING) | NOTHING
_LIFECYCLE: Part = {"application/json": {"schema": {"anyOf": [_WORKFLOW, _ENTITY]}}}
_STREAM: Part = {"text/event-stream": {"schema": {"type": "string"}}}


def paths() -> dict[str, Part]:
    """All of them."""
    instance = [in_path("component", "the component's id"), INSTANCE]
    handler = [*instance, in_path("handler", "the wire name of a command or query")]
    page = [
        in_query("after", "the `next` of the page before", {"type": "string"}),
        in_query("limit", "items at most", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
    ]
    behind = [
        in_query("after", "the `id` of an event: those behind it", {"type": "string"}),
        in_header("Last-Event-ID", "the same, and it wins", {"type": "string"}),
    ]
    return {
        "/v1/{component}/{id}/{handler}": {
            "post": _operation("Call a handler", "callHandler", handler, _REPLIED, "A command or query; answered when its effect is durable.")
            | {"requestBody": {"description": "the input, if the handler takes one", "content": {**_ANYTHING, "application/octet-stream": {}}}},
            "get": _operation("Call a query", "callQuery", handler, _REPLIED, "Queries without input."),
        },
        "/v1/{component}/{id}/ankka:lifecycle": {
            "get": _operation("The engine's own view of an instance", "lifecycle", instance, ok("The lifecycle", _LIFECYCLE), "Needs no process."),
        },
        "/v1/{component}/{id}/ankka:await": {
            "get": _operation(
                "Wait for a workflow's end",
                "await",
                [*instance, TIMEOUT],
                ok("The end state", _ANYTHING) | NOT_ENDED,
                "Of this run, or of the first one. Repeat it when the connection is lost.",
            ),
        },
        "/v1/{component}/{id}/ankka:journal": {
            "get": _operation("The timeline of an instance", "journal", [*instance, *page], ok("A page", _ANYTHING), "Its journal."),
        },
        "/v1/{component}/{id}/ankka:events": {
            "get": _operation("The timeline as a stream", "events", [*instance, *behind], ok("Server-sent events", _STREAM), "It does not end."),
        },
        **{
            f"/v1/{{component}}/{{id}}/ankka:{name}": {"post": _operation(summary, name, instance, _JOURNALLED, text) | {"requestBody": _OPERATION}}
            for name, summary, text in _OPERATIONS
        },
        "/v1/{component}/{id}": {
            "delete": _operation("Remove an instance", "delete", instance, _JOURNALLED, "Whatever it is doing.") | {"requestBody": _OPERATION},
        },
        "/healthz": {"get": _operation("Is the sidecar alive?", "healthz", [], ok("It is", _ANYTHING), "")},
        "/readyz": {"get": _operation("Can it take calls?", "readyz", [], ok("It can", _ANYTHING), "503 says what it waits for.")},
    }


def _operation(summary: str, name: str, parameters: list[Part], responses: Part, text: str) -> Part:
    return {"summary": summary, "description": text, "operationId": name, "parameters": parameters, "responses": responses | REFUSED}
