"""Steps whose sidecar, process or connection goes away, with real programs (BUGS, section A)."""

import signal

import httpx
import pytest

from tests.chaos.proxy import Proxy
from tests.chaos.stand import Stand
from tests.integration.support.programs import Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow]

GRACE = ("--cancel-grace", "2s")


def test_w11_a_recovered_instance_goes_on_between_two_steps(programs: Programs) -> None:  # F01
    """The sidecar dies when the second step's end is on the disk and the third has not been sent."""
    stand = Stand(programs, *GRACE, faults="append.after:3=kill")
    stand.process()
    stand.start("j", "plain", "plain", "plain")
    stand.died()
    stand.restart()
    assert stand.ended("j", within=5) == ["start", "plain", "plain", "plain"]
    assert stand.runs() == {("j", "plain"): 3}
    stand.check()


def test_w4_an_answer_whose_acknowledgement_is_lost_counts_once(programs: Programs) -> None:  # F02
    stand = Stand(programs, *GRACE)
    with Proxy(stand.sidecar.port) as proxy:
        stand.process(proxy.url)
        stand.start("j", "gate:go", "plain")
        stand.until_runs("j", "gate")
        proxy.drop_after(0)  # the process is heard, and hears nothing
        stand.open("go")
        wait_for(lambda: stand.kinds("j") == ["started", "transitioned"], "the answer is journalled")
        with proxy.cut():
            pass
        # It comes back with the answer it has no acknowledgement of, and gets the step that was sent in vain again.
        assert stand.ended("j") == ["start", "gate", "plain"]
        kinds = stand.kinds("j")
        assert [kind for kind in kinds if kind != "interrupted"] == ["started", "transitioned", "ended"]
        assert kinds.count("interrupted") <= 1
        assert stand.runs() == {("j", "gate"): 1, ("j", "plain"): 1}
        stand.check()


@pytest.mark.parametrize("count", [1, 30, 200, 1_000])
def test_w11_a_connection_that_breaks_off_within_a_frame_loses_nothing(programs: Programs, count: int) -> None:  # F02
    stand = Stand(programs, *GRACE)
    names = [f"j{number}" for number in range(10)]
    with Proxy(stand.sidecar.port) as proxy:
        stand.process(proxy.url)
        for name in names:
            stand.start(name, "gate:go", "plain", "plain")
        for name in names:
            stand.until_runs(name, "gate")
        proxy.drop_after(count)
        stand.open("go")
        wait_for(lambda: all("transitioned" in stand.kinds(name) for name in names), "the answers are journalled")
        with proxy.cut():
            pass
        for name in names:
            assert stand.ended(name) == ["start", "gate", "plain", "plain"]
        assert stand.runs() == {(name, step): 1 + (step == "plain") for name in names for step in ("gate", "plain")}
        stand.check()


def test_w11_the_second_run_of_an_interrupted_step_is_attempt_2_and_uses_no_retry(programs: Programs) -> None:  # F05
    stand = Stand(programs, *GRACE)
    process = stand.process()
    stand.start("j", "gate:go", "plain")
    stand.until_runs("j", "gate")
    process.kill()
    stand.process()
    stand.until_runs("j", "gate", 2)
    view = stand.lifecycle("j")
    assert (view["pendingStep"], view["attempt"], view["retries"]) == ("gate", 2, {})
    stand.open("go")
    assert stand.ended("j") == ["start", "gate", "plain"]
    assert stand.kinds("j") == ["started", "interrupted", "transitioned", "ended"]
    assert (stand.folder / "ledger").read_text().splitlines()[:2] == ["j gate 1 2", "j gate 2 2"]
    stand.check()


def test_w4_a_frozen_process_that_comes_back_late_does_not_count(programs: Programs) -> None:  # F06
    """Attempt 1 is frozen past its timeout; attempt 2 runs elsewhere; then attempt 1 ends with another answer."""
    stand = Stand(programs, "--cancel-grace", "500ms")
    frozen = stand.process()
    stand.start("j", "deaf:go", "gate:end")
    stand.until_runs("j", "deaf")
    frozen.send(signal.SIGSTOP)
    other = stand.process()
    stand.until_runs("j", "deaf", 2)
    stand.until_runs("j", "gate")
    stand.open("go")
    frozen.send(signal.SIGCONT)
    wait_for(lambda: f"process {frozen.pid} of {Stand.module} answers again" in stand.sidecar.output, "the frozen process is back")
    stand.open("end")
    answer = stand.sidecar.http.get("/v1/job/j/ankka:await?timeout=20").json()
    assert answer["trail"][:2] == ["start", f"deaf@{other.pid}"]
    assert stand.kinds("j") == ["started", "retried", "transitioned", "ended"]
    assert frozen.stop() == 0
    assert stand.runs() == {("j", "deaf"): 2, ("j", "gate"): 1}
    stand.check()


@pytest.mark.parametrize("fault", ["append.before:2=kill", "commit.before:5=kill", "append.after:2=kill"])
def test_w6_a_timeout_is_recorded_although_the_node_dies_over_it(programs: Programs, fault: str) -> None:  # F10
    stand = Stand(programs, *GRACE, faults=fault)
    stand.process()
    stand.start("j", "hang")
    stand.died()
    stand.restart()
    stand.until_status("j", "Failed", within=4)
    assert stand.lifecycle("j")["failure"] == "step 'hang' failed: timed out after 1 s"
    assert stand.runs() == {("j", "hang"): 1}
    assert stand.kinds("j") == ["started", "failed"]
    stand.check()


def test_an_instance_whose_step_runs_stays_in_memory(programs: Programs) -> None:  # F11
    stand = Stand(programs, "--passivate-after", "100ms")
    stand.process()
    stand.start("j", "gate:go")
    stand.until_runs("j", "gate")
    stand.start("idle", "plain")
    assert stand.ended("idle") == ["start", "plain"]
    assert stand.sidecar.http.get("/v1/job/j/ankka:await?timeout=1").status_code == 504
    stand.open("go")
    assert stand.ended("j") == ["start", "gate"]
    assert stand.kinds("j") == ["started", "ended"]
    assert stand.runs()["j", "gate"] == 1
    stand.check()


def test_i3_a_start_that_was_committed_runs_although_nobody_was_told(programs: Programs) -> None:  # F17
    stand = Stand(programs, *GRACE, faults="append.after:1=kill")
    stand.process()
    with pytest.raises(httpx.TransportError):
        stand.start("j", "plain", "plain")
    stand.died()
    stand.restart()
    wait_for(lambda: stand.runs()["j", "plain"] == 2, "both steps run, though no client asks")
    assert stand.ended("j") == ["start", "plain", "plain"]
    repeated = stand.post("j/start", ["plain"])
    assert (repeated.status_code, repeated.json()["code"]) == (409, "CONFLICT")
    stand.check()
