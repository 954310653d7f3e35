"""Runs a service: its lifespan, its sidecar, its session; in the foreground with signals, or inside a running loop."""

import asyncio
import importlib
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from datetime import timedelta
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from ankka.embedded.folder import Folder, FolderUnusable
from ankka.embedded.membership import FolderSidecar
from ankka.embedded.program import SidecarNotStarted
from ankka.process.address import Address
from ankka.process.connection import SessionRejected
from ankka.process.daemon_threads import DaemonExecutor
from ankka.process.hosting import CLOSE_WITHIN, Hosting
from ankka.process.leaving import leave_behind, stubborn_tasks
from ankka.process.lifespan import Lifespan, enter_lifespan
from ankka.process.overdue import ThreadsExhausted
from ankka.process.readiness import tell_ready
from ankka.process.registry import Hosted
from ankka.process.settings import BadSetting, drain_time

if TYPE_CHECKING:
    from ankka.client import ComponentClient

logger: logging.Logger = logging.getLogger("ankka")

INTERRUPTED = 130
"""The exit code after a second Ctrl-C, as shells have it."""


class BadAddress(ValueError):
    """`ANKKA_SIDECAR`, or the address that was given instead, is no address of a sidecar."""


class RunningService:
    """A service between `open` and `close`; also `async with`. Its `client` calls through the process's session."""

    def __init__(
        self,
        components: Mapping[str, Hosted],
        lifespan: Lifespan | None,
        steps: int,
        sync_steps: int,
        drain: timedelta | None,
        address: str | None = None,
    ) -> None:
        self._components = components
        self._address = address
        self._lifespan = lifespan
        self._steps, self._sync_steps = steps, sync_steps
        self._drain = drain_time() if drain is None else drain.total_seconds()
        self._stack = AsyncExitStack()
        self._sidecar: FolderSidecar | None = None
        self._hosting: Hosting | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @property
    def client(self) -> "ComponentClient":
        """A component client on the process's own session."""
        from ankka.calls.caller import Origin
        from ankka.client import ComponentClient

        if self._hosting is None:
            raise RuntimeError("the service is not open; use its client within `async with service.running() as running:`")
        return ComponentClient.inside(self._hosting, Origin())

    @property
    def line(self) -> str:
        """Where it is, in one line."""
        assert self._hosting is not None
        address = self._hosting.connection.address
        where = address.url if address is not None else "?"
        journal = f"  journal ./{folder.path.name}/{folder.journal.name}" if (folder := self._folder) is not None else ""
        return f"ankka  {where}  console /console/{journal}  components {', '.join(self._components)}"

    @property
    def _folder(self) -> Folder | None:
        return self._sidecar.folder if self._sidecar is not None else None

    @property
    def running_steps(self) -> int:
        """How many step attempts run here now."""
        return 0 if self._hosting is None else sum(1 for _ in self._hosting.session.attempts.running())

    @property
    def failure(self) -> BaseException | None:
        """What ended its session for good, if anything did: `SessionRejected`, `ThreadsExhausted`."""
        keeper = self._keeper
        return keeper.exception() if keeper is not None and keeper.done() and not keeper.cancelled() else None

    async def open(self) -> None:
        """Enter the lifespan, find or start the sidecar, begin to connect."""
        try:
            resources = await enter_lifespan(self._stack, self._lifespan)
            locate = await self._locator()
            self._hosting = Hosting(self._components, locate, resources=resources, steps=self._steps, threads=self._sync_steps, drain=self._drain)
            self._keeper = asyncio.create_task(self._hosting.run(), name="ankka-session")
        except BaseException:
            await self.close()
            raise

    def hurry(self) -> None:
        """Connect at once, if it is waiting to try again."""
        if self._hosting is not None:
            self._hosting.connection.hurry()

    async def attached(self) -> None:
        """Wait until the sidecar has taken this process; `SessionRejected` if it refuses."""
        assert self._hosting is not None
        assert self._keeper is not None
        opened = asyncio.create_task(self._hosting.connection.opened.wait())
        try:
            await asyncio.wait({opened, self._keeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
        if self._keeper.done():
            await self._keeper

    async def wait(self) -> None:
        """Wait until the session is closed for good.

        `SessionRejected` if the sidecar refuses this process, `ThreadsExhausted` if replaced steps hold half its threads.
        """
        assert self._keeper is not None
        await self.attached()
        tell_ready()
        await asyncio.shield(self._keeper)

    async def close(self) -> None:
        """Drain, close the session, stop the folder's sidecar if this was its last process, leave the lifespan."""
        try:
            if self._hosting is not None and self._keeper is not None and not self._keeper.done():
                await self._hosting.drain(self._drain)
                await asyncio.wait([self._keeper], timeout=CLOSE_WITHIN)
        finally:
            if self._keeper is not None:
                self._keeper.cancel()
            try:
                if self._sidecar is not None:
                    await self._sidecar.leave()
            finally:
                await self._stack.aclose()

    async def _locator(self) -> "Callable[[], Any]":
        url = self._address if self._address is not None else os.environ.get("ANKKA_SIDECAR", "").strip()
        if url or self._address is not None:
            try:
                address = Address.parse(url)
            except ValueError as error:
                raise BadAddress(f"{'ANKKA_SIDECAR' if self._address is None else 'sidecar'}: {error}") from None

            async def fixed() -> Address:
                return address

            return fixed
        sidecar = FolderSidecar(Folder.of(Path.cwd()))
        await sidecar.join()
        self._sidecar = sidecar
        return sidecar.locate


def run_in_foreground(make: Callable[[], RunningService]) -> None:
    """Run until a signal, drain, return; exit code 1 if there is no running it (any more), 130 on a second Ctrl-C."""
    try:
        running = make()
    except BadSetting as error:
        sys.stderr.write(f"ankka: {error}\n")
        raise SystemExit(1) from None
    failed = False
    factory = importlib.import_module("uvloop").new_event_loop if importlib.util.find_spec("uvloop") is not None else None
    with ExitStack() as until_closed, asyncio.Runner(loop_factory=factory) as runner:
        loop = runner.get_loop()
        loop.set_default_executor(DaemonExecutor())
        stop = asyncio.Event()
        until_closed.callback(_on_signals(loop, stop))  # a second Ctrl-C counts while the loop closes, too
        try:
            runner.run(_until_signalled(running, stop))
        except (SessionRejected, SidecarNotStarted, FolderUnusable, BadAddress, ThreadsExhausted) as error:
            sys.stderr.write(f"ankka: {error}\n")
            failed = True
        if left := runner.run(stubborn_tasks()):
            leave_behind(left, int(failed))
    if failed:
        raise SystemExit(1)


async def _until_signalled(running: RunningService, stop: asyncio.Event) -> None:
    stopped = asyncio.create_task(stop.wait())
    try:
        work = asyncio.create_task(_run(running))
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            if count := running.running_steps:
                steps = "1 running step has" if count == 1 else f"{count} running steps have"
                _say(f"ankka  stopping when {steps} ended; Ctrl-C ends the process at once")
            work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            return
    finally:
        stopped.cancel()


async def _run(running: RunningService) -> None:
    async with running:
        await running.attached()
        _say(running.line)
        await running.wait()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _on_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Callable[[], None]:
    """Ctrl-C and SIGTERM set `stop`; a Ctrl-C after that ends the process at once. Returns what undoes it."""
    # Python's own handlers, not the loop's: a second Ctrl-C must work also while a handler blocks the loop.
    stopping = False

    def stop_it(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        del frame
        if number == signal.SIGINT and (stopping or loop.is_closed()):
            os._exit(INTERRUPTED)
        stopping = True
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, stop_it) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore
