"""`make demo`: the checkout for real, in a temporary folder: charged, compensated, paused, and killed in the middle.

Everything is what a user has: the service as a process of its own, the folder's sidecar, the journal on disk, HTTP.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec

PATIENCE = 30.0


class DemoFailed(Exception):
    """What was to be shown did not happen; the message says what did."""


class Service:
    """The service's process in a folder, and the folder's sidecar."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(timeout=PATIENCE)

    def start(self) -> None:
        """Start the process, and wait until its sidecar is ready."""
        with (self.folder / "service.log").open("ab") as log:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("ANKKA_")}
            command = [sys.executable, "-m", "samples.checkout.demo_service"]
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until("the service is ready", self._is_ready)

    def _is_ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise DemoFailed(f"the service ended with {self.process.returncode}:\n{(self.folder / 'service.log').read_text()}")
        try:
            self.http.base_url = self.sidecar()["http"]
            return self.http.get("/readyz").status_code == 200
        except (FileNotFoundError, httpx.TransportError):
            return False

    def sidecar(self) -> dict[str, Any]:
        """What the folder says of its sidecar."""
        found: dict[str, Any] = msgspec.json.decode((self.folder / ".ankka" / "sidecar.json").read_bytes())
        return found

    def kill_both(self) -> None:
        """`kill -9`, sidecar and process."""
        assert self.process is not None
        os.kill(self.sidecar()["pid"], signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ctrl-C: the process drains and stops its sidecar; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)

    # --- calls -----------------------------------------------------------------------------------------------------

    def fill_cart(self, cart: str, quantity: int) -> None:
        """Put something into a cart."""
        self.http.post(f"/v1/shopping-cart/{cart}/add", json={"productId": "book", "quantity": quantity}).raise_for_status()

    def begin(self, checkout: str, mode: str) -> None:
        """Start a checkout."""
        self.http.post(f"/v1/checkout/{checkout}/start", json=mode).raise_for_status()

    def lifecycle(self, checkout: str) -> dict[str, Any]:
        """The engine's own view of a checkout."""
        found: dict[str, Any] = self.http.get(f"/v1/checkout/{checkout}/ankka:lifecycle").raise_for_status().json()
        return found

    def end(self, checkout: str) -> str:
        """The status a checkout ends with."""
        status: str = self.http.get(f"/v1/checkout/{checkout}/ankka:await").raise_for_status().json()["status"]
        return status

    def timeline(self, checkout: str) -> list[dict[str, Any]]:
        """Its journal."""
        items: list[dict[str, Any]] = self.http.get(f"/v1/checkout/{checkout}/ankka:journal").raise_for_status().json()["items"]
        return items

    def runs_of(self, checkout: str, step: str) -> int:
        """How often a step ran, by the ledger."""
        lines = (self.folder / "ledger.txt").read_text().splitlines()
        return sum(line.split()[:2] == [checkout, step] for line in lines)


def wait_until(what: str, holds: Callable[[], bool]) -> None:
    """Look every few ms until it holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise DemoFailed(f"waited {PATIENCE:g} s in vain until {what}")
        time.sleep(0.01)


def expect(what: str, found: object, wanted: object) -> None:
    """Stop the demonstration where it does not show what it claims."""
    if found != wanted:
        raise DemoFailed(f"{what}: expected {wanted!r}, found {found!r}")


def show_charged(service: Service) -> None:
    """A checkout that goes through."""
    service.fill_cart("c1", 2)
    service.begin("c1", "ok")
    expect("the end of c1", service.end("c1"), "charged")
    print("c1     charged")


def show_compensated(service: Service) -> None:
    """A declined charge: one retry, then compensation."""
    service.begin("c2", "fail")
    expect("the end of c2", service.end("c2"), "compensated")
    expect("runs of charge in c2", service.runs_of("c2", "charge"), 2)
    print("c2     declined, retried once, compensated")


def show_paused(service: Service) -> None:
    """A pause that ends by its own deadline."""
    service.begin("c3", "pause")
    wait_until("c3 is paused", lambda: service.lifecycle("c3")["status"] == "Paused")
    began = time.monotonic()
    expect("the end of c3", service.end("c3"), "charged")
    print(f"c3     paused, resumed by its deadline after {time.monotonic() - began:.1f} s, charged")


def show_killed(service: Service) -> None:
    """`kill -9` of sidecar and process while the charge is under way; the next start goes on from there."""
    service.fill_cart("slow-1", 1)
    service.begin("slow-1", "ok")
    wait_until("slow-1 is in its charge", lambda: service.lifecycle("slow-1")["pendingStep"] == "charge")
    wait_until("the charge runs", lambda: service.runs_of("slow-1", "charge") == 1)
    service.kill_both()
    killed_at = time.monotonic()
    service.start()
    wait_until("the charge runs again", lambda: service.runs_of("slow-1", "charge") == 2)
    resumed = time.monotonic() - killed_at
    expect("the end of slow-1", service.end("slow-1"), "charged")
    expect("runs of reserve in slow-1", service.runs_of("slow-1", "reserve"), 1)
    expect("retries used by slow-1", service.lifecycle("slow-1")["retries"], {})
    print(f"slow-1 killed in step charge, resumed at charge {resumed:.1f} s later (reserve ran once, no retry used), charged")


def show_timeline(service: Service, checkout: str) -> None:
    """The journal of one, row by row."""
    print(f"\nThe journal of {checkout}:")
    items = service.timeline(checkout)
    first = datetime.fromisoformat(items[0]["at"])
    for item in items:
        seconds = (datetime.fromisoformat(item["at"]) - first).total_seconds()
        detail = ", ".join(f"{name}: {value}" for name, value in item["detail"].items())
        attempt = f"attempt {item['attempt']}" if item["attempt"] else ""
        print(f"  {item['sequence']:>2}  {seconds:>7.3f} s  {item['type']:<13}{item['step'] or '':<11}{attempt:<11}{detail}")


def main() -> int:
    """Run the demonstration; the exit code says whether it showed what it claims."""
    with tempfile.TemporaryDirectory(prefix="ankka-demo-") as folder:
        service = Service(Path(folder))
        try:
            service.start()
            print(f"A checkout service with its sidecar at {service.http.base_url}, journal on disk.\n")
            show_charged(service)
            show_compensated(service)
            show_paused(service)
            show_killed(service)
            show_timeline(service, "slow-1")
            expect("the exit code after Ctrl-C", service.stop(), 0)
            expect("the sidecar's announcement after Ctrl-C", (Path(folder) / ".ankka" / "sidecar.json").exists(), False)
            print("\nCtrl-C: the process and its sidecar have ended.")
        except (DemoFailed, httpx.HTTPError) as error:
            print(f"the demonstration failed: {error}", file=sys.stderr)
            return 1
        finally:
            if service.process is not None and service.process.poll() is None:
                service.process.terminate()
                service.process.wait(PATIENCE)
            service.http.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
