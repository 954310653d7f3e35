"""The stand of the catalogue tests: `stand.Stand` over the service `catalogue`, with what those cases ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.chaos.stand import WITHIN, Stand
from tests.integration.support.programs import Program, wait_for

MODULE = "tests.chaos.catalogue"


class Catalogue(Stand):
    """A sidecar with the catalogue's processes."""

    def process(self, url: str | None = None, environment: Mapping[str, str] | None = None) -> Program:
        """A process of the catalogue, attached."""
        before = self.sidecar.output.count(" attached: ")
        started = self._programs.run("-m", MODULE, environment={"ANKKA_SIDECAR": url or self.sidecar.url, **(environment or {})})
        wait_for(lambda: self.sidecar.output.count(" attached: ") > before, "the process attaches")
        return started

    def until_kind(self, instance: str, kind: str, times: int = 1) -> None:
        """Wait until the journal has that event so often."""
        wait_for(lambda: self.kinds(instance).count(kind) >= times, f"{kind} in the journal of {instance}")

    def ended(self, instance: str, within: float = WITHIN) -> list[str]:
        """Wait until it has completed; its trail."""
        answer = self.sidecar.http.get(f"/v1/job/{instance}/ankka:await", params={"timeout": within}, timeout=within + 10)
        assert answer.status_code == 200, f"{instance} did not end: {answer.text}; {self.lifecycle(instance)}"
        trail: list[str] = answer.json()["trail"]
        return trail

    def listed(self, **filters: str) -> list[dict[str, Any]]:
        """The instances of the workflow that a listing shows."""
        answer = self.sidecar.http.get("/v1/instances", params={"component": "job", "limit": "1000", **filters})
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items
