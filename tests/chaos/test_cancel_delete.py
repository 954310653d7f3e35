"""Cancel and delete while a step runs, hangs, or has nobody who runs it (BUGS, section D)."""

import pytest

from tests.chaos.stand import Stand
from tests.integration.support.programs import Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow]


def cancel(stand: Stand, instance: str) -> None:
    """As an operator does."""
    assert stand.post(f"{instance}/ankka:cancel", {"reason": "enough"}).status_code == 204


def delete(stand: Stand, instance: str, within: float = 5) -> None:
    """As an operator does."""
    answer = stand.sidecar.http.delete(f"/v1/job/{instance}", timeout=within)
    assert answer.status_code == 204, answer.text


def test_w18_the_result_of_a_cancelled_step_is_not_stored(programs: Programs) -> None:  # F46
    stand = Stand(programs, "--cancel-grace", "1s")
    process = stand.process()
    stand.start("j", "deaf:go", "plain")
    stand.until_runs("j", "deaf")
    cancel(stand, "j")
    stand.open("go")
    assert process.stop() == 0  # it has ended the step, and heard what became of the answer
    view = stand.lifecycle("j")
    assert (view["status"], view["failure"]) == ("Failed", "cancelled: enough")
    assert stand.kinds("j") == ["started", "failed"]
    assert stand.runs() == {("j", "deaf"): 1}
    stand.check()


def test_w18_a_cancelled_run_starts_no_further_step(programs: Programs) -> None:  # F47
    stand = Stand(programs, "--cancel-grace", "1s")
    stand.process()
    stand.start("j", "gate:go", "plain", "plain")
    stand.until_runs("j", "gate")
    cancel(stand, "j")
    stand.open("go")
    stand.restart()
    stand.start("after", "plain")
    assert stand.ended("after") == ["start", "plain"]
    assert stand.runs() == {("j", "gate"): 1, ("after", "plain"): 1}
    assert stand.kinds("j") == ["started", "failed"]
    stand.check()


def test_w10_what_nobody_runs_can_be_deleted(programs: Programs) -> None:  # F48
    """Never sent, its process having gone; the same after a restart; and one whose command hangs."""
    stand = Stand(programs, "--attach-wait", "100ms", "--cancel-grace", "200ms")
    process = stand.process()
    stand.start("stalled", "gate:never")
    stand.start("sent", "gate:never")
    stand.until_runs("stalled", "gate")
    with pytest.raises(Exception, match="timed out"):
        stand.sidecar.http.post("/v1/job/stalled/stall", timeout=0.3)
    delete(stand, "stalled")
    assert stand.lifecycle("stalled")["status"] == "NotStarted"
    process.kill()
    stand.restart()
    wait_for(lambda: stand.lifecycle("sent")["waitingFor"], "it waits for a process")
    delete(stand, "sent")
    assert stand.lifecycle("sent")["status"] == "NotStarted"
    stand.check()


def test_w10_a_delete_under_a_running_step_ends_it(programs: Programs) -> None:  # F51
    stand = Stand(programs, "--cancel-grace", "300ms")
    process = stand.process()
    stand.start("j", "deaf:go", "plain")
    stand.until_runs("j", "deaf")
    lines = stand.sidecar.output.count("\n")
    delete(stand, "j")
    stand.open("go")
    assert process.stop() == 0
    assert stand.lifecycle("j")["status"] == "NotStarted"
    assert stand.runs() == {("j", "deaf"): 1}
    about_it = [line for line in stand.sidecar.output.splitlines()[lines:] if "job" in line and "process" not in line]
    assert len(about_it) <= 3, about_it
    stand.check()


@pytest.mark.parametrize("restarts", [False, True])
def test_w10_an_id_that_is_used_again_gets_nothing_of_its_first_life(programs: Programs, restarts: bool) -> None:  # F52
    """The first life's step answers, and its pause's deadline passes, in the second life."""
    stand = Stand(programs, "--cancel-grace", "2s")
    process = stand.process()
    stand.start("step", "deaf:go", "plain")
    stand.start("timer", "pause:1500", "plain", "plain")
    stand.until_runs("step", "deaf")
    stand.until_status("timer", "Paused")
    for name in ("timer", "step"):
        delete(stand, name)
        stand.start(name, "gate:end")
        stand.until_runs(name, "gate")
    if restarts:
        stand.restart()
        wait_for(lambda: stand.sidecar.is_ready, "the process is back")
    stand.open("go")
    stand.start("later", "pause:1500", "plain")
    assert stand.ended("later") == ["start", "pause", "plain"]
    stand.open("end")
    for name in ("step", "timer"):
        assert stand.ended(name) == ["start", "gate"]
        assert stand.kinds(name) == ["started", "ended"]
    assert process.stop() == 0
    assert stand.runs() == {
        ("step", "deaf"): 1,
        ("step", "gate"): 1,
        ("timer", "pause"): 1,
        ("timer", "gate"): 1,
        ("later", "pause"): 1,
        ("later", "plain"): 1,
    }
    stand.check()
