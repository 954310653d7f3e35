"""W18: cancel ends the run as Failed, or goes to the step the workflow names; the running step hears of it at once."""

import signal
import time

import pytest

from tests.integration.operators.acting import WHO, Acting


@pytest.mark.parametrize("step", ["async", "threaded", "computing"])
def test_a_running_step_hears_of_it_within_a_second_and_nothing_of_the_run_follows(acting: Acting, one: str, step: str) -> None:
    # F46 F47 F50
    acting.start(one, step)
    began = time.monotonic()
    acting.cancel(one)
    acting.noted(f"{one} {step} heard", within=1.0)
    assert time.monotonic() - began < 1.0
    ended = acting.lifecycle(one)
    assert (ended["status"], ended["failure"], ended["pendingStep"]) == ("Failed", "cancelled: a look at it", None)
    acting.start(f"{one}-other", "second")
    acting.until(f"{one}-other", status="Completed")
    assert acting.types(one) == ["started", "failed"]
    assert acting.ledger(one) == [f"{step} 1", f"{step} heard"]


def test_its_late_answer_is_dropped_also_after_a_restart(own: Acting) -> None:
    # F46 F47
    own.start("l", "late")
    own.cancel("l")
    own.noted("l late heard")
    own.open("l")
    own.noted("l late answers")
    own.start("other", "second")  # behind the late answer on the same connection
    own.until("other", status="Completed")
    assert own.types("l") == ["started", "failed"]
    own.sidecar.kill()
    own.start_sidecar()
    own.sidecar.wait_until_ready()
    own.start("another", "second")
    own.until("another", status="Completed")
    assert own.types("l") == ["started", "failed"]
    assert own.ledger("l") == ["late 1", "late heard", "late answers"]


def test_who_waits_for_the_end_and_the_timeline_are_told_who_and_why(acting: Acting, one: str) -> None:
    acting.start(one, "async")
    acting.cancel(one)
    waited = acting.sidecar.http.get(f"/v1/held/{one}/ankka:await")
    assert (waited.status_code, waited.json()["code"]) == (424, "WORKFLOW_FAILED")
    assert "cancelled: a look at it" in waited.json()["detail"]
    failed = acting.timeline(one)[-1]
    assert (failed["type"], failed["step"]) == ("failed", "async")
    assert failed["detail"] == {"code": "CANCELLED", "message": "cancelled: a look at it", "by": WHO["by"]}


def test_without_a_reason_it_is_just_cancelled(acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    acting.done(acting.sidecar.http.post(f"/v1/held/{one}/ankka:cancel"))
    assert acting.lifecycle(one)["failure"] == "cancelled"
    assert acting.timeline(one)[-1]["detail"]["by"] == "http"


@pytest.mark.parametrize("step", ["waiting", "backing-off", "resting"])
def test_what_it_waited_for_does_not_happen_any_more(acting: Acting, one: str, step: str) -> None:
    # F47: a pause's deadline, a back-off
    acting.start(one, step)
    acting.until(one, attempt=2) if step == "backing-off" else acting.until(one, status="Paused")
    acting.cancel(one)
    acting.start(f"{one}-other", "resting")
    acting.until(f"{one}-other", status="Completed")  # its pause is as long as the longest of them, and begins later
    assert acting.types(one)[-1] == "failed"
    assert acting.lifecycle(one)["status"] == "Failed"


def test_a_held_run_can_be_cancelled_and_started_anew(acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    acting.pause(one)
    acting.cancel(one)
    ended = acting.lifecycle(one)
    assert (ended["status"], ended["held"]) == ("Failed", False)
    acting.done(acting.post(one, "start", body="second"))
    again = acting.until(one, status="Completed")
    assert (again["run"], again["failure"]) == (2, None)


def test_a_workflow_that_names_a_step_for_it_goes_there(acting: Acting, one: str) -> None:
    acting.done(acting.post(one, "start", component="tidy"))
    acting.noted(f"{one} work 1")
    acting.pause(one, component="tidy")
    acting.cancel(one, component="tidy")
    acting.noted(f"{one} tidy 1")
    going = acting.lifecycle(one, component="tidy")
    assert (going["status"], going["pendingStep"], going["held"]) == ("Running", "tidy", False)
    cancelled = acting.timeline(one, component="tidy")[-1]
    assert cancelled["type"] == "transitioned"
    assert cancelled["detail"] == {"to": "tidy", "by": "ann", "redirected": True, "cancelled": True, "reason": "a look at it"}
    acting.open(one)
    assert acting.sidecar.http.get(f"/v1/tidy/{one}/ankka:await").json() == ["started", "tidied"]


def test_a_cancel_that_is_repeated_does_not_run_the_compensation_twice(acting: Acting, one: str) -> None:
    acting.done(acting.post(one, "start", component="tidy"))
    acting.noted(f"{one} work 1")
    acting.cancel(one, component="tidy")
    acting.noted(f"{one} tidy 1")
    acting.post(one, "ankka:cancel", component="tidy")
    acting.open(one)
    acting.until(one, component="tidy", status="Completed")
    assert acting.ledger(one) == ["work 1", "tidy 1"]


@pytest.mark.parametrize("action", ["pause", "resume", "cancel"])
def test_what_has_ended_or_never_began_has_no_run(acting: Acting, one: str, action: str) -> None:
    unknown = acting.post(one, f"ankka:{action}")
    assert (unknown.status_code, unknown.json()["code"]) == (409, "CONFLICT")
    assert unknown.json()["detail"] == f"held/{one} is NotStarted: there is no run to {action}"
    assert acting.timeline(one) == []
    acting.start(one, "second")
    acting.until(one, status="Completed")
    ended = acting.post(one, f"ankka:{action}")
    assert (ended.status_code, ended.json()["detail"]) == (409, f"held/{one} is Completed: there is no run to {action}")
    assert acting.types(one) == ["started", "transitioned", "ended"]


@pytest.mark.parametrize("action", ["pause", "resume", "cancel"])
def test_an_entity_has_no_run(acting: Acting, one: str, action: str) -> None:
    assert acting.post(one, "add", component="tally", body=1).json() == 1
    refused = acting.post(one, f"ankka:{action}", component="tally")
    assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")
    assert "is an entity" in refused.json()["detail"]
    assert acting.post(one, "ankka:cancel", component="nowhere").status_code == 404


def test_a_cancel_outlives_the_death_of_the_sidecar_while_the_step_runs_on(own: Acting) -> None:
    # W5 applies across a restart: the process comes back with an attempt that was replaced, and is told
    own.start("l", "late")
    own.process.send(signal.SIGSTOP)
    own.cancel("l")
    own.sidecar.kill()
    own.start_sidecar()
    own.process.send(signal.SIGCONT)
    own.sidecar.wait_until_ready()
    own.noted("l late heard")
    own.open("l")
    own.noted("l late answers")
    own.start("other", "second")
    own.until("other", status="Completed")
    assert own.types("l") == ["started", "failed"]


def test_without_a_process_nobody_knows_where_a_cancel_goes_so_it_waits_for_one(own: Acting) -> None:
    # W13, W17: else a run would fail without its compensation
    own.done(own.post("t", "start", component="tidy"))
    own.noted("t work 1")
    own.process.kill()
    refused = own.post("t", "ankka:cancel", component="tidy")
    assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
    assert "no process that runs 'tidy' is attached; nothing was done within " in refused.json()["detail"]
    assert own.lifecycle("t", component="tidy")["status"] == "Running"
    own.start_process()
    own.cancel("t", component="tidy")
    own.open("t")
    assert own.sidecar.http.get("/v1/tidy/t/ankka:await").json() == ["started", "tidied"]


def test_a_body_that_is_none_of_an_operator_is_refused(acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    for body, status, said in (
        (b"[]", 400, "Expected `object`, got `array`"),
        (b'{"reason": 1}', 400, "Expected `str`, got `int`"),
        (b'{"resaon": "x"}', 400, "unknown field `resaon`"),
        (b'{"reason": "', 400, "truncated"),
        (b" " * 20_000, 413, "at most 16,384 are taken (of an operator's reason)"),
    ):
        refused = acting.sidecar.http.post(f"/v1/held/{one}/ankka:pause", content=body)
        assert refused.status_code == status
        assert said in refused.json()["detail"]
    assert acting.types(one) == ["started", "paused"]


def test_an_action_is_no_get_and_a_delete_no_post(acting: Acting, one: str) -> None:
    wrong = acting.sidecar.http.get(f"/v1/held/{one}/ankka:cancel")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert acting.sidecar.http.post(f"/v1/held/{one}/ankka:delete").status_code == 404
    assert {"ankka:pause", "ankka:resume", "ankka:cancel"} <= {
        path.rpartition("/")[2] for path in acting.sidecar.http.get("/openapi.json").json()["paths"]
    }
