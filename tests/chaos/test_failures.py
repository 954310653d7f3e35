"""Retries, compensation and bad instances under kills; commits whose fate is unknown (BUGS, sections E, F, I)."""

from contextlib import suppress

import httpx
import pytest

from tests.chaos.stand import Stand
from tests.integration.support.programs import Programs

pytestmark = [pytest.mark.chaos, pytest.mark.slow]


def test_a_commit_whose_fate_is_unknown_is_looked_up(programs: Programs) -> None:  # F55
    """Each commit of a while succeeds and says that it has not: everything is there once, and the next call works."""
    faults = ",".join(f"commit.after:{visit}=raise" for visit in range(6, 30, 2))
    stand = Stand(programs, faults=faults)
    stand.process()
    stand.start("j", "gate:go", "plain", "plain")
    told = [stand.post("j/note", f"n{number}").status_code for number in range(8)]
    assert told == [204] * 8
    assert stand.get("j/show")["notes"] == [f"n{number}" for number in range(8)]
    stand.open("go")
    assert stand.ended("j") == ["start", "gate", "plain", "plain"]
    assert stand.kinds("j") == ["started", *["updated"] * 8, "transitioned", "transitioned", "ended"]
    assert stand.runs() == {("j", "gate"): 1, ("j", "plain"): 2}
    assert "the fate of a commit is unknown" in stand.sidecar.output
    stand.check()


def test_w11_one_poison_instance_does_not_keep_the_others(programs: Programs) -> None:  # F63
    """One whose step ends its process, among 200; a supervisor starts the process again each time."""
    stand = Stand(programs)
    names = [f"j{number}" for number in range(200)]
    process = stand.process()
    for name in names:
        stand.start(name, "gate:go", "plain", "plain")
    stand.start("poison", "exit:repaired")
    assert process.ended() == 1
    stand.open("go")
    deaths = 1
    open_names = set(names)
    process = stand.process()
    while open_names:
        if process.running.poll() is not None:
            deaths += 1
            process = stand.process()
        open_names = {name for name in open_names if stand.lifecycle(name)["status"] != "Completed"}
    assert deaths <= 6, "the waits between its attempts grow, and then it runs alone, so the others have their time"
    view = stand.lifecycle("poison")
    assert (view["status"], view["pendingStep"], view["retries"]) == ("Running", "exit", {})
    runs = stand.runs()
    assert {runs[name, "plain"] for name in names} == {2}
    assert max(runs[name, "gate"] for name in names) <= 1 + deaths
    assert stand.sidecar.http.delete("/v1/job/poison").status_code == 204
    stand.check()


def test_w6_retries_are_counted_over_restarts(programs: Programs) -> None:  # F84 F86
    """The sidecar dies after each failure is on the disk, and after the failover is."""
    stand = Stand(programs, "--cancel-grace", "2s", faults="append.after:2=kill")
    stand.process()
    stand.start("j", "raise", "plain")
    for _ in range(4):
        stand.died()
        # The next attempt is first interrupted or not, as the process was sent it or not: its fault is the append after that.
        stand.restart(faults="append.after:2=kill")
    stand.restart()
    assert stand.ended("j") == ["start", "undo"]
    kinds = [kind for kind in stand.kinds("j") if kind != "interrupted"]
    assert kinds == ["started", "retried", "retried", "retried", "failed-over", "ended"]
    assert stand.runs() == {("j", "raise"): 4, ("j", "undo"): 1}
    assert stand.lifecycle("j")["retries"] == {"raise": 3}
    stand.check()


@pytest.mark.parametrize("point", ["append.before", "append.after", "step.before-send", "step.answered", "ack.before-send"])
@pytest.mark.parametrize("visit", range(1, 6))
def test_w6_the_failover_is_entered_once_whatever_dies_on_the_way(programs: Programs, point: str, visit: int) -> None:  # F86
    """Started, three retries, failed over, ended: five attempts, and an effect ahead of each."""
    stand = Stand(programs, "--cancel-grace", "2s", faults=f"{point}:{visit}=kill")
    stand.process()
    with suppress(httpx.TransportError):
        stand.start("j", "raise", "plain")
    stand.died()
    stand.restart()
    stand.sidecar.wait_until_ready()
    if stand.lifecycle("j")["status"] == "NotStarted":
        assert (point, visit) == ("append.before", 1)
        stand.start("j", "raise", "plain")
    assert stand.ended("j") == ["start", "undo"]
    kinds = [kind for kind in stand.kinds("j") if kind != "interrupted"]
    assert kinds == ["started", "retried", "retried", "retried", "failed-over", "ended"]
    assert stand.runs() == {("j", "raise"): 4, ("j", "undo"): 1}
    stand.check()
