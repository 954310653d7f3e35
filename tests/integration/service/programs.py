"""Starts service programs in a folder of their own, reads what they print, and leaves nothing running."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from ankka.embedded.folder import Folder, SidecarFile
from ankka.embedded.health import Health, health_of
from ankka.protocol.process_identity import pid_started

WITHIN = 30


class Program:
    """A running service program; `line` is what it said when it was attached."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.line = ""

    @property
    def url(self) -> str:
        return self.line.split()[1]

    async def says(self, beginning: str) -> str:
        """The next line of its output, which must begin so."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WITHIN):
            line = (await self.process.stdout.readline()).decode().rstrip("\n")
        assert line.startswith(beginning), f"expected {beginning!r}, got {line!r}; stderr: {await self.errors() if not line else ''}"
        return line

    async def error_line(self) -> str:
        """The next line of what it says about its troubles."""
        assert self.process.stderr is not None
        async with asyncio.timeout(WITHIN):
            return (await self.process.stderr.readline()).decode()

    async def errors(self) -> str:
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    async def exit_code(self) -> int:
        async with asyncio.timeout(WITHIN):
            return await self.process.wait()

    async def stop(self) -> int:
        """Ctrl-C, and its exit code."""
        self.signal(signal.SIGINT)
        return await self.exit_code()


class Programs:
    """The programs of one test, in one folder; `async with` ends them, and the folder's sidecar."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.folder = Folder.of(folder)
        self._running: list[Program] = []
        self._sidecars: set[int] = set()
        self.environment = {**os.environ, "ANKKA_HTTP": f"127.0.0.1:{_free_port()}"}
        self.environment.pop("ANKKA_SIDECAR", None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.sidecar()
        for program in self._running:
            if program.process.returncode is None:
                program.signal(signal.SIGKILL)
            await program.process.wait()
        for pid in self._sidecars:
            if pid_started(pid) is not None:
                os.kill(pid, signal.SIGKILL)

    async def launch(self, *arguments: str) -> Program:
        """Start one, without waiting for anything."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.integration.service.parcels",
            *arguments,
            cwd=self.path,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        program = Program(process)
        self._running.append(program)
        return program

    async def start(self, *arguments: str) -> Program:
        """Start one and wait until it is attached."""
        program = await self.launch(*arguments)
        program.line = await program.says("ankka  ")
        self.sidecar()
        return program

    async def start_sidecar(self) -> str:
        """Start a sidecar that belongs to no folder, wait until it answers, and return its address."""
        http = self.environment["ANKKA_HTTP"]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ankka_sidecar", "--journal", f"sqlite:///{self.path / 'journal.db'}", "--http", http, cwd=self.path
        )
        self._running.append(Program(process))
        async with asyncio.timeout(WITHIN):
            while not isinstance(await health_of(f"http://{http}"), Health):
                assert process.returncode is None, "the sidecar ended"
                await asyncio.sleep(0.01)
        return f"http://{http}"

    def sidecar(self) -> SidecarFile | None:
        """What the folder's sidecar says of itself."""
        written = self.folder.read_sidecar_file()
        if written is not None:
            self._sidecars.add(written.pid)
        return written

    async def another_sidecar(self, than: SidecarFile) -> SidecarFile:
        """The sidecar that follows `than`."""
        await _until(lambda: (written := self.sidecar()) is not None and written.incarnation != than.incarnation)
        written = self.sidecar()
        assert written is not None
        return written

    async def gone(self, pid: int, within: float = WITHIN) -> None:
        """Wait until the process `pid` is gone."""
        await _until(lambda: pid_started(pid) is None, within)

    def ledger(self) -> list[str]:
        """What the steps have written."""
        path = self.path / "ledger"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    async def noted(self, line: str) -> None:
        """Wait until a step has written that line."""
        await _until(lambda: line in self.ledger())

    def open_gate(self) -> None:
        """Let steps that hold go on."""
        (self.path / "gate").touch()


async def _until(condition: Callable[[], bool], within: float = WITHIN) -> None:
    """Wait for something another process does to files or processes: no event tells of it."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
