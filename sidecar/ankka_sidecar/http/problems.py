"""Errors over HTTP: `application/problem+json` (RFC 9457), and the bare responses around it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

import msgspec

from ankka.protocol.errors import Error, ErrorCode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

PROBLEM = b"application/problem+json"
JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
BYTES = b"application/octet-stream"


class Problem(Exception):  # it is the RFC's word for it
    """A request that is answered with a problem."""

    def __init__(self, error: Error, status: int | None = None, headers: Headers = ()) -> None:
        super().__init__(error.message)
        self.error = error
        self.status = error.code.http_status if status is None else status
        self.headers = headers


class ClientGone(Exception):
    """The client has closed the connection: nobody is there to be answered."""


def bad_request(message: str, status: int = 400) -> Problem:
    """A 400, or another 4xx that has no error code of its own."""
    return Problem(Error(ErrorCode.BAD_REQUEST, message), status)


def not_allowed(message: str, *methods: str) -> Problem:
    """A 405 that says which methods are allowed; HEAD goes where GET does."""
    allowed = [name for method in methods for name in ((method, "HEAD") if method == "GET" else (method,))]
    return Problem(Error(ErrorCode.BAD_REQUEST, message), 405, ((b"allow", ", ".join(allowed).encode()),))


def not_yet(what: str) -> Problem:
    """A 501: documented, and refused instead of ignored until it is there."""
    return bad_request(f"{what} is not available in this version; nothing was done", 501)


def problem_body(error: Error, status: int) -> bytes:
    """The document of a problem."""
    document: dict[str, Any] = {
        "type": f"urn:ankka:error:{error.code.lower().replace('_', '-')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": str(error.code),
    }
    if error.details:
        document["details"] = error.details
    return msgspec.json.encode(document)


def problem_headers(problem: Problem) -> Headers:
    """The headers of a problem: its own, and when to try again."""
    if problem.error.code is ErrorCode.UNAVAILABLE:
        return (*problem.headers, (b"retry-after", b"1"))
    return problem.headers


async def respond(send: Send, status: int, body: bytes = b"", content_type: bytes | None = None, headers: Headers = ()) -> None:
    """Answer a request whole."""
    sent = [(b"content-length", b"%d" % len(body)), *headers]
    if status == HTTPStatus.NO_CONTENT:
        sent = list(headers)
    elif content_type is not None:
        sent.append((b"content-type", content_type))
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})


async def respond_json(send: Send, document: Any) -> None:
    """Answer with a document, 200."""
    await respond(send, 200, msgspec.json.encode(document), JSON)


async def respond_problem(send: Send, problem: Problem) -> None:
    """Answer a request with a problem."""
    await respond(send, problem.status, problem_body(problem.error, problem.status), PROBLEM, problem_headers(problem))
