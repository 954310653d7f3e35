"""Keeps a session with the sidecar: dials, greets, reads, writes, pings, and comes back when the connection is lost.

    run():  locate ─► dial ─► Hello / Welcome ─► read until lost ─► (at once, then with jitter) locate ─► …

One reader, one writer. The writer sends everything that queued up while its last write was under way as one message.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from ankka.process.address import Address
from ankka.process.session import Session
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Frame, Rejected, Welcome
from ankka.protocol.wire import Outbox, decode_to_process

logger: logging.Logger = logging.getLogger("ankka")

FIRST_DELAY = 0.05
LONGEST_DELAY = 1.0
SETTLED = 1.0
"""Seconds after which a session counts as having worked: the next reconnect is at once again."""
OPEN_TIMEOUT = 10.0
CLOSE_TIMEOUT = 1.0
PING_INTERVAL = 5.0
SILENT_PINGS = 6
"""Pings in a row without any frame coming in, after which the connection is given up: 30 s."""
UNWELCOME = (401, 403)
"""HTTP statuses that say the token or the origin will not do: trying again would not help."""
GREETING_LIMIT = 64 * 1024 * 1024


class SessionRejected(Exception):
    """The sidecar does not take this process or client, and will not later; `.problems` says why, all together."""

    def __init__(self, url: str, problems: tuple[str, ...]) -> None:
        self.problems = problems
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"the sidecar at {url} refused this process:{lines}")


class _TryLater(Exception):
    """Rejected for now; `after` in seconds."""

    def __init__(self, problems: tuple[str, ...], after: float) -> None:
        super().__init__("; ".join(problems))
        self.after = after


def reconnect_delay(failures: int) -> float:
    """Seconds to wait after `failures` in a row: none at first, then full jitter, so that many do not come as one."""
    if failures == 0:
        return 0.0
    return random.uniform(0.0, min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(failures - 1, 16)))


class Connection:
    """One session at a time, for as long as `run` runs; `locate` says before every attempt where the sidecar is."""

    def __init__(self, session: Session, locate: Callable[[], Awaitable[Address]], *, token: str | None = None) -> None:
        self._session = session
        self._locate = locate
        self._token = token
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._roused = asyncio.Event()
        self._said: str | None = None
        self._sessions = 0
        self.opened: asyncio.Event = asyncio.Event()
        """Set while a session is open."""
        self.address: Address | None = None
        """Where the sidecar was last looked for."""
        self.on_opened: Callable[[], None] | None = None
        self.on_lost: Callable[[], None] | None = None

    async def run(self) -> None:
        """Keep a session until `close`; `SessionRejected` if the sidecar refuses it for good."""
        failures = 0
        try:
            while not self._stop.is_set():
                opened_at = asyncio.get_running_loop().time()
                try:
                    await self._one_session()
                    lasted = asyncio.get_running_loop().time() - opened_at
                    failures = 0 if lasted >= SETTLED else failures + 1
                except _TryLater as later:
                    self._say(f"the sidecar at {self._url} does not take this process yet: {later}")
                    await self._pause(later.after)
                    continue
                except (OSError, WebSocketException, msgspec.MsgspecError) as error:
                    if isinstance(error, InvalidStatus) and error.response.status_code in UNWELCOME:
                        raise SessionRejected(self._url, (_in_words(error),)) from None
                    failures += 1
                    self._say(f"no sidecar answers at {self._url} ({_in_words(error)}); still trying")
                await self._pause(reconnect_delay(failures))
        except SessionRejected as rejected:
            self._session.calls.close(Error(ErrorCode.UNAVAILABLE, str(rejected)))
            raise
        finally:
            self._session.lost("this process or client is closed")

    def close(self) -> None:
        """Let `run` write what is queued, say goodbye and return."""
        self._stop.set()
        self._roused.set()
        self._wake.set()

    def hurry(self) -> None:
        """There is a sidecar now, for certain: connect at once instead of after the pause between two attempts."""
        self._roused.set()

    # --- one session ---------------------------------------------------------------------------------------------

    async def _one_session(self) -> None:
        """Dial and keep one session until it is lost; raises only if it did not come to one."""
        self.address = await self._locate()
        async with self._dial(self.address) as socket:
            rest = await self._greet(socket, self.address)
            writer = asyncio.create_task(self._write(socket), name="ankka-session-writer")
            pinger = asyncio.create_task(self._ping(socket), name="ankka-session-pinger")
            lost = "the connection to the sidecar was lost"
            try:
                self._session.receive(rest)
                while True:
                    self._session.receive(decode_to_process(await socket.recv(decode=False)))
            except ConnectionClosed as closed:
                lost = f"the connection to the sidecar at {self._url} was lost ({_in_words(closed)})"
            finally:
                writer.cancel()
                pinger.cancel()
                self.opened.clear()
                self._session.lost(lost)
                if self.on_lost is not None and not self._stop.is_set():
                    self.on_lost()

    def _dial(self, address: Address) -> connect:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token is not None else {}
        options: dict[str, Any] = {
            "compression": None,
            "ping_interval": None,
            "max_size": None,  # neither is limited: the sidecar keeps the limits, and reading never stops (credit bounds it)
            "max_queue": None,
            "open_timeout": OPEN_TIMEOUT,
            "close_timeout": CLOSE_TIMEOUT,
            "additional_headers": headers,
        }
        if address.unix_path is not None:
            return unix_connect(address.unix_path, address.session_url, **options)
        return connect(address.session_url, proxy=None, **options)

    async def _greet(self, socket: ClientConnection, address: Address) -> list[Frame]:
        """Say hello; open the session on a welcome and return the frames that came with it."""
        greeting = Outbox(GREETING_LIMIT)
        greeting.put(self._session.hello())
        message = greeting.take()
        assert message is not None
        await socket.send(message)
        async with asyncio.timeout(OPEN_TIMEOUT):
            first, *rest = decode_to_process(await socket.recv(decode=False))
        match first:
            case Welcome():
                self._session.opened(first, self._wake.set)
                self.opened.set()
                if self._said is not None and self._sessions:
                    logger.warning("connected again to the sidecar at %s", address.url)
                self._said = None
                self._sessions += 1
                if self.on_opened is not None:
                    self.on_opened()
                return list(rest)
            case Rejected(problems, None):
                raise SessionRejected(address.url, problems)
            case Rejected(problems, after):
                raise _TryLater(problems, (after or 0) / 1_000_000)
            case _:
                raise OSError(f"it answered the hello with a {type(first).__name__}")

    async def _write(self, socket: ClientConnection) -> None:
        session, wake = self._session, self._wake
        try:
            while True:
                message = session.take()
                if message is not None:
                    await socket.send(message)
                elif self._stop.is_set():
                    await socket.close()
                    return
                else:
                    wake.clear()
                    await wake.wait()
        except ConnectionClosed:
            return  # the reader learns it too, and says so

    async def _ping(self, socket: ClientConnection) -> None:
        # Counted in ticks of this loop, not in time: after a suspended machine nothing is closed that still works.
        silent, heard_at = 0, self._session.heard_at
        while True:
            await asyncio.sleep(PING_INTERVAL)
            silent = silent + 1 if heard_at == self._session.heard_at else 0
            heard_at = self._session.heard_at
            if silent >= SILENT_PINGS:
                logger.warning("the sidecar at %s has not answered for %.0f s; connecting again", self._url, silent * PING_INTERVAL)
                socket.transport.abort()
                return
            self._session.ping()

    # --- between sessions ----------------------------------------------------------------------------------------

    @property
    def _url(self) -> str:
        return self.address.url if self.address is not None else "its address"

    async def _pause(self, seconds: float) -> None:
        if seconds <= 0 or self._stop.is_set():
            return
        try:
            async with asyncio.timeout(seconds):
                await self._roused.wait()
        except TimeoutError:
            return
        self._roused.clear()

    def _say(self, message: str) -> None:
        """Tell the user once per outage what is wrong, not once per attempt."""
        self._session.lost(message)
        if self._said is None:
            self._said = message
            logger.warning("%s", message)


def _in_words(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        body = error.response.body.decode("utf-8", "replace").strip()[:200] if error.response.body else ""
        return f"HTTP {error.response.status_code}{': ' + body if body else ''}"
    return str(error) or type(error).__name__
