"""What must be true after the scenario of `drive.py`, whatever was killed in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from ankka_sidecar.verify import check_sqlite

from tests.chaos.drive import PLANS, Drive

TRAILS: Final[dict[str, tuple[str, ...]]] = {
    "call": ("begin", "call", "last"),
    "rest": ("begin", "rest", "last"),
    "retry": ("begin", "retry", "last"),
    "fail": ("begin", "undo", "last"),
    "slow": ("begin", "late", "last"),
    "once": ("begin", "once", "last"),
    "merge": ("begin", "merge", "last"),
    "removed": ("begin", "call", "last"),
}
FAULTS: Final = {("retry", "retry"): 1, ("fail", "fail"): 2, ("slow", "slow"): 1}
"""How often a step fails by itself: (instance, step)."""
PLAN_OF: Final = {"noted": "wait", "cancelled": "wait", "removed": "call"}
"""The plan of those that are not named after theirs; of `removed`, that of its second life."""
Runs = Counter[tuple[str, str, int]]
"""How often each attempt ran: (instance, step, attempt)."""


def ledger(folder: Path) -> Runs:
    """All runs of steps, but those of the first life of `removed`."""
    lines = [line.split() for line in (folder / "ledger").read_text().splitlines()]
    names = {f"{name}/{PLAN_OF.get(name, name)}": name for name in (*PLANS, *PLAN_OF)}
    return Counter((names[trip], step, int(attempt)) for trip, step, attempt in lines if trip in names)


def runs_of(runs: Runs, name: str, step: str) -> int:
    """How often that step of that instance ran."""
    return sum(count for (instance, ran, _), count in runs.items() if (instance, ran) == (name, step))


def judge(drive: Drive, folder: Path, *, process_died: bool) -> None:
    """All rules; stops both programs for the last of them. `process_died`: a killed process is why a step may run again."""
    journals = {name: items_of(drive, name) for name in (*PLANS, "noted", "cancelled", "removed")}
    states = {name: drive.read(f"/v1/trip/{name}/show") for name in (*PLANS, "noted", "removed")}
    ends(drive, states)
    runs = ledger(folder)
    assert max(runs.values()) == 1, f"an attempt ran twice (W4): {runs.most_common(3)}"
    for name, items in journals.items():
        runs_are_justified(name, items, runs, kills=drive.kills, process_died=process_died)
    commands_are_there_once(drive, states, runs)
    assert drive.lifecycle("deleted")["status"] == "NotStarted"
    drive.stop()
    violations = check_sqlite(folder / "journal.db")
    assert violations == [], "\n".join(map(str, violations))


def items_of(drive: Drive, instance: str) -> list[dict[str, Any]]:
    """The timeline of a trip's present life."""
    items: list[dict[str, Any]] = drive.read(f"/v1/trip/{instance}/ankka:journal?limit=1000")["items"]
    generation = max((item["generation"] for item in items), default=0)
    return [item for item in items if item["generation"] == generation]


def ends(drive: Drive, states: dict[str, Any]) -> None:
    """Every instance is where its plan leads."""
    for name, trail in TRAILS.items():
        took = tuple(states[name]["trail"])
        allowed = {trail}
        if name == "once":
            allowed.add(("begin", "late", "last"))  # it was interrupted: for this step that is a fault
        assert took in allowed, f"{name} went {took}, expected {trail}"
    failed = drive.lifecycle("cancelled")
    assert (failed["status"], failed["failure"]) == ("Failed", "cancelled: enough")
    assert drive.lifecycle("noted")["status"] == "Paused"


def runs_are_justified(name: str, items: list[dict[str, Any]], runs: Runs, *, kills: int, process_died: bool) -> None:
    """More than one run of a step needs a fault, or the death of its process (W6, W11)."""
    interrupted = Counter(item["step"] for item in items if item["type"] == "interrupted")
    faulted = Counter(item["step"] for item in items if item["type"] == "retried")
    for item in items:
        if item["type"] == "failed-over":
            faulted[item["step"]] += 1
    for step in {step for instance, step, _ in runs if instance == name}:
        times = runs_of(runs, name, step)
        own = FAULTS.get((name, step), 0)
        extra = kills if step == "once" else 0  # its interruption is a fault; a call that is cut off is made again by its key
        where = f"step {step} of {name}: {times} runs, {interrupted[step]} interruptions, {faulted[step]} faults, {kills} kills"
        assert interrupted[step] <= kills, where
        assert own - interrupted[step] <= faulted[step] <= own + extra, where
        again = faulted[step] - (step in {"fail", "slow"})  # their last fault leads elsewhere, not to another run
        assert 1 <= times <= 1 + again + (interrupted[step] if process_died else 0), where


def commands_are_there_once(drive: Drive, states: dict[str, Any], runs: Runs) -> None:
    """I3, I5: an acknowledged command is there once, a refused one not at all, one of unknown fate once or not."""
    told = drive.told
    notes: Counter[str] = Counter(states["noted"]["notes"])
    assert not [text for text in notes if text.startswith("no ")], notes
    assert all(notes[text] == 1 for text in told.notes), f"acknowledged {told.notes}, found {notes}"
    assert all(notes[text] <= 1 for text in told.unknown_notes), f"unknown {told.unknown_notes}, found {notes}"
    assert all(notes[text] == 1 for text in told.keyed_notes), f"noted with a key {told.keyed_notes}, found {notes} (I4)"
    assert sum(notes.values()) <= len(told.notes) + len(told.unknown_notes) + len(told.keyed_notes), notes
    total = drive.read("/v1/purse/own/total")
    assert told.done["own"] <= total <= told.done["own"] + told.unknown["own"], (total, told)
    for name, step in (("call", "call"), ("fail", "undo"), ("removed", "call")):
        assert drive.read(f"/v1/purse/{name}/total") == 1, f"the purse of {name}, filled by {runs_of(runs, name, step)} runs of one visit (W16)"
    merged: Counter[str] = Counter(states["merge"]["notes"])
    assert merged, "the command that ran beside the step is lost (W14)"
    assert max(merged.values()) == 1, merged
