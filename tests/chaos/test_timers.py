"""Deadlines that pass while all is down, or while sidecars come and go (BUGS, section B)."""

import time
from datetime import datetime

import pytest

from tests.chaos.stand import Stand
from tests.integration.support.programs import Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow]


def instants(stand: Stand, instance: str, kind: str) -> list[datetime]:
    """When events of that kind happened."""
    return [datetime.fromisoformat(item["at"]) for item in stand.items(instance) if item["type"] == kind]


def test_w9_a_deadline_that_passed_while_all_was_down_fires_once_at_the_start(programs: Programs) -> None:  # F22 F23
    stand = Stand(programs)
    process = stand.process()
    stand.start("j", "pause:1000", "plain")
    stand.until_status("j", "Paused")
    stand.sidecar.kill()
    process.kill()
    time.sleep(1.5)  # what is tested is the time that passes while nothing runs
    stand.restart()
    stand.process()
    started = time.monotonic()
    assert stand.ended("j") == ["start", "pause", "plain"]
    assert time.monotonic() - started < 2
    stand.restart()
    stand.restart()
    assert stand.kinds("j") == ["started", "paused", "resumed", "ended"]
    assert stand.runs() == {("j", "pause"): 1, ("j", "plain"): 1}


def test_w9_a_restart_does_not_begin_a_wait_anew(programs: Programs) -> None:  # F30
    stand = Stand(programs)
    stand.process()
    stand.start("j", "pause:3000", "plain")
    stand.until_status("j", "Paused")
    until = stand.lifecycle("j")["pausedUntil"]
    stand.restart()
    stand.restart()
    assert stand.lifecycle("j")["pausedUntil"] == until
    assert stand.ended("j") == ["start", "pause", "plain"]
    late = (instants(stand, "j", "resumed")[0] - datetime.fromisoformat(until)).total_seconds()
    assert 0 <= late < 1
    stand.check()


def test_w9_no_timer_is_lost_over_rolling_restarts(programs: Programs) -> None:  # F25, on one node
    stand = Stand(programs, "--cancel-grace", "2s")
    stand.process()
    names = [f"j{number}" for number in range(100)]
    for number, name in enumerate(names):
        stand.start(name, f"pause:{500 + 40 * number}", "plain")
    for _ in range(2):
        assert stand.sidecar.stop() == 0
        stand.restart()
        stand.restart()
        wait_for(lambda: stand.sidecar.is_ready, "the process is back")
    for name in names:
        assert stand.ended(name) == ["start", "pause", "plain"]
    assert stand.runs() == {(name, step): 1 for name in names for step in ("pause", "plain")}
    for name in names:
        # A step that became due while its process was away counts as sent by the sidecar that died then.
        kinds = [kind for kind in stand.kinds(name) if kind != "interrupted"]
        assert kinds == ["started", "paused", "resumed", "ended"]
    stand.check()
