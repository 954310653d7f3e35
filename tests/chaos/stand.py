"""One sidecar and its processes over `jobs.py`, with what the named cases ask of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import httpx
from ankka_sidecar.verify import check_sqlite

from tests.integration.support.programs import Program, Programs, Sidecar, wait_for

WITHIN: Final = 20.0


class Stand:
    """A sidecar that runs; processes are started as a case needs them."""

    module: ClassVar[str] = "tests.chaos.jobs"

    def __init__(self, programs: Programs, *options: str, faults: str = "") -> None:
        self._programs = programs
        self.folder: Path = programs.folder
        self.sidecar: Sidecar = programs.sidecar("--shards", "16", *options, environment={"ANKKA_FAULTS": faults} if faults else {})

    # --- programs --------------------------------------------------------------------------------------------------

    def process(self, url: str | None = None, environment: Mapping[str, str] | None = None) -> Program:
        """A process, attached: the sidecar has said so in its log."""
        before = self.sidecar.output.count(" attached: ")
        started = self._programs.run("-m", self.module, environment={"ANKKA_SIDECAR": url or self.sidecar.url, **(environment or {})})
        wait_for(lambda: self.sidecar.output.count(" attached: ") > before, "the process attaches")
        return started

    def restart(self, faults: str = "") -> None:
        """kill -9 of the sidecar, if it has not died yet, and start it again."""
        if self.sidecar.running.poll() is None:
            self.sidecar.kill()
        self.sidecar.environment = {"ANKKA_FAULTS": faults} if faults else {}
        self.sidecar = self._programs.again(self.sidecar)

    def died(self) -> None:
        """Wait until the sidecar has died of its fault."""
        assert self.sidecar.ended() == -9

    def check(self) -> None:
        """Stop the sidecar and verify its journal."""
        assert self.sidecar.stop() == 0
        violations = check_sqlite(self.folder / "journal.db")
        assert violations == [], "\n".join(map(str, violations))

    # --- calls -----------------------------------------------------------------------------------------------------

    def post(self, path: str, body: Any = None) -> httpx.Response:
        """A command."""
        return self.sidecar.post(f"job/{path}", body)

    def start(self, instance: str, *plan: str) -> None:
        """Start a job, and see it acknowledged."""
        answer = self.post(f"{instance}/start", list(plan))
        assert answer.status_code == 204, answer.text

    def get(self, path: str) -> Any:
        """What a GET answers, which must be a success."""
        return self.sidecar.get(f"job/{path}")

    def lifecycle(self, instance: str) -> dict[str, Any]:
        """The engine's own view."""
        return self.sidecar.lifecycle(f"job/{instance}")

    def ended(self, instance: str, within: float = WITHIN) -> list[str]:
        """Wait until a job has completed; the steps it went through, without their pids."""
        answer = self.sidecar.http.get(f"/v1/job/{instance}/ankka:await", params={"timeout": within}, timeout=within + 10)
        assert answer.status_code == 200, f"{instance} did not end: {answer.text}; {self.lifecycle(instance)}"
        return [name.partition("@")[0] for name in answer.json()["trail"]]

    def kinds(self, instance: str) -> list[str]:
        """The types of the events of an instance's present life, in order."""
        return [item["type"] for item in self.items(instance)]

    def items(self, instance: str) -> list[dict[str, Any]]:
        """The timeline of an instance's present life."""
        items = self.sidecar.timeline(f"job/{instance}")
        generation = max((item["generation"] for item in items), default=0)
        return [item for item in items if item["generation"] == generation]

    def runs(self) -> Counter[tuple[str, str]]:
        """How often each step of each instance ran."""
        path = self.folder / "ledger"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter((line.split()[0], line.split()[1]) for line in lines)

    def until_runs(self, instance: str, step: str, times: int = 1) -> None:
        """Wait until a step has begun that often."""
        wait_for(lambda: self.runs()[instance, step] >= times, f"run {times} of {step} of {instance}")

    def until_status(self, instance: str, status: str, within: float = WITHIN) -> None:
        """Wait for a status."""
        wait_for(lambda: self.lifecycle(instance)["status"] == status, f"{instance} is {status}", within)

    def open(self, gate: str) -> None:
        """Let steps that wait for that file go on."""
        (self.folder / gate).touch()
