"""The parts that an OpenAPI document is made of: parameters, responses, and the problem that each operation may answer."""

from __future__ import annotations

from typing import Any

Part = dict[str, Any]

PROBLEM: Part = {
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
"""The schema of a problem, which is at `components/schemas/Problem`."""
_PROBLEM_BODY: Part = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def problem(description: str) -> Part:
    """A response that is a problem."""
    return {"description": description, "content": _PROBLEM_BODY}


REFUSED: Part = {"default": problem("A problem (RFC 9457)")}
"""What every operation may answer."""
NOT_ENDED: Part = {"424": problem("The workflow failed"), "504": problem("It has not ended within the timeout")}
"""What an await answers besides the end state."""
NOTHING: Part = {"204": {"description": "Done, with nothing to say"}}


def ok(description: str, content: Part) -> Part:
    """The response with status 200."""
    return {"200": {"description": description, "content": content}}


def in_path(name: str, description: str) -> Part:
    """A part of the path."""
    return {"name": name, "in": "path", "required": True, "description": description, "schema": {"type": "string", "minLength": 1}}


def in_query(name: str, description: str, schema: Part) -> Part:
    """A parameter that may be left out."""
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def in_header(name: str, description: str, schema: Part) -> Part:
    """A header that may be left out."""
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


INSTANCE: Part = in_path("id", "the instance's id, percent-encoded, a slash too")
TIMEOUT: Part = in_query("timeout", "seconds to wait", {"type": "number", "minimum": 0, "maximum": 3600, "default": 30})
