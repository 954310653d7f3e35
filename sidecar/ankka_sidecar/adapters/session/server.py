"""The sidecar's end of a session: one ASGI WebSocket per peer.

Reading never stops: each message is decoded and handed over at once. Writing is one task per connection that sends
everything that queued up while its last write was under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import msgspec

from ankka.protocol.frames import Frame, Hello
from ankka.protocol.wire import Outbox, decode_to_sidecar
from ankka_sidecar.ports.processes import SessionHost

log = logging.getLogger("ankka.sidecar.processes")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HELLO_WITHIN = 10.0
"""Seconds a peer has to say hello."""
GOING_AWAY = 1001


class SocketLink:
    """The writing side of one connection; see `ports.processes.Link`."""

    def __init__(self, limit: int) -> None:
        self._outbox = Outbox(limit)
        self._wake = asyncio.Event()
        self._closing: str | None = None
        self._dead = False

    def send(self, frame: Frame) -> None:
        """See `ports.processes.Link`."""
        if self._dead or self._closing is not None:
            return
        self._outbox.put(frame)
        self._wake.set()

    def close(self, reason: str) -> None:
        """See `ports.processes.Link`."""
        if self._closing is None:
            self._closing = reason
            self._wake.set()

    @property
    def is_closing(self) -> bool:
        """It was told to close; what is queued is still written."""
        return self._closing is not None

    async def write(self, send: Send) -> None:
        """Write what is queued until the link is closed."""
        take = self._outbox.take
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (message := take()) is not None:
                await send({"type": "websocket.send", "bytes": message})
            if self._closing is not None:
                await send({"type": "websocket.close", "code": GOING_AWAY, "reason": self._closing[:120]})
                return

    def died(self) -> None:
        """The connection is gone: what is queued is dropped."""
        self._dead = True


class SessionServer:
    """The ASGI application of the session's path."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection to its end."""
        await receive()  # websocket.connect
        await send({"type": "websocket.accept"})
        link = SocketLink(self._host.message_limit)
        writer = asyncio.get_running_loop().create_task(self._write(link, send), name="ankka session writer")
        try:
            await self._read(link, receive)
            if link.is_closing:
                await writer
        finally:
            link.died()
            writer.cancel()
            with suppress(asyncio.CancelledError):
                await writer

    async def _write(self, link: SocketLink, send: Send) -> None:
        try:
            await link.write(send)
        except OSError as error:  # uvicorn's ClientDisconnected is one: the reader sees the end as well
            log.debug("a session's connection broke while it was written: %s", error)
        finally:
            link.died()

    async def _read(self, link: SocketLink, receive: Receive) -> None:
        try:
            async with asyncio.timeout(HELLO_WITHIN):
                first = await self._next(receive)
        except TimeoutError:
            link.close("no hello")
            return
        if not first or not first[0]:
            return
        (hello, *rest), size = first
        if not isinstance(hello, Hello):
            log.warning("a peer's first frame is %s, not a hello", type(hello).__name__)
            link.close("the first frame must be a hello")
            return
        session = self._host.open(hello, link)
        if session is None:
            return
        try:
            if rest:
                session.received(rest, size)
            while (message := await self._next(receive)) is not None:
                session.received(*message)
        finally:
            link.died()
            session.closed()

    async def _next(self, receive: Receive) -> tuple[list[Frame], int] | None:
        """The next message's frames and its size; `None` at the end of the connection."""
        message = await receive()
        if message["type"] != "websocket.receive":
            return None
        data = message.get("bytes")
        if data is None:
            log.warning("a peer sent a text message; sessions are binary")
            return None
        try:
            return decode_to_sidecar(data), len(data)  # type: ignore[return-value]  # a list of a union of frames
        except msgspec.MsgspecError as error:
            log.warning("a peer sent a message that is not frames: %s", error)
            return None
