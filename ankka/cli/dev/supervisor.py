"""The loop of `ankka dev`: start the process, wait for a save or its end, stop it, start it again.

    starting ──attached──► running ──saved──► draining ──ended──► starting
        │                     │
        └──ended (an import error, a refusal, a crash)──► waiting ──saved──► starting

The sidecar stays throughout. Ctrl-C and SIGTERM drain the process and end with 0; a second Ctrl-C ends at once with 130.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from ankka.cli.dev.keeping import kept_sidecar
from ankka.cli.dev.modules import Target, check_exists
from ankka.cli.dev.process import DevProcess
from ankka.cli.dev.serve import NO_SERVICE
from ankka.cli.dev.watching import Watching
from ankka.cli.failure import CommandFailed
from ankka.cli.shown import say, shown
from ankka.embedded.folder import Folder, FolderUnusable
from ankka.embedded.program import SidecarNotStarted
from ankka.process.address import Address
from ankka.process.settings import drain_time

INTERRUPTED = 130
BAD_USAGE = 2


def develop(module: str, sidecar: str | None) -> int:
    """Run a module or its service until a signal; the exit code."""
    target = Target.parse(module)
    folder = Path.cwd()
    check_exists(target, folder)
    address = sidecar or os.environ.get("ANKKA_SIDECAR", "").strip()
    if address:
        try:
            Address.parse(address)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--sidecar" if sidecar else "ANKKA_SIDECAR") from None
    try:
        drain_time()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="ANKKA_DRAIN") from None
    supervisor = Supervisor(target, folder, address)
    try:
        return asyncio.run(_until_signalled(supervisor.run(), supervisor.kill))
    except (SidecarNotStarted, FolderUnusable) as error:
        raise CommandFailed(f"ankka: {error}") from None


class Supervisor:
    """Runs one target in one folder."""

    def __init__(self, target: Target, folder: Path, address: str) -> None:
        self._target = target
        self._folder = folder
        self._address = address
        self._process: DevProcess | None = None
        self._was_ready = False

    async def run(self) -> int:
        """Run until cancelled; returns only if there is nothing to run, with the exit code."""
        async with AsyncExitStack() as stack:
            if not self._address:
                await stack.enter_async_context(kept_sidecar(Folder.of(self._folder)))
            watching = await stack.enter_async_context(Watching(self._folder))
            saved: list[str] = []
            try:
                while True:
                    environment = {"ANKKA_SIDECAR": self._address} if self._address else {}
                    self._process = await DevProcess.start(self._target.command(), environment)
                    if not await self._one_process(self._process, watching, saved):
                        return BAD_USAGE
                    saved = watching.take()
                    await self._process.stop()
                    while watching.changed().done():  # saved while it drained
                        saved = sorted({*saved, *watching.take()})
            finally:
                if self._process is not None:
                    await self._process.stop()

    async def _one_process(self, process: DevProcess, watching: Watching, saved: list[str]) -> bool:
        """Wait until files are saved; false if the process ended and a save would not change why."""
        changed = watching.changed()
        first: set[asyncio.Future[Any]] = {process.ready, process.ended, changed}
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if process.ready.done() and process.ready.result():
            self._was_ready = True
            if saved:
                print(f"reloaded ({', '.join(shown(name) for name in saved)})", flush=True)
        await asyncio.wait(first - {process.ready}, return_when=asyncio.FIRST_COMPLETED)
        if not changed.done():
            if process.exit_code == NO_SERVICE and self._target.service is not None and not saved:
                return False
            say(f"{_ending(process.exit_code)}; waiting for the next save")
            await asyncio.wait({changed})
        return True

    def kill(self) -> None:
        """End the process at once; from a signal handler."""
        if self._process is not None:
            self._process.kill()


def _ending(code: int) -> str:
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


async def _until_signalled(work: Coroutine[Any, Any, int], kill: Callable[[], None]) -> int:
    stop = asyncio.Event()
    _on_signals(asyncio.get_running_loop(), stop, kill)
    stopped = asyncio.create_task(stop.wait())
    working = asyncio.create_task(work)
    await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        stopped.cancel()
        return working.result()
    working.cancel()
    try:
        return await working
    except asyncio.CancelledError:
        return 0


def _on_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, kill: Callable[[], None]) -> None:
    """Ctrl-C, SIGTERM and a closed terminal set `stop`; a second Ctrl-C ends everything at once."""
    interrupts = 0

    def stop_it(number: int, frame: FrameType | None) -> None:
        nonlocal interrupts
        del frame
        interrupts += number == signal.SIGINT
        if interrupts > 1:
            kill()
            os._exit(INTERRUPTED)
        loop.call_soon_threadsafe(stop.set)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, stop_it)
