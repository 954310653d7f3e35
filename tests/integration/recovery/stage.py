"""A sidecar and a process in one folder, each a program of its own, each killed and started as a test asks."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

WITHIN = 20.0


class Stage:
    """`with Stage(folder) as stage:`; both programs run inside."""

    def __init__(self, folder: Path, module: str, *options: str, faults: str | None = None) -> None:
        self.folder = folder
        self._module = module
        self._options = options
        self._faults = faults
        self._url = "http://127.0.0.1:0"
        self.sidecar: subprocess.Popen[bytes] | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(timeout=WITHIN)

    def __enter__(self) -> Self:
        self.start_sidecar(faults=self._faults)
        self.start_process()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.http.close()
        for program in (self.process, self.sidecar):
            if program is not None and program.poll() is None:
                program.kill()
            if program is not None:
                program.wait(WITHIN)
        if error is not None:
            for name in ("sidecar.log", "process.log"):
                print(f"--- {name}\n{(self.folder / name).read_text()}")

    @property
    def url(self) -> str:
        """Where the sidecar listens."""
        return self._url

    # --- programs --------------------------------------------------------------------------------------------------

    def start_sidecar(self, faults: str | None = None) -> None:
        """Start it on the port it had, and wait until it listens."""
        announced = self.folder / "sidecar.json"
        announced.unlink(missing_ok=True)
        environment = {**_clean(), **({"ANKKA_FAULTS": faults} if faults else {})}
        http = self._url.removeprefix("http://")
        command = [sys.executable, "-m", "ankka_sidecar", "--journal", "sqlite:///journal.db", "--http", http, "--embedded", str(announced)]
        with (self.folder / "sidecar.log").open("ab") as log:
            self.sidecar = subprocess.Popen([*command, *self._options], cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.until("the sidecar listens", lambda: announced.exists() or self._ended(self.sidecar))
        self._url = json.loads(announced.read_text())["http"]
        self.http.base_url = self._url

    def start_process(self) -> None:
        """Start it, and wait until the sidecar is ready."""
        with (self.folder / "process.log").open("ab") as log:
            environment = {**_clean(), "ANKKA_SIDECAR": self._url}
            self.process = subprocess.Popen([sys.executable, "-m", self._module], cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.until("the sidecar is ready", lambda: self.http.get("/readyz").status_code == 200 or self._ended(self.process))

    def kill_sidecar(self) -> None:
        """kill -9."""
        assert self.sidecar is not None
        self.sidecar.kill()
        self.sidecar.wait(WITHIN)

    def kill_process(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(WITHIN)

    def _ended(self, program: "subprocess.Popen[bytes] | None") -> bool:
        assert program is not None
        assert program.poll() is None, f"a program ended with {program.returncode}"
        return False

    # --- what is there ---------------------------------------------------------------------------------------------

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Look until it holds."""
        end = time.monotonic() + WITHIN
        while not holds():
            assert time.monotonic() < end, f"waited {WITHIN:g} s in vain until {what}"
            time.sleep(0.01)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        """A command."""
        return self.http.post(f"/v1/{path}", content=None if body is None else json.dumps(body), headers={"content-type": "application/json"})

    def get(self, path: str) -> Any:
        """What a GET answers, which must be a success."""
        return self.http.get(f"/v1/{path}").raise_for_status().json()

    def runs(self) -> Counter[tuple[str, str]]:
        """How often each (instance, step) ran, by the ledger."""
        ledger = self.folder / "ledger.txt"
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return Counter((line.split()[0], line.split()[1]) for line in lines)

    def journal(self, path: str) -> list[dict[str, Any]]:
        """The timeline of an instance."""
        items: list[dict[str, Any]] = self.get(f"{path}/ankka:journal?limit=1000")["items"]
        return items


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ANKKA_")}
