"""Drives the whole scenario of `trip.py` from outside, whatever dies on the way, and remembers what it was told.

What is answered is done or was refused; what is not (the sidecar died) may be done or not. So each act says how it may
be repeated: a start again until it is refused as a second one, a note never.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from tests.integration.support.programs import Program, Programs, Sidecar

OPTIONS: Final = ("--cancel-grace", "3s", "--attach-wait", "2s", "--passivate-after", "2ms", "--shards", "16")
"""The grace is long enough for a process to come back to a new sidecar, so that an attempt is never taken from one that lives.
What is idle leaves memory at once, so that a purse is folded when it is looked at again."""
MODULE: Final = "tests.chaos.trip"
WITHIN: Final = 30.0
LOOK: Final = 0.01

PLANS: Final = ("call", "rest", "retry", "fail", "slow", "once", "merge")
"""The plans whose instances end by themselves; the instances are named after them."""


@dataclass
class Told:
    """What became of the commands with an effect that counts, by instance: acknowledged, refused, and nobody knows."""

    done: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    unknown_notes: list[str] = field(default_factory=list[str])
    keyed_notes: list[str] = field(default_factory=list[str])
    """Noted with a key, as often as it took: there once each."""


class Drive:
    """See the module. `faults` are the first sidecar's `ANKKA_FAULTS`, `dies` the first process's `DIES_AT`."""

    def __init__(self, programs: Programs, *, faults: str = "", dies: str = "") -> None:
        self._programs = programs
        self.told = Told()
        self.kills = 0
        """Programs that died; none of them but by the fault."""
        self.sidecar = self._first_sidecar(faults)
        self.process = self._start_process(dies)

    # --- programs --------------------------------------------------------------------------------------------------

    def _first_sidecar(self, faults: str) -> Sidecar:
        try:
            return self._programs.sidecar(*OPTIONS, environment={"ANKKA_FAULTS": faults} if faults else {})
        except AssertionError as error:
            if "ended with -9" not in str(error):
                raise
            # it died before it listened
            self.kills += 1
            return self._programs.sidecar(*OPTIONS)

    def _start_process(self, dies: str = "") -> Program:
        environment = {"ANKKA_SIDECAR": self.sidecar.url, **({"DIES_AT": dies} if dies else {})}
        return self._programs.run("-m", MODULE, environment=environment)

    def heal(self) -> None:
        """Start again what has died, without any fault."""
        for name, program in (("sidecar", self.sidecar), ("process", self.process)):
            code = program.running.poll()
            assert code in {None, -9}, f"the {name} ended with {code}; only a kill ends it here"
        if self.sidecar.running.poll() is not None:
            self.kills += 1
            self.sidecar.environment = {}
            self.sidecar = self._programs.again(self.sidecar)
        if self.process.running.poll() is not None:
            self.kills += 1
            self.process = self._start_process()

    def kill_sidecar(self) -> None:
        """Kill the sidecar now, and start it again."""
        self.sidecar.kill()
        self.heal()

    def kill_process(self) -> None:
        """Kill the process now, and start it again."""
        self.process.kill()
        self.heal()

    def stop(self) -> None:
        """End both in an orderly way; the sidecar first, whose file is then closed."""
        assert self.sidecar.stop() == 0
        assert self.process.stop() == 0

    # --- calls -----------------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: Any = None, *, key: str = "", content: bytes = b"") -> httpx.Response | None:
        """One request, with `body` or these bytes of JSON; `None` if it is unknown what became of it."""
        headers = {**({"Idempotency-Key": key} if key else {}), **({"Content-Type": "application/json"} if content else {})}
        sent: dict[str, Any] = {"content": content} if content else {"json": body} if body is not None else {}
        until = time.monotonic() + WITHIN
        while True:
            self.heal()
            try:
                answer = self.sidecar.http.request(method, path, headers=headers, **sent)
            except httpx.ConnectError:
                assert time.monotonic() < until, f"{method} {path}: no sidecar answers within {WITHIN:g} s"
                continue  # nothing was sent
            except httpx.TransportError:
                return None
            if answer.status_code != 503:
                unknown = answer.status_code == 504 and answer.json().get("details", {}).get("outcome") == "unknown"
                return None if unknown else answer
            # 503 says that nothing was done, so it may be asked again.
            assert time.monotonic() < until, f"{method} {path}: still 503 after {WITHIN:g} s: {answer.text}"
            time.sleep(LOOK)

    def read(self, path: str) -> Any:
        """What a GET answers; it may be asked as often as it takes."""
        until = time.monotonic() + WITHIN
        while (answer := self.ask("GET", path)) is None:
            assert time.monotonic() < until, f"GET {path}: no answer within {WITHIN:g} s"
        assert answer.status_code == 200, (path, answer.status_code, answer.text)
        return answer.json()

    def insist(self, method: str, path: str, body: Any, repeated: int) -> None:
        """A command that may be sent again until it is done; `repeated` is what a second one is answered."""
        asked_before = False
        until = time.monotonic() + WITHIN
        while (answer := self.ask(method, path, body)) is None:
            asked_before = True
            assert time.monotonic() < until, f"{method} {path}: no answer within {WITHIN:g} s"
        allowed = {204, repeated} if asked_before else {204}
        assert answer.status_code in allowed, f"{method} {path}: expected one of {sorted(allowed)}, got {answer.status_code} {answer.text}"

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Look until it holds."""
        until = time.monotonic() + WITHIN
        while not holds():
            assert time.monotonic() < until, f"{what}: not within {WITHIN:g} s"
            time.sleep(LOOK)

    # --- what the scenario does ------------------------------------------------------------------------------------

    def start(self, instance: str, plan: str) -> None:
        """Start a trip; a second start is refused."""
        self.insist("POST", f"/v1/trip/{instance}/start", plan, 409)

    def start_waiting(self, instance: str) -> None:
        """Start a trip that waits for a command, and see it wait."""
        self.start(instance, "wait")
        self.until(f"{instance} waits", lambda: self.lifecycle(instance)["status"] == "Paused")

    def note(self, instance: str, text: str) -> None:
        """Note a text once; one that begins with "no" is refused."""
        answer = self.ask("POST", f"/v1/trip/{instance}/note", text)
        if answer is None:
            self.told.unknown_notes.append(text)
        elif answer.status_code == 200:
            assert not text.startswith("no"), text
            self.told.notes.append(text)
        else:
            assert (answer.status_code, text[:2]) == (400, "no"), answer.text

    def note_keyed(self, instance: str, text: str) -> None:
        """Note a text with a key, twice: the second time with other bytes that mean the same."""
        self.told.keyed_notes.append(text)
        replies: set[str] = set()
        for content in (f'"{text}"', f'  "{text}" '):
            until = time.monotonic() + WITHIN
            while (answer := self.ask("POST", f"/v1/trip/{instance}/note", key=f"key of {text}", content=content.encode())) is None:
                assert time.monotonic() < until, f"{text}: no answer within {WITHIN:g} s"
            assert answer.status_code == 200, answer.text
            replies.add(answer.text)
        assert len(replies) == 1, f"I4: one key, one reply, found {replies}"
        other = self.ask("POST", f"/v1/trip/{instance}/note", "another", key=f"key of {text}")
        assert other is None or other.status_code == 409, other.text

    def add(self, purse: str, amount: int) -> None:
        """Add to a purse once; what is not positive is refused."""
        answer = self.ask("POST", f"/v1/purse/{purse}/add", amount)
        told = self.told.unknown if answer is None else self.told.done if answer.status_code == 200 else self.told.refused
        assert answer is None or (answer.status_code == 200) is (amount > 0), answer.text
        told[purse] += 1

    def lifecycle(self, instance: str) -> dict[str, Any]:
        """The engine's own view of a trip."""
        view: dict[str, Any] = self.read(f"/v1/trip/{instance}/ankka:lifecycle")
        return view

    def await_end(self, instance: str) -> None:
        """Wait until a trip has completed."""
        until = time.monotonic() + WITHIN
        while (view := self.lifecycle(instance))["status"] != "Completed":
            assert time.monotonic() < until, f"{instance} did not end: {view}"
            time.sleep(LOOK)

    def run(self) -> None:
        """The whole scenario, one instance after the other, so that a visit's number means the same each time."""
        for amount in (1, -1, 1, 0, 1):
            self.add("own", amount)
        for plan in PLANS:
            self.start(plan, plan)
            self.await_end(plan)
        self._notes()
        self._operators()
        self.read("/v1/purse/own/total")  # behind its snapshot
        self.read("/v1/purse/call/total")  # without one

    def _notes(self) -> None:
        self.start_waiting("noted")
        for number in range(3):
            self.note("noted", f"note {number}")
            self.note("noted", f"no note {number}")
        self.note_keyed("noted", "keyed note")
        self.read("/v1/trip/noted/show")

    def _operators(self) -> None:
        for instance in ("cancelled", "removed", "deleted"):
            self.start_waiting(instance)
        self.insist("POST", "/v1/trip/cancelled/ankka:cancel", {"reason": "enough"}, 409)
        self.insist("DELETE", "/v1/trip/deleted", None, 404)
        self.insist("POST", "/v1/trip/removed/remove", None, 204)
        # The id is used again: nothing of the first life may reach the second (F52).
        self.start("removed", "call")
        self.await_end("removed")
