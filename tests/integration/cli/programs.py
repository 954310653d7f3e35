"""Real programs for the tests of the command line: run to their end, followed by their lines, or in a terminal."""

import fcntl
import os
import pty
import re
import selectors
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[3]
ANKKA = [sys.executable, "-m", "ankka.cli"]
WITHIN = 40.0
"""Seconds for anything that is waited for."""
# Makes the terminal it is started on its own, so that a Ctrl-C typed there reaches it.
IN_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"


def environment(**changes: str) -> dict[str, str]:
    """The environment without what would change what a command does; `PYTHONPATH` finds the tests' own modules."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANKKA_") and name not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), **changes}


def ankka(*arguments: str, cwd: Path, stdin: bytes = b"", **changes: str) -> "subprocess.CompletedProcess[str]":
    """Run one command with its output in pipes."""
    ran = subprocess.run([*ANKKA, *arguments], cwd=cwd, env=environment(**changes), input=stdin, capture_output=True, timeout=WITHIN, check=False)
    return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


class Program:
    """A running program whose output is read as it comes; killed at the end if it still runs."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], terminal: bool = False) -> None:
        self.output = ""
        self._seen = 0
        if terminal:
            self._reading, writing = pty.openpty()
            fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            command = [sys.executable, "-c", IN_TERMINAL, *command]
            stdin = writing
        else:
            self._reading, writing = os.pipe()
            stdin = subprocess.DEVNULL
        self.process = subprocess.Popen(command, cwd=cwd, env=env, stdin=stdin, stdout=writing, stderr=writing, start_new_session=True)
        os.close(writing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._reading)

    def until(self, pattern: str, *, within: float = WITHIN) -> "re.Match[str]":
        """Read until the pattern comes, after what was found before."""
        deadline = time.monotonic() + within
        while True:
            found = re.compile(pattern).search(self.output, self._seen)
            if found is not None:
                self._seen = found.end()
                return found
            if not self._read(deadline):
                raise AssertionError(f"{pattern!r} did not come within {within:g} s, or the program ended; it said:\n{self.output[self._seen :]}")

    def type(self, keys: str) -> None:
        """Type into its terminal; `\\x03` is Ctrl-C."""
        os.write(self._reading, keys.encode())

    def send(self, number: int) -> None:
        """Send a signal to the program alone."""
        self.process.send_signal(number)

    def ends(self, *, within: float = WITHIN) -> int:
        """Read to its end; its exit code."""
        deadline = time.monotonic() + within
        while self._read(deadline):
            pass
        return self.process.wait(timeout=max(0.1, deadline - time.monotonic()))

    def _read(self, deadline: float) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reading, selectors.EVENT_READ)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return False
        try:
            data = os.read(self._reading, 65_536)
        except OSError:  # what a terminal says when nobody has it open any more
            return False
        self.output += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


def in_terminal(*arguments: str, cwd: Path, **changes: str) -> tuple[int, str]:
    """Run one command in a terminal of 120 columns; its exit code and all it wrote."""
    changes.setdefault("TERM", "xterm-256color")
    with Program([*ANKKA, *arguments], cwd=cwd, env=environment(**changes), terminal=True) as program:
        code = program.ends()
        return code, program.output


def started_sidecar(cwd: Path, *arguments: str) -> tuple[Program, str]:
    """A sidecar on a free port, through the command line, and its URL."""
    program = Program([*ANKKA, "sidecar", "--http", "127.0.0.1:0", *arguments], cwd=cwd, env=environment())
    return program, program.until(r"listening at (http://\S+),").group(1)
