"""The stand of the catalogue tests: `stand.Stand` over the service `catalogue`, with what those cases ask of it."""

from __future__ import annotations

from typing import Any

from tests.chaos.stand import Stand
from tests.integration.support.programs import wait_for


class Catalogue(Stand):
    """A sidecar with the catalogue's processes."""

    module = "tests.chaos.catalogue"

    def until_kind(self, instance: str, kind: str, times: int = 1) -> None:
        """Wait until the journal has that event so often."""
        wait_for(lambda: self.kinds(instance).count(kind) >= times, f"{kind} in the journal of {instance}")

    def listed(self, **filters: str) -> list[dict[str, Any]]:
        """The instances of the workflow that a listing shows."""
        answer = self.sidecar.http.get("/v1/instances", params={"component": "job", "limit": "1000", **filters})
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items
