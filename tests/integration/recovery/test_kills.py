"""kill -9 of sidecar, process or both, while instances are in the second of four steps."""

from collections.abc import Callable

import pytest

from tests.integration.recovery.stage import Stage
from tests.integration.support.programs import Programs, wait_for

COUNT = 20
MODULE = "tests.integration.recovery.four_steps"
NAMES = [f"w{number}" for number in range(COUNT)]


def kill_sidecar(stage: Stage) -> None:
    stage.sidecar.kill()
    stage.start_sidecar()


def kill_process(stage: Stage) -> None:
    stage.process.kill()
    stage.start_process()


def kill_both(stage: Stage) -> None:
    stage.sidecar.kill()
    stage.process.kill()
    stage.start_sidecar()
    stage.start_process()


@pytest.mark.parametrize(("kill", "seconds"), [(kill_sidecar, 1), (kill_process, 2), (kill_both, 2)])
def test_w11_instances_resume_at_the_step_they_had_reached(  # F01 F05 F17 F22
    programs: Programs, kill: Callable[[Stage], None], seconds: int
) -> None:
    """`seconds` is how often the second step runs: once where its process lived on, twice where it died in it."""
    stage = Stage(programs, MODULE)
    for name in NAMES:
        assert stage.sidecar.post(f"walk/{name}/start", f"word-{name}").status_code == 204
    assert stage.sidecar.post("walk/resting/pause", 3_600).status_code == 204
    wait_for(lambda: stage.sidecar.lifecycle("walk/resting")["status"] == "Paused", "the long pause has begun")
    paused_until = stage.sidecar.lifecycle("walk/resting")["pausedUntil"]
    wait_for(lambda: sum(stage.runs()[name, "second"] for name in NAMES) == COUNT, "all are in the second step")

    kill(stage)
    (programs.folder / "gate").touch()

    for name in NAMES:
        ended = stage.sidecar.get(f"walk/{name}/ankka:await?timeout=20")
        assert ended == {"trail": [f"{step}:word-{name}" for step in ("first", "second", "third", "fourth")]}
    runs = stage.runs()
    assert {name: [runs[name, step] for step in ("first", "second", "third", "fourth")] for name in NAMES} == {
        name: [1, seconds, 1, 1] for name in NAMES
    }
    for name in NAMES:
        lifecycle = stage.sidecar.lifecycle(f"walk/{name}")
        assert (lifecycle["status"], lifecycle["retries"], lifecycle["run"]) == ("Completed", {}, 1)
        kinds = [item["type"] for item in stage.sidecar.timeline(f"walk/{name}")]
        assert kinds == ["started", "transitioned", *["interrupted"] * (seconds - 1), "transitioned", "transitioned", "ended"]
    assert stage.sidecar.lifecycle("walk/resting")["pausedUntil"] == paused_until


def test_w9_a_pause_keeps_its_deadline_over_a_restart_and_fires_once(programs: Programs) -> None:  # F22 F23 F30
    stage = Stage(programs, MODULE)
    assert stage.sidecar.post("walk/resting/pause", 2).status_code == 204
    wait_for(lambda: stage.sidecar.lifecycle("walk/resting")["status"] == "Paused", "the pause has begun")
    kill_both(stage)
    assert stage.sidecar.get("walk/resting/ankka:await")["trail"] == ["rest:2", "fourth:rested"]
    kill_both(stage)
    kinds = [item["type"] for item in stage.sidecar.timeline("walk/resting")]
    assert kinds == ["started", "paused", "resumed", "ended"]
    assert stage.runs() == {("resting", "rest"): 1, ("resting", "fourth"): 1}


def test_w13_steps_wait_for_a_process_and_calls_are_told(programs: Programs) -> None:  # F43
    stage = Stage(programs, MODULE, "--attach-wait", "200ms")
    assert stage.sidecar.post("walk/w/start", "x").status_code == 204
    wait_for(lambda: stage.runs()["w", "second"] == 1, "it is in the second step")
    stage.process.kill()
    wait_for(lambda: "a process that runs step 'second'" in str(stage.sidecar.lifecycle("walk/w")["waitingFor"]), "the step waits")
    refused = stage.sidecar.post("walk/w/start", "y")
    assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
    assert "no process that runs 'walk' is attached" in refused.json()["detail"]
    (programs.folder / "gate").touch()
    stage.start_process()
    assert len(stage.sidecar.get("walk/w/ankka:await")["trail"]) == 4
