"""The HTTP application: the guard, the bare routes, and FastAPI for the rest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import SESSION_PATH
from ankka.protocol.ids import RESERVED_PREFIX
from ankka_sidecar.http import guard
from ankka_sidecar.http.calls import call
from ankka_sidecar.http.expecting import minding_expect
from ankka_sidecar.http.paths import split_path
from ankka_sidecar.http.problems import ClientGone, Problem, Receive, Scope, Send, bad_request, not_allowed, respond_json, respond_problem
from ankka_sidecar.http.reserved import IS_HEAD, operate, reserved
from ankka_sidecar.ports.journal import JournalUnavailable, Query
from ankka_sidecar.runtime.attachments import Attachments
from ankka_sidecar.runtime.node import Node

log = logging.getLogger("ankka.sidecar.http")

Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
INSTANCE, HANDLER = 2, 3
"""Parts of the path of an instance (component, id) and of a handler (component, id, handler)."""


class App:
    """The ASGI application of the sidecar's one port."""

    def __init__(self, node: Node, attachments: Attachments, sessions: Asgi, console: Asgi, incarnation: str) -> None:
        self._node = node
        self._attachments = attachments
        self._sessions = sessions
        self._console = console
        self._incarnation = incarnation
        self._pages: Asgi | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one session."""
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # whatever GET answers; the server leaves the body out
            scope = {**scope, "method": "GET", IS_HEAD: True}
        receive, send = minding_expect(scope, receive, send)
        try:
            guard.check(scope)
            await self._route(scope, receive, send)
        except ClientGone:
            return
        except Problem as problem:
            await respond_problem(send, problem)
        except JournalUnavailable as error:
            await respond_problem(send, Problem(Error(ErrorCode.UNAVAILABLE, f"the journal is unavailable: {error}")))
        except asyncio.CancelledError:  # the server stops and has waited for this request long enough
            text = "this sidecar has stopped; whether the call was done is unknown"
            await respond_problem(send, Problem(Error(ErrorCode.TIMEOUT, text, {"outcome": "unknown"})))
        except Exception:
            log.exception("a request failed: %s %s", scope["method"], scope["path"])
            await respond_problem(send, Problem(Error(ErrorCode.INTERNAL, "the sidecar failed to answer; its log says why")))

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            guard.check(scope)
        except Problem as problem:
            log.warning("a session was refused: %s", problem)
        else:
            if scope["path"] == SESSION_PATH:
                await self._sessions(scope, receive, send)
                return
        await receive()
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: a 403

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = split_path(scope["raw_path"])
        if parts is None:
            await self._outside(scope, receive, send)
            return
        if len(parts) == HANDLER:
            if not parts[0]:
                raise bad_request("the component in the path is empty; handlers are at /v1/{component}/{id}/{handler}")
            if parts[2].startswith(RESERVED_PREFIX):
                await reserved(self._node, scope, receive, send, parts)
            else:
                await call(self._node, scope, receive, send, parts)
        elif len(parts) == INSTANCE and scope["method"] == "DELETE":
            await operate(self._node, scope, receive, send, parts[0], parts[1], "ankka:delete")
        else:
            await self._page(scope, receive, send)

    async def _outside(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path in ("/", "/console") or path.startswith("/console/"):
            await self._console(scope, receive, send)
            return
        if path not in ("/healthz", "/readyz"):
            await self._page(scope, receive, send)
            return
        if scope["method"] != "GET":
            raise not_allowed(f"{path} is read with GET", "GET")
        if path == "/healthz":
            await respond_json(send, {"status": "ok", "incarnation": self._incarnation, "processes": self._attachments.count})
        else:
            await self._ready(send)

    async def _ready(self, send: Send) -> None:
        waiting: list[str] = []
        try:
            await self._node.journal.find(Query(limit=1))
        except JournalUnavailable as error:
            waiting.append(f"the journal does not answer: {error}")
        if all(process.draining for process in self._node.dispatcher.attached):
            waiting.append("no process is attached")
        if self._node.stopping:
            waiting.append("this sidecar is stopping")
        if waiting:
            raise Problem(Error(ErrorCode.UNAVAILABLE, "; ".join(waiting)))
        await respond_json(send, {"status": "ready"})

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Leave the request to FastAPI, which takes a quarter of a second to import: not before it is needed."""
        if self._pages is None:
            made: Any = await asyncio.to_thread(_make_pages, self._node)
            self._pages = made
        assert self._pages is not None
        started = False

        async def note(message: Any) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._pages(scope, receive, note)
        except Exception:
            if not started:
                raise
            log.exception("a request failed: %s %s", scope["method"], scope["path"])  # FastAPI has answered already


def _make_pages(node: Node) -> Asgi:
    from ankka_sidecar.http.pages import make  # imported late on purpose, see above

    return make(node)
