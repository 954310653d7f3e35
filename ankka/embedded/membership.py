"""This process's part in the folder's sidecar: join or start it, heal it, and stop it when this was the last process.

Under the start lock: read sidecar.json; if /healthz answers with that incarnation, join; else start one and wait until
it has written the file. Whoever finds it dead takes the lock first and starts it again, on the old port if that is free.
"""

import asyncio
import logging
import os
import signal

from ankka.embedded.folder import Folder, SidecarFile
from ankka.embedded.health import Health, Unanswered, health_of
from ankka.embedded.program import SidecarNotStarted, SidecarProgram, first_choice
from ankka.embedded.start_lock import start_lock
from ankka.process.address import Address
from ankka.protocol.process_identity import pid_started

logger: logging.Logger = logging.getLogger("ankka")

GOODBYE_SEEN_WITHIN = 0.5
"""Seconds for the sidecar to notice that this process has left; after that, others are still attached."""
STOPPED_WITHIN = 40.0
POLL = 0.02


class FolderSidecar:
    """The sidecar of a folder, as one of its processes sees it."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._program: SidecarProgram | None = None
        self._known: SidecarFile | None = None
        self._fresh = False

    @property
    def url(self) -> str | None:
        """Where it was last found."""
        return self._known.url if self._known is not None else None

    async def join(self) -> None:
        """Find or start it now; `SidecarNotStarted` or `FolderUnusable` say why that failed."""
        await self.locate()
        self._fresh = True

    async def locate(self) -> Address:
        """Where it is; started, if it is not running. `SidecarNotStarted` if that fails, `OSError` if it hangs."""
        if self._fresh and self._known is not None:
            self._fresh = False
            return Address.parse(self._known.url)
        self.folder.make()
        async with start_lock(self.folder.lock):
            running = await self._running()
            if running is None:
                removed = self._known is not None and not self.folder.journal.exists()
                running = await self._start()
                if removed:
                    logger.error("%s; a new sidecar with an empty journal was started at %s", self._removed(), running.url)
                elif self._known is not None:
                    logger.warning("the sidecar of %s had ended (see %s); it was started again at %s", self.folder.path, self.folder.log, running.url)
        self._known = running
        return Address.parse(running.url)

    async def leave(self) -> None:
        """Stop it and wait until it has ended, if no process is attached any more. The session must be closed before."""
        if self._known is None:
            return
        if not self.folder.path.exists():
            logger.error("%s; its sidecar (pid %d) ends by itself", self._removed(), self._known.pid)
            if self._program is not None:
                self._program.forget()
            return
        async with start_lock(self.folder.lock):
            running = self.folder.read_sidecar_file()
            if running is not None and await self._is_deserted(running):
                await self._stop(running)
        if self._program is not None:
            self._program.forget()

    def _removed(self) -> str:
        return f"{self.folder.journal} was deleted while this process ran: what was in it is lost"

    async def _running(self) -> SidecarFile | None:
        """The sidecar that answers, or `None` if a new one may be started."""
        if self._program is not None and self._program.ended:
            self._program = None
        written = self.folder.read_sidecar_file()
        if written is None:
            return None
        match await health_of(written.url):
            case Health(incarnation=incarnation) if incarnation == written.incarnation:
                return written
            case Unanswered(listening=True) if pid_started(written.pid) is not None:
                raise SidecarNotStarted(
                    f"the sidecar of {self.folder.path} (pid {written.pid}, {written.url}) runs but does not answer; "
                    f"if it stays so, end it: kill -9 {written.pid}"
                )
            case _:
                return None

    async def _start(self) -> SidecarFile:
        http = first_choice() if self._known is None else self._known.url.partition("://")[2]
        program = SidecarProgram.start(self.folder, http)
        started = await program.ready()
        self._program = program
        return started

    async def _is_deserted(self, running: SidecarFile) -> bool:
        deadline = asyncio.get_running_loop().time() + GOODBYE_SEEN_WITHIN
        while True:
            health = await health_of(running.url)
            if isinstance(health, Unanswered) or health.incarnation != running.incarnation:
                return False
            if health.processes == 0:
                return True
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(POLL)

    async def _stop(self, running: SidecarFile) -> None:
        try:
            os.kill(running.pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        program = self._program if self._program is not None and self._program.pid == running.pid else None
        deadline = asyncio.get_running_loop().time() + STOPPED_WITHIN
        while asyncio.get_running_loop().time() < deadline:
            if program.ended if program is not None else pid_started(running.pid) is None:
                return
            await asyncio.sleep(POLL)
