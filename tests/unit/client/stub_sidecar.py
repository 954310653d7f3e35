"""A sidecar's end of a session, scripted by a test: a real WebSocket server, no engine behind it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from ankka.protocol.frames import Frame, Hello, Rejected, Welcome
from ankka.protocol.wire import Outbox, decode_to_sidecar

F = TypeVar("F", bound=Frame)
WELCOME = Welcome(incarnation="i1", max_payload=4 * 1024 * 1024, cancel_grace=5_000_000, calls=100, message_limit=8 * 1024 * 1024 + 65_536)


class StubSession:
    """One connection of a process: its hello, and what it sent since."""

    def __init__(self, socket: ServerConnection, hello: Hello) -> None:
        self.socket = socket
        self.hello = hello
        self.received: asyncio.Queue[Any] = asyncio.Queue()
        self.messages = 0

    async def send(self, *frames: Frame) -> None:
        await self.socket.send(encoded(*frames))

    async def expect(self, kind: type[F]) -> F:
        """The next frame, which must be a `kind`."""
        async with asyncio.timeout(5):
            frame = await self.received.get()
        assert isinstance(frame, kind), f"expected {kind.__name__}, got {frame}"
        return frame

    def drop(self) -> None:
        """Cut the connection, without a goodbye."""
        self.socket.transport.abort()


class StubSidecar:
    """Takes sessions with `welcome` (or rejects them) and hands them to the test."""

    def __init__(self, answers: list[Welcome | Rejected]) -> None:
        self._answers = answers
        self._sessions: asyncio.Queue[StubSession] = asyncio.Queue()
        self.hellos: list[Hello] = []
        self.server: Server | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        host, port = next(iter(self.server.sockets)).getsockname()[:2]
        return f"http://{host}:{port}"

    async def session(self) -> StubSession:
        """The next session that is open."""
        async with asyncio.timeout(5):
            return await self._sessions.get()

    async def serve(self, socket: ServerConnection) -> None:
        hello, *rest = decode_to_sidecar(await socket.recv(decode=False))
        assert isinstance(hello, Hello)
        assert not rest
        self.hellos.append(hello)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        await socket.send(encoded(answer))
        if isinstance(answer, Rejected):
            return
        session = StubSession(socket, hello)
        self._sessions.put_nowait(session)
        try:
            while True:
                message = await socket.recv(decode=False)
                session.messages += 1
                for frame in decode_to_sidecar(message):
                    session.received.put_nowait(frame)
        except ConnectionClosed:
            return


def encoded(*frames: Frame) -> bytes:
    outbox = Outbox(64 * 1024 * 1024)
    for frame in frames:
        outbox.put(frame)
    message = outbox.take()
    assert message is not None
    return message


@asynccontextmanager
async def stub_sidecar(*answers: Welcome | Rejected, port: int = 0) -> AsyncGenerator[StubSidecar]:
    """A stub on a free port; it answers hellos with `answers` in turn, the last one again and again."""
    stub = StubSidecar(list(answers) or [WELCOME])
    async with serve(stub.serve, "127.0.0.1", port, compression=None, ping_interval=None, max_size=None) as server:
        stub.server = server
        yield stub
