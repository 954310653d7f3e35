"""The API's description: FastAPI's of its own routes, with the bare routes, which it does not know, beside them (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI

from ankka.protocol.spec import ComponentSpec
from ankka_sidecar.http import engine_paths
from ankka_sidecar.http.handler_paths import paths_of
from ankka_sidecar.http.openapi import PROBLEM, REFUSED
from ankka_sidecar.runtime.dispatcher import declared_by
from ankka_sidecar.runtime.node import Node


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
            operation["responses"] |= REFUSED
    handlers, schemas = paths_of(specs)
    document["paths"] = handlers | engine_paths.paths() | document["paths"]
    document["components"] = {"schemas": {"Problem": PROBLEM, **engine_paths.SCHEMAS, **schemas}}
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
