"""kill -9 of the sidecar at every fault point of one scenario that does all there is to do; see `trip.py` and `drive.py`.

Each case is one visit of a point. What failed prints the `ANKKA_FAULTS` that replays it.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from ankka_sidecar.ports.faults import POINTS

from tests.chaos.drive import Drive
from tests.chaos.judge import judge
from tests.chaos.spread import spread
from tests.integration.support.programs import Programs

pytestmark = [pytest.mark.chaos, pytest.mark.slow]

VISITS: Final = {
    "append.before": 60,
    "append.after": 60,
    "command.before-send": 28,
    "query.before-send": 3,
    "step.before-send": 36,
    "step.after-send": 36,
    "step.answered": 36,
    "cancel.before-send": 1,
    "fold.before-send": 2,
    "merge.before-send": 1,
    "fingerprint.before-send": 2,
    "find.before": 3,
    "ack.before-send": 36,
    "reply.before-send": 82,
    "snapshot.before": 1,
    "snapshot.after": 1,
    "prune.before": 2,
    "prune.after": 2,
    "listing.before": 33,
    "commit.before": 66,
    "commit.after": 66,
    "processes.noted": 1,
}
"""How often the scenario comes to each point; the first test counts, and says what to write here when it has changed."""


def test_the_scenario_comes_to_every_fault_point(programs: Programs, tmp_path: Path) -> None:
    drive = Drive(programs, faults=f"count:{tmp_path / 'visits'}")
    drive.run()
    counted = Counter((tmp_path / "visits").read_text().split())
    judge(drive, tmp_path, process_died=False)
    assert not set(POINTS) - counted.keys(), "points the scenario never comes to: no kill there is tested"
    # Commits are grouped by chance, and how often a lifecycle is asked for is a matter of time: a few more or less are the same.
    wrong = {point for point in POINTS if abs(counted[point] - VISITS[point]) > max(1, VISITS[point] // 3)}
    assert not wrong, f"the scenario has changed; write into VISITS: {dict(counted)}"


@pytest.mark.parametrize(("point", "visit"), [(point, visit) for point in POINTS for visit in spread(VISITS[point])])
def test_all_is_well_after_a_kill_at(programs: Programs, tmp_path: Path, point: str, visit: int) -> None:  # F01 F15 F17 F84 F86
    faults = f"{point}:{visit}=kill"
    try:
        drive = Drive(programs, faults=faults)
        drive.run()
        if not drive.kills:
            drive.kill_sidecar()  # that visit did not come this time: this is a kill after everything
        judge(drive, tmp_path, process_died=False)
    except AssertionError as error:
        error.add_note(f"replay with ANKKA_FAULTS={faults}")
        raise
