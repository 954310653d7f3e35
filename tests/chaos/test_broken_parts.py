"""A part of the sidecar that breaks: a sidecar without its writer ends, an instance goes on, and nobody hangs."""

from tests.chaos.catalogue_stand import Catalogue
from tests.integration.support.programs import Programs


def test_a_sidecar_whose_writer_broke_tells_its_callers_and_ends(programs: Programs) -> None:  # I11
    stand = Catalogue(programs, faults="append.before:1=raise")
    stand.process()
    answer = stand.post("j/start", ["nap", "1"])
    assert (answer.status_code, answer.json()["code"]) == (504, "TIMEOUT")
    assert answer.json()["details"] == {"outcome": "unknown"}
    assert stand.sidecar.ended() == 1
    assert "a part of the sidecar broke, it stops" in stand.sidecar.output


def test_work_that_breaks_while_a_process_attaches_holds_up_nothing(programs: Programs) -> None:  # I11
    stand = Catalogue(programs, "--cancel-grace", "1s", faults="step.before-send:2=raise")
    first = stand.process()
    stand.start("j", "nap", "3000")
    stand.until_kind("j", "paused")
    first.kill()  # the step after the pause waits for a process, and breaks when one comes
    stand.until_kind("j", "resumed")
    stand.process()
    stand.sidecar.wait_for_output("job/j stops, please report this")
    assert stand.ended("j")[:1] == ["start"]
    stand.check()
