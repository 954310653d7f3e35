"""The one place that knows every part: chooses the adapters, wires them, starts and stops them in order."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import msgspec

from ankka_sidecar.adapters.clock import SystemClock
from ankka_sidecar.adapters.faults import faults_from
from ankka_sidecar.adapters.journal import urls
from ankka_sidecar.adapters.journal.memory import MemoryJournal
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.adapters.leases.memory import MemoryLeases
from ankka_sidecar.adapters.liveness import HostLiveness
from ankka_sidecar.adapters.session.server import SessionServer
from ankka_sidecar.config import Config
from ankka_sidecar.console.serving import console
from ankka_sidecar.http.app import App
from ankka_sidecar.journal_file import JournalFile, JournalRemoved
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import Journal
from ankka_sidecar.ports.leases import Leases
from ankka_sidecar.runtime.attachments import Attachments
from ankka_sidecar.runtime.node import Node
from ankka_sidecar.runtime.recovery import Recovery
from ankka_sidecar.runtime.retention import Retention
from ankka_sidecar.runtime.shutdown import drain
from ankka_sidecar.runtime.watch import Watch
from ankka_sidecar.server import Server, bind, check_loopback, make_server, remove_socket, url_of

log = logging.getLogger("ankka.sidecar")

DEFAULT_SHARDS = 256
EMBEDDED_LEAVES_AFTER = 5_000_000
"""µs after which an embedded sidecar leaves when its last process is gone."""


class Sidecar:
    """A running sidecar; `run` makes one and serves until `stop` is called."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """Drain, then end; from a signal handler too."""
        self._stop.set()

    async def run(self) -> None:
        """Serve until stopped. What cannot start raises before anything listens."""
        config = self.config
        check_loopback(config.host, config.port)  # before a journal is made
        faults = faults_from(config.faults)
        journal, leases, shards = await _open_journal(config, faults)
        listener: socket.socket | None = None
        try:
            listener = bind(config.host, config.port, fallback=config.port_fallback)
            settings = msgspec.structs.replace(config.settings, shards=shards)
            await self._serve(Node(journal, SystemClock(), faults, settings), leases, listener)
        finally:
            if listener is not None:
                listener.close()
                remove_socket(config.host)
            await journal.close()

    async def _serve(self, node: Node, leases: Leases, listener: socket.socket) -> None:
        ownership = await leases.take()
        node.own(ownership.epochs)
        liveness = HostLiveness()
        attachments = Attachments(node, leases, liveness, ownership.incarnation)
        recovery = Recovery(node, attachments, liveness, ownership.processes)
        node.on_loaded = recovery.look_at
        watch = Watch(node, attachments, idle=self._leave_when_alone(attachments, node) if self.config.embedded else None)
        server = make_server(App(node, attachments, SessionServer(attachments), console, ownership.incarnation), attachments.message_limit)
        node.writer.start()
        parts = [recovery.run(), watch.run(), Retention(node).run(), node.writer.ended(), node.loader.run(), node.finder.run()]
        if isinstance(opened := urls.parse(self.config.journal), urls.SqliteUrl):
            parts.append(JournalFile(opened.path).watch())
        work = [self._watched(part) for part in parts]
        serving = asyncio.get_running_loop().create_task(server.serve([listener]))
        url = url_of(listener)
        try:
            await _started(server, serving)
            await asyncio.to_thread(self._announce, node.journal, url, ownership.incarnation)
            log.info("listening at %s, journal %s", url, self.config.journal)
            gc.freeze()
            await self._stop.wait()
            if self._failure is None:
                await drain(node, attachments)
            else:
                node.stopping = True  # what broke may be what a drain would wait for
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await attachments.close()
            node.tell_callers()  # who waits over HTTP would hold the server up
            server.should_exit = True
            await serving
            await node.stop()
            await leases.release()
            self._retract()
        if self._failure is not None:
            raise self._failure

    def _watched(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A background part: if it breaks, the sidecar stops, for a node without it would hang silently."""
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None:
                self._failure = task.exception()
                if isinstance(self._failure, JournalRemoved):
                    log.critical("%s", self._failure)
                else:
                    log.critical("a part of the sidecar broke, it stops", exc_info=self._failure)
                self.stop()

        task.add_done_callback(ended)
        return task

    # --- the embedded folder -----------------------------------------------------------------------------------------

    def _leave_when_alone(self, attachments: Attachments, node: Node) -> Callable[[int], None]:
        started = node.clock.now()

        def look(now: int) -> None:
            if attachments.count == 0 and now - (attachments.left_at or started) >= EMBEDDED_LEAVES_AFTER:
                log.info("the last process has gone: this sidecar leaves")
                self.stop()

        return look

    def _announce(self, journal: Journal, url: str, incarnation: str) -> None:
        if isinstance(journal, SqliteJournal):
            journal.tell_address(url)
        path = self.config.embedded
        if path is None:
            return
        document = {
            "http": url,
            "pid": os.getpid(),
            "incarnation": incarnation,
            "version": version("ankka-engine"),
            "journal": self.config.journal,
            "startedAt": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file)
        fresh.replace(path)

    def _retract(self) -> None:
        path = self.config.embedded
        if path is None:
            return
        # After the folder was deleted another sidecar may have begun there anew: the file is then its, and stays.
        with suppress(FileNotFoundError, NotADirectoryError):
            if json.loads(path.read_bytes()).get("pid") == os.getpid():
                path.unlink()


async def _started(server: Server, serving: asyncio.Task[None]) -> None:
    while not server.started:
        if serving.done():
            await serving
            raise RuntimeError("the HTTP server ended before it had started")
        await asyncio.sleep(0.005)


async def _open_journal(config: Config, faults: Faults) -> tuple[Journal, Leases, int]:
    url = urls.parse(config.journal)
    shards = config.shards
    if isinstance(url, urls.MemoryUrl):
        memory = MemoryJournal(shards=shards or DEFAULT_SHARDS, faults=faults)
        return memory, MemoryLeases(memory), memory.shards
    journal = await SqliteJournal.open(url.path, shards=shards, faults=faults)
    return journal, journal.leases(version("ankka-engine")), journal.shards
