"""What an operator does over HTTP, and what is seen of it."""

from __future__ import annotations

from typing import Any

import httpx

from tests.integration.support.programs import Programs, wait_for

SERVICE = "tests.integration.operators.held"
WHO = {"reason": "a look at it", "by": "ann"}


class Acting:
    """A sidecar with the service attached, and the service's ledger."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self.folder = programs.folder
        self.sidecar = programs.sidecar("--cancel-grace", "1500ms", "--attach-wait", "1s")
        self.process = programs.process(SERVICE, self.sidecar)

    def start_sidecar(self) -> None:
        """Start it again after its end."""
        self.sidecar = self._programs.again(self.sidecar)

    def start_process(self) -> None:
        """Start another process."""
        self.process = self._programs.process(SERVICE, self.sidecar)

    def start(self, instance: str, step: str) -> None:
        """Start a `held` instance at a step, and wait until that has begun."""
        self.done(self.sidecar.http.post(f"/v1/held/{instance}/start", json=step))
        self.noted(f"{instance} {step} 1")

    def post(self, instance: str, handler: str, *, component: str = "held", body: Any = None) -> httpx.Response:
        """A command, or an operator's action."""
        return self.sidecar.http.post(f"/v1/{component}/{instance}/{handler}", json=WHO if body is None and handler.startswith("ankka:") else body)

    def pause(self, instance: str, *, component: str = "held") -> None:
        """Hold it."""
        self.done(self.post(instance, "ankka:pause", component=component))

    def resume(self, instance: str, *, component: str = "held") -> None:
        """Let it go on."""
        self.done(self.post(instance, "ankka:resume", component=component))

    def cancel(self, instance: str, *, component: str = "held") -> None:
        """Cancel it."""
        self.done(self.post(instance, "ankka:cancel", component=component))

    def delete(self, instance: str, *, component: str = "held") -> httpx.Response:
        """Delete it."""
        return self.sidecar.http.request("DELETE", f"/v1/{component}/{instance}", json=WHO)

    def done(self, answer: httpx.Response) -> None:
        """It was done."""
        assert answer.status_code == 204, answer.text

    def open(self, instance: str) -> None:
        """Open the gate that its step waits at."""
        (self.folder / f"gate-{instance}").touch()

    # --- what is there ---------------------------------------------------------------------------------------------

    def lifecycle(self, instance: str, *, component: str = "held") -> dict[str, Any]:
        """The engine's view."""
        return self.sidecar.lifecycle(f"{component}/{instance}")

    def until(self, instance: str, *, component: str = "held", **wanted: Any) -> dict[str, Any]:
        """Wait until the lifecycle says so; the lifecycle."""

        def look() -> dict[str, Any] | None:
            found = self.lifecycle(instance, component=component)
            return found if all(found[name] == value for name, value in wanted.items()) else None

        return wait_for(look, f"{component}/{instance} with {wanted}, it has {self.lifecycle(instance, component=component)}")

    def timeline(self, instance: str, *, component: str = "held") -> list[dict[str, Any]]:
        """The items of its journal."""
        return self.sidecar.timeline(f"{component}/{instance}")

    def types(self, instance: str, *, component: str = "held") -> list[str]:
        """Their types."""
        return [item["type"] for item in self.timeline(instance, component=component)]

    def ledger(self, instance: str) -> list[str]:
        """What ran of an instance, in order, without its id."""
        path = self.folder / "ledger"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.partition(" ")[2] for line in lines if line.partition(" ")[0] == instance]

    def noted(self, line: str, within: float = 20.0) -> None:
        """Wait for a line in the ledger."""
        instance, _, rest = line.partition(" ")
        wait_for(lambda: rest in self.ledger(instance), f"{line!r} in the ledger", within)
