"""Runs the console blocks of a page: real commands, a real service, in a folder that has the files of the pages.

`python order.py` and `ankka dev` run on until they are killed or the page ends; everything else is waited for. Of what
a page shows below a command, `…` stands for any text, and times for times. Port 9000 stands for a free one.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.markdown import Block

WITHIN = 30.0
LOOK = 0.02
SERVICE = re.compile(r"^(python \S+\.py|python -m samples\.\S+|ankka dev \S+)$")
KILL = re.compile(r"^kill -9 ")
_TIME = re.compile(r"\d+(?:\.\d+)? (?:ms|s)\b|\b\d+\.\d+s\b|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?")


class Terminal:
    """One page's terminals."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._services: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._port = _free_port()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANKKA_", "PYTEST_", "COV_"))}
        self._environment = {
            **clean,
            "PATH": path,
            "ANKKA_HTTP": f"127.0.0.1:{self._port}",
            "PYTHONWARNINGS": "error",
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "PYTEST_ADDOPTS": "-p no:asyncio",  # it is in our venv for a test of its own, and asks every run for a setting
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process, _ in self._services:
            if process.poll() is None:
                process.kill()
                process.wait()
        self._kill_sidecar()

    def run(self, block: Block) -> None:
        """Type the commands of a block, one after the other, and compare what they say."""
        for command, expected in _commands(block.text):
            where = f"{block.where}: $ {command}"
            if KILL.match(command):
                self._kill(where)
            elif SERVICE.match(command):
                self._start(command, expected, where)
            else:
                self._do(command, expected, where)

    def end(self) -> None:
        """Ctrl-C for what still runs: it ends with 0, and nothing stays."""
        for process, log in self._services:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                assert process.wait(WITHIN) == 0, log.read_text()
        assert not self._sidecar_file.exists(), "Ctrl-C left the sidecar running"

    def _do(self, command: str, expected: list[str], where: str) -> None:
        typed = command.replace("127.0.0.1:9000", f"127.0.0.1:{self._port}")
        if typed.startswith("curl "):
            typed = f"curl -sS{typed.removeprefix('curl')}"  # without its progress meter, which a pipe has and a terminal has not
        done = subprocess.run(
            ["bash", "-c", typed], cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=WITHIN, check=False
        )
        said = (done.stdout + done.stderr).decode()
        _compare(self._as_on_the_page(said), expected, where)
        assert done.returncode == 0 or expected, f"{where} ended with {done.returncode}: {said}"

    def _start(self, command: str, expected: list[str], where: str) -> None:
        for process, log in self._services:  # one service at a time: the page says Ctrl-C before
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                assert process.wait(WITHIN) == 0, f"{where}: the service before: {log.read_text()}"
        log = self._folder / f"{len(self._services)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command.split(),
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._services.append((process, log))
        self._wait_for_lines(len(expected), process, log, where)
        self._port = json.loads(self._sidecar_file.read_bytes())["http"].rpartition(":")[2]
        said = [line for line in log.read_text().splitlines() if line.startswith("ankka")]  # a step may speak before it
        _compare(self._as_on_the_page("\n".join(said)), expected, where)

    def _wait_for_lines(self, count: int, process: subprocess.Popen[bytes], log: Path, where: str) -> None:
        until = time.monotonic() + WITHIN
        while len(log.read_text().splitlines()) < count or "ankka  http" not in log.read_text():
            assert process.poll() is None, f"{where}: the service ended with {process.returncode}: {log.read_text()}"
            assert time.monotonic() < until, f"{where}: the service says only {log.read_text()!r}"
            time.sleep(LOOK)

    def _kill(self, where: str) -> None:
        """Both programs, once the service has said more than its first line: a step runs now."""
        process, log = self._services[-1]
        self._wait_for_lines(2, process, log, where)
        self._kill_sidecar()
        process.kill()
        process.wait()

    def _kill_sidecar(self) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(json.loads(self._sidecar_file.read_bytes())["pid"], signal.SIGKILL)

    @property
    def _sidecar_file(self) -> Path:
        return self._folder / ".ankka" / "sidecar.json"

    def _as_on_the_page(self, text: str) -> str:
        return text.replace(f"127.0.0.1:{self._port}", "127.0.0.1:9000").replace("\r\n", "\n")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines below it."""
    commands: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:].partition("  # ")[0].strip(), []))
        else:
            assert commands, f"{line!r} stands before the first command"
            commands[-1][1].append(line)
    return commands


def _compare(said: str, expected: list[str], where: str) -> None:
    if not expected:
        return  # what a page does not show it does not promise
    wanted, found = (_words("\n".join(lines)) for lines in (expected, said.splitlines()))
    pattern = ".*?".join(re.escape(part) for part in wanted.split("…"))
    assert re.fullmatch(pattern, found, re.DOTALL), f"{where}\nsays\n{said}\nand the page says\n" + "\n".join(expected)


def _words(text: str) -> str:
    """Without what differs from run to run: times, and how many blanks make a column."""
    return re.sub(r"[ ─━]+", " ", _TIME.sub("TIME", text)).strip()
