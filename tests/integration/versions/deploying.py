"""A sidecar to which processes of several versions are attached, side by side or one after the other."""

from __future__ import annotations

from typing import Any

from tests.integration.support.programs import Program, Programs, wait_for


class Deploying:
    """`v1`, `v2` … are attached by name."""

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        self.folder = programs.folder
        self.sidecar = programs.sidecar("--attach-wait", "200ms", "--cancel-grace", "1s")

    def attach(self, version: str) -> Program:
        """Start a process of that version, and wait until it is attached."""
        process = self.programs.process(f"tests.integration.versions.{version}", self.sidecar)
        self.sidecar.wait_for_output(rf"process {process.pid} of \S+ attached")
        return process

    def leave(self, process: Program) -> None:
        """Stop it, and wait until the sidecar knows."""
        assert process.stop() == 0
        self.sidecar.wait_for_output(rf"process {process.pid} of \S+ is gone")

    def post(self, path: str, body: Any = None) -> Any:
        """A command that succeeds; its reply."""
        answer = self.sidecar.post(path, body)
        assert answer.is_success, answer.text
        return answer.json() if answer.status_code == 200 else None

    def get(self, path: str) -> Any:
        """What a GET answers that succeeds."""
        return self.sidecar.get(path)

    def until(self, instance: str, **wanted: Any) -> dict[str, Any]:
        """Wait until the lifecycle of an order says so; the lifecycle."""

        def look() -> dict[str, Any] | None:
            found = self.sidecar.lifecycle(f"order/{instance}")
            return found if all(found[name] == value for name, value in wanted.items()) else None

        return wait_for(look, f"order/{instance} with {wanted}, it has {self.sidecar.lifecycle(f'order/{instance}')}")

    def types(self, instance: str) -> list[str]:
        """The types of an order's timeline."""
        return [item["type"] for item in self.sidecar.timeline(f"order/{instance}")]
