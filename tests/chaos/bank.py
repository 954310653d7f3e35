"""A sidecar and a process with `payments.py`, each started again when it has died, and what tests ask of them."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from typing import Any, Final

import httpx
from ankka_sidecar.verify import check_sqlite

from tests.integration.support.programs import Program, Programs, Sidecar

MODULE: Final = "tests.chaos.payments"
OPTIONS: Final = ("--cancel-grace", "3s", "--attach-wait", "2s", "--shards", "16")
WITHIN: Final = 40.0


class Bank:
    """A sidecar and its process, each started again when it has died."""

    def __init__(self, programs: Programs, *options: str, faults: str = "", dies: str = "") -> None:
        self._programs = programs
        self.folder = programs.folder
        self.kills = 0
        self.sidecar: Sidecar = programs.sidecar(*OPTIONS, *options, environment={"ANKKA_FAULTS": faults} if faults else {})
        self.process: Program = self._attach({"DIES_AT": dies} if dies else {})

    def _attach(self, environment: dict[str, str]) -> Program:
        return self._programs.run("-m", MODULE, environment={"ANKKA_SIDECAR": self.sidecar.url, **environment})

    def heal(self) -> None:
        """Start again what has died."""
        if self.sidecar.running.poll() is not None:
            self.kills += 1
            self.sidecar.environment = {}
            self.sidecar = self._programs.again(self.sidecar)
        if self.process.running.poll() is not None:
            self.kills += 1
            self.process = self._attach({})

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> httpx.Response:
        """One request, made again until it is answered: reads, and commands with a key."""
        until = time.monotonic() + WITHIN
        sent: dict[str, Any] = {} if body is None else {"json": body}
        while True:
            self.heal()
            with suppress(httpx.TransportError):
                answer = self.sidecar.http.request(method, f"/v1/{path}", headers={"Idempotency-Key": key} if key else {}, **sent)
                if answer.status_code not in {503, 504}:
                    return answer
            assert time.monotonic() < until, f"{method} {path}: no answer within {WITHIN:g} s"
            time.sleep(0.02)

    def pay(self, instance: str, step: str, *, failures: int = 0) -> None:
        """Start a payment from wallet a to wallet b of its own."""
        plan = {"step": step, "source": f"{instance}-a", "target": f"{instance}-b", "failures": failures}
        answer = self.ask("POST", f"payment/{instance}/start", plan, key=f"start of {instance}")
        assert answer.status_code == 204, answer.text

    def fill(self, wallet: str, amount: int) -> None:
        """Put something in."""
        answer = self.ask("POST", f"wallet/{wallet}/deposit", amount, key=f"filled with {amount}")
        assert answer.status_code == 200, answer.text

    def balance(self, wallet: str) -> int:
        """What is in it."""
        return int(self.ask("GET", f"wallet/{wallet}/balance").text)

    def lifecycle(self, instance: str) -> dict[str, Any]:
        """The engine's own view of a payment."""
        view: dict[str, Any] = self.ask("GET", f"payment/{instance}/ankka:lifecycle").json()
        return view

    def items(self, path: str) -> list[dict[str, Any]]:
        """The timeline of an instance."""
        items: list[dict[str, Any]] = self.ask("GET", f"{path}/ankka:journal?limit=1000").json()["items"]
        return items

    def until_done(self, instance: str, within: float = WITHIN) -> dict[str, Any]:
        """Wait until a payment is complete."""
        until = time.monotonic() + within
        while (view := self.lifecycle(instance))["status"] != "Completed":
            assert view["status"] == "Running", view
            assert time.monotonic() < until, f"{instance} did not end: {view}"
            time.sleep(0.02)
        return view

    def ledger(self) -> Counter[str]:
        """The runs of steps and handlers."""
        path = self.folder / "ledger"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def close(self) -> None:
        """End both, and verify the journal."""
        self.heal()
        self.process.wait_for_output(r"ankka  http")  # before that a SIGTERM ends it as any program that has not begun
        assert self.sidecar.stop() == 0
        assert self.process.stop() == 0
        violations = check_sqlite(self.folder / "journal.db")
        assert violations == [], "\n".join(map(str, violations))


def effects(bank: Bank, wallet: str) -> list[int]:
    """What changed a wallet, in order."""
    return [item["detail"]["event"] for item in bank.items(f"wallet/{wallet}")]
