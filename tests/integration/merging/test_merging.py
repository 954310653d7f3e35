"""W14: what commands change while a step runs is not lost; a process puts both together, or another one if that dies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.support.programs import Programs, Sidecar, wait_for

SERVICE = "tests.integration.merging.parcels"


class Packing:
    """An instance whose step `pack` has begun; `open` lets it answer."""

    def __init__(self, programs: Programs, sidecar: Sidecar, component: str = "parcel") -> None:
        self.programs = programs
        self.sidecar = sidecar
        self.path = f"/v1/{component}/p"
        self.command("start")
        self.ledger_has("pack 1")

    def command(self, name: str, text: str | None = None) -> None:
        """A command that is done."""
        answer = self.sidecar.http.post(f"{self.path}/{name}", **({} if text is None else {"json": text}))  # type: ignore[arg-type]
        assert answer.status_code == 204, answer.text

    def open(self) -> None:
        """The step may answer."""
        (self.programs.folder / "gate-p").touch()

    def end(self) -> dict[str, Any]:
        """The end state."""
        ended: dict[str, Any] = self.sidecar.http.get(f"{self.path}/ankka:await").raise_for_status().json()
        return ended

    def timeline(self) -> list[dict[str, Any]]:
        """Its journal."""
        items: list[dict[str, Any]] = self.sidecar.http.get(f"{self.path}/ankka:journal").raise_for_status().json()["items"]
        return items

    def types(self) -> list[str]:
        """The types of its journal."""
        return [item["type"] for item in self.timeline()]

    @property
    def ledger(self) -> list[str]:
        """What ran."""
        return [line.partition(" ")[2] for line in (self.programs.folder / "ledger").read_text().splitlines()]

    def ledger_has(self, line: str) -> None:
        """Wait until it ran."""
        path = self.programs.folder / "ledger"
        wait_for(lambda: path.exists() and line in self.ledger, f"{line!r} in the ledger")


def packing(programs: Programs, component: str = "parcel", *, faults: str = "", processes: int = 1) -> Packing:
    """A sidecar, its processes, and an instance whose step runs in one of them."""
    sidecar = programs.sidecar("--cancel-grace", "1500ms", environment={"ANKKA_FAULTS": faults} if faults else {})
    for _ in range(processes):
        process = programs.process(SERVICE, sidecar)
        sidecar.wait_for_output(rf"process {process.pid} of \S+ attached")
    return Packing(programs, sidecar, component)


def test_a_note_that_is_added_while_a_step_runs_is_in_the_end_state(programs: Programs) -> None:
    parcel = packing(programs)
    parcel.command("note", "fragile")
    parcel.command("note", "upright")
    parcel.open()
    assert parcel.end() == {"notes": ["fragile", "upright"], "status": "packed", "weight": 1}
    started, one, two, transitioned, ended = parcel.timeline()
    assert [item["type"] for item in (started, one, two, ended)] == ["started", "updated", "updated", "ended"]
    assert transitioned["detail"] == {"to": "send", "by": "pack", "merged": [2, 3]}


def test_where_both_changed_a_field_the_steps_value_stands_and_the_event_says_so(programs: Programs) -> None:
    parcel = packing(programs)
    parcel.command("set", "postponed")
    parcel.command("note", "fragile")
    parcel.open()
    assert parcel.end() == {"notes": ["fragile"], "status": "packed", "weight": 1}
    assert parcel.timeline()[3]["detail"] == {"to": "send", "by": "pack", "merged": [2, 3], "both": ["status"]}


def test_a_workflow_may_merge_by_itself(programs: Programs) -> None:
    parcel = packing(programs, "own-merge")
    parcel.command("set", "postponed")
    parcel.open()
    assert parcel.end() == {"notes": [], "status": "postponed and packed", "weight": 1}
    assert parcel.timeline()[2]["detail"] == {"to": "send", "by": "pack", "merged": [2]}


def test_without_a_change_nothing_is_merged(programs: Programs) -> None:
    parcel = packing(programs, "own-merge")
    parcel.open()
    assert parcel.end()["status"] == "packed"
    assert "merge" not in parcel.ledger


def test_a_merge_that_raises_is_a_fault_of_the_step(programs: Programs) -> None:
    parcel = packing(programs, "own-merge")
    (programs.folder / "raise").touch()
    parcel.command("set", "postponed")
    parcel.open()
    # The retry is given the present state, so there is nothing to merge.
    assert parcel.end() == {"notes": [], "status": "packed", "weight": 1}
    assert parcel.types() == ["started", "updated", "retried", "transitioned", "ended"]
    error = parcel.timeline()[2]["detail"]["error"]
    assert error.startswith("step 'pack' failed: its state cannot be merged with the commands'")
    assert "merge_state of 'own-merge' failed: ValueError: these two do not go together" in error
    assert parcel.ledger == ["pack 1", "merge", "pack 2", "send 1"]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_process_that_dies_in_the_merge_leaves_it_to_another_and_the_step_does_not_run_again(programs: Programs, processes: int) -> None:
    parcel = packing(programs, "own-merge", processes=processes)
    (programs.folder / "die").touch()
    parcel.command("set", "postponed")
    parcel.open()
    parcel.ledger_has("merge")
    if processes == 1:
        programs.process(SERVICE, parcel.sidecar)
    assert parcel.end() == {"notes": [], "status": "postponed and packed", "weight": 1}
    assert parcel.types() == ["started", "updated", "transitioned", "ended"]
    assert parcel.ledger == ["pack 1", "merge", "merge", "send 1"]


def test_a_sidecar_that_dies_before_the_merge_asks_for_it_after_its_restart(programs: Programs) -> None:
    # The process has the answer until it is acknowledged; the base is read from the journal.
    parcel = packing(programs, "own-merge", faults="merge.before-send=kill")
    parcel.command("set", "postponed")
    parcel.command("note", "fragile")
    parcel.open()
    parcel.sidecar.ended()
    environment = dict(parcel.sidecar.environment)
    parcel.sidecar.environment = {name: value for name, value in environment.items() if name != "ANKKA_FAULTS"}
    parcel.sidecar = programs.again(parcel.sidecar)
    assert parcel.end() == {"notes": ["fragile"], "status": "postponed and packed", "weight": 1}
    assert parcel.types() == ["started", "updated", "updated", "transitioned", "ended"]
    assert parcel.ledger == ["pack 1", "merge", "send 1"]


def test_what_a_command_changed_before_and_after_the_sidecars_death_is_merged(programs: Programs) -> None:
    parcel = packing(programs)
    parcel.command("note", "before")
    parcel.sidecar.kill()
    parcel.sidecar = programs.again(parcel.sidecar)
    parcel.sidecar.wait_until_ready()
    parcel.command("note", "after")
    parcel.open()
    assert parcel.end() == {"notes": ["before", "after"], "status": "packed", "weight": 1}
    assert parcel.ledger == ["pack 1", "send 1"]
    assert parcel.timeline()[3]["detail"]["merged"] == [2, 3]


def test_the_next_attempt_after_a_death_is_given_what_commands_have_changed(programs: Programs) -> None:
    sidecar = programs.sidecar("--cancel-grace", "1s")
    process = programs.process(SERVICE, sidecar)
    parcel = Packing(programs, sidecar)
    parcel.command("note", "before")
    process.kill()
    programs.process(SERVICE, sidecar)
    parcel.ledger_has("pack 2")
    parcel.command("note", "after")
    parcel.open()
    assert parcel.end() == {"notes": ["before", "after"], "status": "packed", "weight": 1}
    (transitioned,) = [item for item in parcel.timeline() if item["type"] == "transitioned"]
    assert len(transitioned["detail"]["merged"]) == 1


@pytest.mark.parametrize("component", ["parcel", "own-merge"])
def test_no_note_that_was_acknowledged_is_lost_however_many_come_while_the_step_answers(programs: Programs, component: str) -> None:
    # W14, and steady commands do not keep the step from ending
    parcel = packing(programs, component)
    taken: list[str] = []

    def write(writer: int) -> None:
        for number in range(40):
            text = f"{writer}.{number}"
            parcel.command("note", text)
            taken.append(text)
            if (writer, number) == (0, 10):
                parcel.open()

    with ThreadPoolExecutor(8) as pool:
        for coming in [pool.submit(write, writer) for writer in range(8)]:
            coming.result()
    parcel.end()
    state = parcel.sidecar.http.get(f"{parcel.path}/state").json()
    assert (sorted(state["notes"]), state["weight"]) == (sorted(taken), 1)
    assert parcel.ledger.count("pack 1") == 1
