"""W18: hold keeps the status and lets nothing new start; resume lets it go on."""

from datetime import datetime

from tests.integration.operators.acting import WHO, Acting


def test_a_running_attempt_ends_and_is_journalled_and_the_next_step_does_not_start(acting: Acting, one: str) -> None:
    acting.start(one, "gated")
    acting.pause(one)
    held = acting.lifecycle(one)
    assert (held["status"], held["pendingStep"], held["held"], held["waitingFor"]) == ("Running", "gated", True, None)
    acting.open(one)
    held = acting.until(one, pendingStep="second")
    assert (held["status"], held["held"], held["waitingFor"]) == ("Running", True, "an operator to resume it")
    assert acting.sidecar.http.get(f"/v1/held/{one}/state").json() == ["gated"]
    assert acting.ledger(one) == ["gated 1"]
    acting.resume(one)
    assert acting.sidecar.http.get(f"/v1/held/{one}/ankka:await").json() == ["gated", "second", "third"]
    assert acting.types(one) == ["started", "held", "transitioned", "released", "transitioned", "ended"]
    assert acting.ledger(one) == ["gated 1", "second 1", "third 1"]


def test_the_timeline_says_who_held_it_and_why(acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    acting.pause(one)
    acting.done(acting.post(one, "ankka:resume", body={"by": "bob"}))
    held, released = acting.timeline(one)[-2:]
    assert (held["type"], held["detail"]) == ("held", WHO)
    assert (released["type"], released["detail"]) == ("released", {"by": "bob"})


def test_both_are_done_once_however_often_they_are_asked_for(acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    for _ in range(3):
        acting.pause(one)
    for _ in range(3):
        acting.resume(one)
    assert acting.types(one) == ["started", "paused", "held", "released"]


def test_the_deadline_of_a_pause_does_not_fire_while_it_is_held_and_does_when_it_is_resumed(acting: Acting, one: str) -> None:
    acting.start(one, "resting")
    acting.until(one, status="Paused")
    acting.pause(one)
    held = acting.lifecycle(one)
    until = datetime.fromisoformat(held["pausedUntil"])
    # Another instance's pause of the same length, begun later, fires: that much time has passed.
    acting.start(f"{one}-later", "resting")
    acting.until(f"{one}-later", status="Completed")
    held = acting.lifecycle(one)
    assert (held["status"], held["held"], datetime.fromisoformat(held["pausedUntil"])) == ("Paused", True, until)
    acting.resume(one)
    acting.until(one, status="Completed")
    assert acting.types(one) == ["started", "paused", "held", "released", "resumed", "transitioned", "ended"]


def test_the_budget_of_the_run_fires_while_it_is_held(acting: Acting, one: str) -> None:
    # W8
    acting.done(acting.post(one, "start", component="budget"))
    acting.until(one, component="budget", status="Paused")
    acting.pause(one, component="budget")
    failed = acting.until(one, component="budget", status="Failed")
    assert failed["failure"] == "workflow timed out after 1.2 s"
    assert failed["held"] is False
    assert acting.types(one, component="budget") == ["started", "paused", "held", "failed"]


def test_nothing_is_tried_again_while_it_is_held_in_its_back_off(acting: Acting, one: str) -> None:
    # F49
    acting.start(one, "backing-off")
    acting.until(one, attempt=2)
    acting.pause(one)
    tried = len(acting.ledger(one))
    acting.start(f"{one}-other", "backing-off")
    failed = acting.until(f"{one}-other", status="Failed")  # all the back-offs of another, begun later, have passed
    assert failed["retries"] == {"backing-off": 2}
    held = acting.lifecycle(one)
    assert (held["status"], held["held"], held["waitingFor"]) == ("Running", True, "an operator to resume it")
    assert len(acting.ledger(one)) == tried
    acting.resume(one)
    acting.until(one, status="Failed")
    assert acting.ledger(one) == ["backing-off 1", "backing-off 2", "backing-off 3"]


def test_commands_and_queries_are_answered_while_it_is_held_and_a_redirect_waits(acting: Acting, one: str) -> None:
    # W3
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    acting.pause(one)
    acting.done(acting.post(one, "keep", body="kept"))
    assert acting.sidecar.http.get(f"/v1/held/{one}/state").json() == ["kept"]
    acting.done(acting.post(one, "start", body="second"))
    held = acting.lifecycle(one)
    assert (held["status"], held["pendingStep"], held["held"], held["waitingFor"]) == ("Running", "second", True, "an operator to resume it")
    acting.resume(one)
    assert acting.sidecar.http.get(f"/v1/held/{one}/ankka:await").json() == ["kept", "second", "third"]


def test_a_hold_outlives_the_death_of_the_sidecar_and_of_the_process(own: Acting) -> None:
    own.start("h", "gated")
    own.pause("h")
    own.sidecar.kill()
    own.process.kill()
    own.start_sidecar()
    held = own.lifecycle("h")
    assert (held["status"], held["pendingStep"], held["held"]) == ("Running", "gated", True)
    own.open("h")
    own.start_process()
    # The process is attached, and has had another instance's steps: those of the held one do not run.
    own.start("other", "second")
    own.until("other", status="Completed")
    assert own.ledger("h") == ["gated 1"]
    own.resume("h")
    own.until("h", status="Completed")
    assert own.ledger("h") == ["gated 1", "gated 2", "second 1", "third 1"]  # W11: a pending attempt counts as having been sent
    assert sorted(own.types("h")[1:4]) == ["held", "interrupted", "released"]


def test_the_deadline_of_a_held_pause_waits_over_a_restart_as_well(own: Acting) -> None:
    own.start("h", "resting")
    own.until("h", status="Paused")
    own.pause("h")
    own.sidecar.kill()
    own.start_sidecar()
    own.sidecar.wait_until_ready()
    own.start("later", "resting")
    own.until("later", status="Completed")
    assert own.lifecycle("h")["status"] == "Paused"
    own.resume("h")
    own.until("h", status="Completed")
    assert own.types("h") == ["started", "paused", "held", "released", "resumed", "transitioned", "ended"]


def test_a_fault_while_it_is_held_is_journalled_and_the_retry_waits(own: Acting) -> None:
    # W18, W11: the process dies in the step of a held run
    own.start("h", "gated")
    own.pause("h")
    own.process.kill()
    held = own.until("h", attempt=2)
    assert (held["status"], held["held"], held["waitingFor"]) == ("Running", True, "an operator to resume it")
    own.start_process()
    own.start("other", "second")
    own.until("other", status="Completed")
    assert own.ledger("h") == ["gated 1"]
    own.open("h")
    own.resume("h")
    own.until("h", status="Completed")
    assert own.types("h") == ["started", "held", "interrupted", "released", "transitioned", "transitioned", "ended"]
