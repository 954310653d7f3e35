"""The session of a component client outside any handler: it declares no components and takes no work."""

import asyncio
import time

from ankka.process.address import Address
from ankka.process.calls import check_loop
from ankka.process.connection import Connection, SessionRejected
from ankka.process.session import Session
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import Payload
from ankka.protocol.process_identity import this_process
from ankka.version import SDK

CLOSE_WITHIN = 2.0


class ClientSession:
    """A session for calls, open between `open` and `close`."""

    def __init__(self, url: str, token: str | None) -> None:
        self._address = Address.parse(url)
        self._token = token
        self._open: tuple[asyncio.AbstractEventLoop, Session, Connection, asyncio.Task[None]] | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop it was opened on."""
        return self._opened()[0]

    async def open(self) -> None:
        """Begin to connect; calls wait until there is a session."""
        if self._open is not None:
            raise RuntimeError("the client is open already; make another ComponentClient for another `async with`")
        session = Session(this_process(), time.monotonic, sdk=SDK)
        connection = Connection(session, self._locate, token=self._token)
        keeper = asyncio.create_task(_keep(connection), name="ankka-client-session")
        self._open = (asyncio.get_running_loop(), session, connection, keeper)

    async def close(self) -> None:
        """Close the session; calls still under way fail."""
        _, session, connection, keeper = self._opened()
        self._open = None
        connection.close()
        if not connection.opened.is_set():
            keeper.cancel()
        await asyncio.wait([keeper], timeout=CLOSE_WITHIN)
        keeper.cancel()
        session.calls.close(Error(ErrorCode.UNAVAILABLE, f"the client of {self._address.url} was closed"))

    def hurry(self) -> None:
        """Connect at once, if it is waiting to try again."""
        self._opened()[2].hurry()

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Make a call; see `CallTable.ask`."""
        loop, session, _, _ = self._opened()
        check_loop(loop)
        return await session.calls.ask(call, repeatable=repeatable)

    async def _locate(self) -> Address:
        return self._address

    def _opened(self) -> tuple[asyncio.AbstractEventLoop, Session, Connection, "asyncio.Task[None]"]:
        if self._open is None:
            raise RuntimeError("the client is not open; write `async with ComponentClient(…) as client:` and call within it")
        return self._open


async def _keep(connection: Connection) -> None:
    try:
        await connection.run()
    except SessionRejected:
        return  # every call says so
