"""A sidecar with the shelf's entities, a process of them attached."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from ankka_sidecar.verify import check_sqlite

from tests.integration.support.programs import Program, Programs, Sidecar


class Shelf:
    """Sidecar and process, to be killed and started again."""

    def __init__(self, programs: Programs, *options: str) -> None:
        self.programs = programs
        self.sidecar: Sidecar = programs.sidecar(*options)
        self.process: Program = programs.process("tests.integration.entities.shelf", self.sidecar)

    @property
    def http(self) -> httpx.Client:
        """Calls of the sidecar."""
        return self.sidecar.http

    def attach(self) -> None:
        """A new process."""
        self.process = self.programs.process("tests.integration.entities.shelf", self.sidecar)

    def restart(self, *, stop: bool = False) -> None:
        """kill -9 (or SIGTERM) the sidecar, and start it over the same journal."""
        assert self.sidecar.stop() == 0 if stop else self.sidecar.kill() == -9
        self.sidecar = self.programs.again(self.sidecar)

    def post(self, path: str, body: Any = None) -> Any:
        """A command that succeeds; its reply."""
        answer = self.http.post(f"/v1/{path}", json=body) if body is not None else self.http.post(f"/v1/{path}")
        assert answer.is_success, answer.text
        return answer.json() if answer.status_code == 200 else None

    def get(self, path: str) -> Any:
        """What a GET answers that succeeds."""
        answer = self.http.get(f"/v1/{path}")
        assert answer.is_success, answer.text
        return answer.json()

    def timeline(self, path: str) -> list[dict[str, Any]]:
        """The items of an instance's journal."""
        items: list[dict[str, Any]] = self.get(f"{path}/ankka:journal")["items"]
        return items

    def listed(self, component: str) -> dict[str, str]:
        """The status of each listed instance of a component."""
        return {item["id"]: item["status"] for item in self.get(f"instances?component={component}")["items"]}

    def is_clean(self) -> None:
        """The journal breaks no invariant."""
        assert check_sqlite(self.programs.folder / "journal.db") == []


@pytest.fixture
def shelf(programs: Programs) -> Shelf:
    """A shelf of this test's own."""
    return Shelf(programs)
