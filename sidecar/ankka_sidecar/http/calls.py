"""`/v1/{component}/{id}/{handler}`: the hot route, bare ASGI.

A body passes through unparsed: the process that knows the type decodes it.
"""

from __future__ import annotations

import re

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.spec import HandlerSpec
from ankka_sidecar.core.durations import in_words
from ankka_sidecar.http.bodies import input_of, read_body, respond_with
from ankka_sidecar.http.idempotency import key_of
from ankka_sidecar.http.paths import query_of
from ankka_sidecar.http.problems import Problem, Receive, Scope, Send, not_allowed
from ankka_sidecar.http.waiting import WATCH_AFTER, invoke
from ankka_sidecar.runtime.callers import Request
from ankka_sidecar.runtime.node import Node

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}[!-~]{0,200}")


async def call(node: Node, scope: Scope, receive: Receive, send: Send, parts: list[str]) -> None:
    """Answer one call of a handler."""
    component, instance, handler_name = parts
    method = scope["method"]
    _, handler = node.dispatcher.handler(component, handler_name)
    _check_method(method, handler)
    query_of(scope, ())
    content_type, accept, trace = _headers(scope)
    body = await read_body(scope, receive, node.settings.max_payload) if method == "POST" else b""
    if handler is None:
        _check_there(node, component, instance, handler_name)
    given = input_of(handler, body, content_type)
    key = key_of(scope, component, instance) if method == "POST" else None
    request = Request(component, instance, handler_name, given, node.settings.call_timeout, read_only=method == "GET", key=key, trace=trace)
    late = Error(ErrorCode.TIMEOUT, f"no reply within {in_words(request.timeout)} (call-timeout)", {"outcome": "unknown"})
    result = await invoke(node, request, receive, late, watch_after=0 if handler is None else WATCH_AFTER)
    if handler is None:
        _, handler = node.dispatcher.handler(component, handler_name)
        if isinstance(result, Error) and result.code is ErrorCode.BAD_REQUEST:
            # A process attached while the call waited: now it can be said what was wrong with it.
            _check_method(method, handler)
            input_of(handler, body, content_type)
    if isinstance(result, Error):
        raise Problem(result)
    await respond_with(send, result, handler, accept)


def _headers(scope: Scope) -> tuple[str, str, str | None]:
    """`Content-Type`, `Accept` and a valid `traceparent`; one that is not valid is to be ignored (W3C Trace Context)."""
    content_type, accept, trace = "", "", None
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value.decode("latin-1").lower()
        elif name == b"accept":
            accept = f"{accept},{value.decode('latin-1').lower()}" if accept else value.decode("latin-1").lower()
        elif name == b"traceparent":
            text = value.decode("latin-1")
            trace = text if _TRACEPARENT.fullmatch(text) else None
    return content_type, accept, trace


def _check_there(node: Node, component: str, instance: str, handler_name: str) -> None:
    """A handler that nobody has is 404, whatever the body is; one that a process may bring yet is waited for."""
    refusal = node.admission.handler(Request(component, instance, handler_name, None, 0))
    if isinstance(refusal, Error):
        raise Problem(refusal)


def _check_method(method: str, handler: HandlerSpec | None) -> None:
    if handler is None:
        if method not in ("GET", "POST"):
            raise not_allowed(f"{method} is not a method of handlers; POST calls one, GET a query", "POST", "GET")
        return
    without_input = handler.input is None or handler.input.optional
    methods = ("POST", "GET") if handler.read_only and without_input else ("POST",)
    if method in methods:
        return
    if method != "GET":
        raise not_allowed(f"{method} is not a method of '{handler.name}'; call it with POST", *methods)
    if not handler.read_only:
        raise not_allowed(f"'{handler.name}' is a command: call it with POST", *methods)
    assert handler.input is not None
    raise not_allowed(f"'{handler.name}' takes an input ({handler.input.name}): call it with POST and a body", *methods)
