"""Real processes with steps that block, swallow their cancellation, or hold their thread (W5, F77, F78, F79)."""

import re
from functools import partial

from tests.integration.process_edges.edges import CALLERS
from tests.integration.process_edges.test_stopping import SERVICE, journal, ledger, noted, start
from tests.integration.support.programs import Programs, Sidecar, wait_for


def test_a_blocked_loop_is_named_in_the_processs_log(programs: Programs) -> None:
    # F77: the child task of a step, on the loop a service runs on
    sidecar = programs.sidecar()
    process = programs.process(SERVICE, sidecar)
    start(sidecar, "e1", "block", 2.5)
    process.wait_for_output(r"the event loop does not answer for 1 s: step 'block' of edge/e1, attempt 1 blocks it", within=6)
    process.wait_for_output(r"the event loop is free again; it was blocked for [12]\.\d s by step 'block' of edge/e1, attempt 1")
    wait_for(partial(_has_ended, sidecar, "e1"), "the end")
    assert len(re.findall("does not answer", process.output)) == 1


def test_a_step_that_swallows_its_cancellation_is_retried_and_its_late_answer_dropped(programs: Programs) -> None:
    # F79
    sidecar = programs.sidecar("--cancel-grace", "500ms")
    process = programs.process(SERVICE, sidecar)
    start(sidecar, "e1", "late", 2)
    noted(programs.folder, "e1 late 1 ended, cancelled: True")
    process.wait_for_output(r"step 'late' of edge/e1, attempt 1 was replaced and has not ended within 0\.5 s")
    process.wait_for_output("has ended at last")
    wait_for(lambda: journal(sidecar, "e1") == ["started", "retried", "ended"], "the end of the second attempt")
    assert sidecar.http.get("/v1/edge/e1/state").json() == ["late 2"]
    assert process.stop() == 0


def test_what_a_command_and_a_running_step_set_is_put_together_by_the_workflow(programs: Programs) -> None:
    # W14, with an override of merge_state
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    start(sidecar, "e1", "sleep", 1)
    noted(programs.folder, "e1 sleep 1")
    assert sidecar.http.post("/v1/edge/e1/note", json="gift").status_code == 204
    wait_for(lambda: journal(sidecar, "e1")[-1] == "ended", "the end")
    assert sidecar.http.get("/v1/edge/e1/state").json() == ["gift", "sleep 1"]


def test_half_of_the_threads_held_end_the_process_with_1(programs: Programs) -> None:
    # W5
    sidecar = programs.sidecar("--cancel-grace", "500ms")
    process = programs.process(SERVICE, sidecar, {"SYNC_STEPS": "2", "ANKKA_DRAIN": "5"})
    start(sidecar, "e1", "hold", 60)
    assert process.ended() == 1
    said = "1 of 2 step threads are held by attempts that were replaced and do not end: step 'hold' of edge/e1, attempt 1. The process stops"
    assert said in process.output
    assert "Traceback" not in process.output
    programs.process(SERVICE, sidecar)
    wait_for(lambda: journal(sidecar, "e1")[-1] == "ended", "the end of the second attempt")
    assert sidecar.http.get("/v1/edge/e1/state").json()[0].startswith("hold ")


def test_eight_threads_call_while_steps_start(programs: Programs) -> None:
    # F78: progress in each second, no deadlock
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    start(sidecar, "e1", "callers", 4)
    noted(programs.folder, "e1 callers 1")
    for number in range(40):
        start(sidecar, f"s{number}", ("sleep", "thread")[number % 2], 0.05)
    wait_for(partial(_has_ended, sidecar, "e1"), "the end")
    counts = [[int(count) for count in line.split()[1:]] for line in ledger(programs.folder) if line.startswith("calls")]
    assert len(counts) >= 4
    for before, after in zip([[0] * CALLERS, *counts[:2]], counts[:3], strict=True):
        assert all(later > earlier for earlier, later in zip(before, after, strict=True)), counts
    for number in range(40):
        wait_for(partial(_has_ended, sidecar, f"s{number}"), f"the end of s{number}")


def _has_ended(sidecar: Sidecar, instance: str) -> bool:
    return journal(sidecar, instance) == ["started", "ended"]
