"""kill -9 of the process at every place of one scenario: in a handler, behind its answer, before its acknowledgement.

Each case is one visit of a place of `dying.py`. What failed prints the `DIES_AT` that replays it.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.drive import Drive
from tests.chaos.dying import PLACES
from tests.chaos.judge import judge
from tests.chaos.spread import spread
from tests.integration.support.programs import Programs

pytestmark = [pytest.mark.chaos, pytest.mark.slow]

VISITS: Final = {
    "step running": 36,
    "step answered": 35,
    "step written": 35,
    "step acknowledged": 36,
    "command running": 27,
    "command answered": 27,
    "command written": 20,
    "query running": 1,
    "event applying": 8,
    "merge running": 1,
}
"""How often the scenario comes to each place; the first test counts, and says what to write here when it has changed."""


def test_the_scenario_comes_to_every_place(programs: Programs, tmp_path: Path) -> None:
    drive = Drive(programs, dies=f"count:{tmp_path / 'visits'}")
    drive.run()
    counted = Counter((tmp_path / "visits").read_text().splitlines())
    judge(drive, tmp_path, process_died=False)
    assert not set(PLACES) - counted.keys(), "places the scenario never comes to: no death there is tested"
    # How often what is idle leaves memory, and is folded again, is a matter of time: a few more or less are the same.
    wrong = {place for place in PLACES if abs(counted[place] - VISITS[place]) > max(1, VISITS[place] // 3)}
    assert not wrong, f"the scenario has changed; write into VISITS: {dict(counted)}"


@pytest.mark.parametrize(("place", "visit"), [(place, visit) for place in PLACES for visit in spread(VISITS[place])])
def test_all_is_well_after_the_process_died_at(programs: Programs, tmp_path: Path, place: str, visit: int) -> None:  # F01 F05 F15 F86
    dies = f"{place}:{visit}"
    try:
        drive = Drive(programs, dies=dies)
        drive.run()
        if not drive.kills:
            drive.kill_process()  # that visit did not come this time: this is a death after everything
        judge(drive, tmp_path, process_died=True)
    except AssertionError as error:
        error.add_note(f"replay with DIES_AT={dies!r}")
        raise
