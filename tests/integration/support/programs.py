"""Real programs for tests: sidecars over a folder's journals, and processes attached to them. All of them end with the test.

programs.sidecar()                              a sidecar on a free port, over a journal in the test's folder
programs.process("samples.checkout", sidecar)   `python -m samples.checkout`, attached: `/readyz` is 200
program.kill(), program.stop()                  kill -9 · SIGTERM; both wait for the end and give the exit code
programs.again(sidecar)                         the same sidecar once more: port, journal and options
sidecar.post("order/o1/start", "ok"), .get(…)   calls
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx

ROOT = Path(__file__).resolve().parents[3]
READY_WITHIN = 20.0
"""Seconds a program has to be ready: it imports and starts on a machine that other tests keep busy."""
STOPPED_WITHIN = 15.0
LOOK = 0.02

T = TypeVar("T")


def wait_for(look: Callable[[], T | None], what: str, within: float = READY_WITHIN) -> T:
    """The first result of `look` that is neither `None` nor false; for what only another program can tell."""
    until = time.monotonic() + within
    while True:
        result = look()
        if result:
            return result
        assert time.monotonic() < until, f"{what}: not within {within:g} s"
        time.sleep(LOOK)


class Program:
    """A program of a test, its output in a file."""

    def __init__(self, arguments: list[str], folder: Path, log: Path, environment: Mapping[str, str]) -> None:
        self.arguments = arguments
        self.folder = folder
        self.log = log
        self.environment = environment
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ANKKA_")}
        with log.open("ab") as output:
            # A session of its own: whatever it starts ends with it, and a Ctrl-C for pytest is not one for it.
            self.running = subprocess.Popen(
                arguments, cwd=folder, env={**inherited, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **environment},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self.running.pid

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="backslashreplace")

    def wait_for_output(self, pattern: str, within: float = READY_WITHIN) -> re.Match[str]:
        """The first match of a pattern in its output; fails at once when the program has ended without."""

        def look() -> re.Match[str] | None:
            ended = self.running.poll()
            found = re.search(pattern, self.output)
            assert found or ended is None, f"{self.log.stem} ended with {ended}, expected {pattern!r} in its output:\n{self.output}"
            return found

        return wait_for(look, f"{pattern!r} in the output of {self.log.stem}", within)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.running.send_signal(number)

    def kill(self) -> int:
        """`kill -9`, and wait for the end."""
        self.send(signal.SIGKILL)
        return self.ended()

    def stop(self) -> int:
        """SIGTERM, and wait for the end."""
        self.send(signal.SIGTERM)
        return self.ended()

    def interrupt(self) -> int:
        """Ctrl-C, and wait for the end."""
        self.send(signal.SIGINT)
        return self.ended()

    def ended(self, within: float = STOPPED_WITHIN) -> int:
        """Wait for its end; the exit code."""
        return self.running.wait(within)

    def clean_up(self) -> None:
        """End it and all it has started, whatever state it is in."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.running.wait()


Started = TypeVar("Started", bound=Program)


class Sidecar(Program):
    """A running sidecar; `http` calls it."""

    def __init__(self, arguments: list[str], folder: Path, log: Path, environment: Mapping[str, str]) -> None:
        super().__init__(arguments, folder, log, environment)
        try:
            self.url = self.wait_for_output(r"listening at (http://[^, ]+)")[1]
        except BaseException:
            super().clean_up()  # nobody else knows of it yet
            raise
        self.http = httpx.Client(base_url=self.url, timeout=30, trust_env=False)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    @property
    def is_ready(self) -> bool:
        """Whether `/readyz` is 200."""
        with suppress(httpx.TransportError):
            return self.http.get("/readyz").status_code == 200
        return False

    def wait_until_ready(self) -> None:
        """Wait for `/readyz`."""
        wait_for(lambda: self.is_ready, f"{self.url}/readyz")

    # --- calls -----------------------------------------------------------------------------------------------------

    def post(self, path: str, body: Any = None) -> httpx.Response:
        """A call, `order/o1/start`; without a body if there is none to send."""
        return self.http.post(f"/v1/{path}", **({} if body is None else {"json": body}))

    def get(self, path: str) -> Any:
        """What a GET answers, which must be a success."""
        answer = self.http.get(f"/v1/{path}")
        assert answer.is_success, (path, answer.text)
        return answer.json()

    def lifecycle(self, instance: str) -> dict[str, Any]:
        """The engine's own view of `order/o1`."""
        view: dict[str, Any] = self.get(f"{instance}/ankka:lifecycle")
        return view

    def timeline(self, instance: str) -> list[dict[str, Any]]:
        """What the journal has of `order/o1`, deleted lives too."""
        items: list[dict[str, Any]] = self.get(f"{instance}/ankka:journal?limit=1000")["items"]
        return items

    def clean_up(self) -> None:
        """End it, and the connections to it."""
        self.http.close()
        super().clean_up()


class Programs:
    """The programs of one test, or of several that share them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.all: list[Program] = []

    def sidecar(self, *options: str, journal: str | None = None, environment: Mapping[str, str] | None = None) -> Sidecar:
        """A sidecar that listens; over the folder's `journal.db` unless told otherwise. `options` as on the command line."""
        url = journal or f"sqlite:///{self.folder / 'journal.db'}"
        arguments = [sys.executable, "-m", "ankka_sidecar", "--journal", url, "--http", "127.0.0.1:0", *options]
        return self._started(Sidecar(arguments, self.folder, self._log("sidecar"), environment or {}))

    def again(self, sidecar: Sidecar) -> Sidecar:
        """The same sidecar once more, after its end: port, journal and options."""
        arguments = [f"127.0.0.1:{sidecar.port}" if argument == "127.0.0.1:0" else argument for argument in sidecar.arguments]
        return self._started(Sidecar(arguments, self.folder, self._log("sidecar"), sidecar.environment))

    def process(self, module: str, sidecar: Sidecar, environment: Mapping[str, str] | None = None) -> Program:
        """`python -m MODULE`, whose `start()` has attached it to that sidecar."""
        made = {"ANKKA_SIDECAR": sidecar.url, **(environment or {})}
        process = self._started(Program([sys.executable, "-m", module], self.folder, self._log(module.rpartition(".")[2]), made))
        process.wait_for_output(r"ankka  http")
        sidecar.wait_until_ready()
        return process

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Program:
        """Any other Python program: `run("-m", "ankka_sidecar", "--http", "x")`."""
        return self._started(Program([sys.executable, *arguments], self.folder, self._log("program"), environment or {}))

    def _log(self, name: str) -> Path:
        return self.folder / f"{len(self.all)}-{name}.log"

    def _started(self, program: Started) -> Started:
        self.all.append(program)
        return program

    def clean_up(self) -> None:
        """End them all, the last one first."""
        for program in reversed(self.all):
            program.clean_up()

    def logs(self) -> list[tuple[str, str]]:
        """Name and end of each program's output, for the report of a failed test."""
        return [(program.log.stem, program.output[-8_000:]) for program in self.all]
