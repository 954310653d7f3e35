"""The FastAPI application: listings, and the API's description."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Annotated

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi import Query as Parameter
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.lifecycle import LifecycleStatus
from ankka_sidecar.http import problems
from ankka_sidecar.http.description import describe
from ankka_sidecar.http.instances import listing
from ankka_sidecar.http.paths import query_of
from ankka_sidecar.http.problems import Problem, bad_request
from ankka_sidecar.http.reserved import PAGE_DEFAULT, PAGE_MOST
from ankka_sidecar.ports.journal import InvalidQuery, JournalUnavailable, Query
from ankka_sidecar.runtime.node import Node

STATUSES = (*(str(status) for status in LifecycleStatus), "active", "deleted")
FILTERS = ("component", "status", "step", "since", "failure", "limit", "after")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def make(node: Node) -> FastAPI:
    """The application over a node."""
    app = FastAPI(title="Ankka", version=version("ankka-engine"), docs_url="/docs", redoc_url=None, redirect_slashes=False)

    @app.get("/v1/instances", summary="Find instances")
    async def instances(
        request: Request,
        component: str | None = None,
        status: Annotated[str | None, Parameter(description=f"one of {', '.join(STATUSES)}")] = None,
        step: str | None = None,
        since: Annotated[str | None, Parameter(description="updated since: a span such as 10m, 2h, 1d, or an ISO 8601 instant")] = None,
        failure: Annotated[str | None, Parameter(description="a part of the failure's text")] = None,
        limit: Annotated[int, Parameter(ge=1, le=PAGE_MOST)] = PAGE_DEFAULT,
        after: Annotated[str | None, Parameter(description="the `next` of the page before")] = None,
    ) -> Response:
        """Instances by component, status, pending step, a part of the failure's text, or what was updated since."""
        query_of(request.scope, FILTERS)
        if status and status not in STATUSES:
            raise bad_request(f"status={status[:80]!r} is none of {', '.join(STATUSES)}")
        at = instant_of(since, datetime.now(UTC)) if since else None
        query = Query(component or None, status or None, step or None, at, failure or None, limit, after or None)
        return Response(msgspec.json.encode(await listing(node, query)), media_type="application/json")

    @app.exception_handler(Problem)
    async def on_problem(request: Request, problem: Problem) -> Response:
        return _respond(problem)

    @app.exception_handler(InvalidQuery)
    async def on_invalid_query(request: Request, error: InvalidQuery) -> Response:
        return _respond(bad_request(str(error)))

    @app.exception_handler(JournalUnavailable)
    async def on_unavailable(request: Request, error: JournalUnavailable) -> Response:
        return _respond(Problem(Error(ErrorCode.UNAVAILABLE, f"the journal is unavailable: {error}")))

    @app.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        said = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']} (got {str(one.get('input'))[:80]!r})" for one in error.errors())
        return _respond(bad_request(said))

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        return _respond(_of_http(request, error))

    describe(app, node)
    return app


def _of_http(request: Request, error: HTTPException) -> Problem:
    path = request.url.path[:200]
    headers = tuple((name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items())
    if error.status_code == 404:
        text = f"there is no {path}; handlers are at /v1/{{component}}/{{id}}/{{handler}}, ids percent-encoded, the API's description at /docs"
        return Problem(Error(ErrorCode.NOT_FOUND, text))
    if error.status_code == 405:
        return Problem(Error(ErrorCode.BAD_REQUEST, f"{request.method} is not a method of {path}"), 405, headers)
    code = ErrorCode.INTERNAL if error.status_code >= 500 else ErrorCode.BAD_REQUEST
    return Problem(Error(code, str(error.detail)), status=error.status_code, headers=headers)


def _respond(problem: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in problems.problem_headers(problem)}
    body = problems.problem_body(problem.error, problem.status)
    return Response(body, problem.status, headers, media_type=problems.PROBLEM.decode())


def instant_of(text: str, now: datetime) -> int:
    """`10m`, `2h`, `1d` ago, or an ISO 8601 instant, as µs since the epoch."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    try:
        if match is not None:
            at = now - timedelta(**{_UNITS[match.group(2)]: int(match.group(1))})
        else:
            at = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)  # a `+` of a query string is a space
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return int(at.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        raise bad_request(f"since={text[:80]!r} is neither a span such as 10m, 2h, 1d nor an ISO 8601 instant") from None
