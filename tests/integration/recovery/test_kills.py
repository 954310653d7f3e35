"""kill -9 of sidecar, process or both, while instances are in the second of four steps."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.recovery.stage import Stage

COUNT = 20
MODULE = "tests.integration.recovery.four_steps"
NAMES = [f"w{number}" for number in range(COUNT)]


def kill_sidecar(stage: Stage) -> None:
    stage.kill_sidecar()
    stage.start_sidecar()


def kill_process(stage: Stage) -> None:
    stage.kill_process()
    stage.start_process()


def kill_both(stage: Stage) -> None:
    stage.kill_sidecar()
    stage.kill_process()
    stage.start_sidecar()
    stage.start_process()


@pytest.mark.parametrize(("kill", "seconds"), [(kill_sidecar, 1), (kill_process, 2), (kill_both, 2)])
def test_w11_instances_resume_at_the_step_they_had_reached(  # F01 F05 F17 F22
    tmp_path: Path, kill: Callable[[Stage], None], seconds: int
) -> None:
    """`seconds` is how often the second step runs: once where its process lived on, twice where it died in it."""
    with Stage(tmp_path, MODULE) as stage:
        for name in NAMES:
            assert stage.post(f"walk/{name}/start", f"word-{name}").status_code == 204
        assert stage.post("walk/resting/pause", 3_600).status_code == 204
        stage.until("the long pause has begun", lambda: stage.get("walk/resting/ankka:lifecycle")["status"] == "Paused")
        paused_until = stage.get("walk/resting/ankka:lifecycle")["pausedUntil"]
        stage.until("all are in the second step", lambda: sum(stage.runs()[name, "second"] for name in NAMES) == COUNT)

        kill(stage)
        (tmp_path / "gate").touch()

        for name in NAMES:
            ended = stage.get(f"walk/{name}/ankka:await?timeout=20")
            assert ended == {"trail": [f"{step}:word-{name}" for step in ("first", "second", "third", "fourth")]}
        runs = stage.runs()
        assert {name: [runs[name, step] for step in ("first", "second", "third", "fourth")] for name in NAMES} == {
            name: [1, seconds, 1, 1] for name in NAMES
        }
        for name in NAMES:
            lifecycle = stage.get(f"walk/{name}/ankka:lifecycle")
            assert (lifecycle["status"], lifecycle["retries"], lifecycle["run"]) == ("Completed", {}, 1)
            kinds = [item["type"] for item in stage.journal(f"walk/{name}")]
            assert kinds == ["started", "transitioned", *["interrupted"] * (seconds - 1), "transitioned", "transitioned", "ended"]
        assert stage.get("walk/resting/ankka:lifecycle")["pausedUntil"] == paused_until


def test_w9_a_pause_keeps_its_deadline_over_a_restart_and_fires_once(tmp_path: Path) -> None:  # F22 F23 F30
    with Stage(tmp_path, MODULE) as stage:
        assert stage.post("walk/resting/pause", 2).status_code == 204
        stage.until("the pause has begun", lambda: stage.get("walk/resting/ankka:lifecycle")["status"] == "Paused")
        kill_both(stage)
        assert stage.get("walk/resting/ankka:await")["trail"] == ["rest:2", "fourth:rested"]
        kill_both(stage)
        kinds = [item["type"] for item in stage.journal("walk/resting")]
        assert kinds == ["started", "paused", "resumed", "ended"]
        assert stage.runs() == {("resting", "rest"): 1, ("resting", "fourth"): 1}


def test_w13_steps_wait_for_a_process_and_calls_are_told(tmp_path: Path) -> None:  # F43
    with Stage(tmp_path, MODULE, "--attach-wait", "200ms") as stage:
        assert stage.post("walk/w/start", "x").status_code == 204
        stage.until("it is in the second step", lambda: stage.runs()["w", "second"] == 1)
        stage.kill_process()
        stage.until("the step waits", lambda: "a process that runs step 'second'" in str(stage.get("walk/w/ankka:lifecycle")["waitingFor"]))
        refused = stage.post("walk/w/start", "y")
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
        assert "no process that runs 'walk' is attached" in refused.json()["detail"]
        (tmp_path / "gate").touch()
        stage.start_process()
        assert len(stage.get("walk/w/ankka:await")["trail"]) == 4
