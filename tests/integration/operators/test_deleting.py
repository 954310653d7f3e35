"""W10: delete removes an instance whatever it is doing; nothing of its life reaches the next one of that id."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread

import httpx
import pytest

from tests.integration.operators.acting import Acting

REMOVED_WITHIN = 5.0
"""Seconds, as F48 asks."""


@contextmanager
def soon() -> Generator[None]:
    """What is inside takes less than F48's time."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < REMOVED_WITHIN


def gone(acting: Acting, instance: str, component: str = "held") -> None:
    """Nothing is left but the tombstone in the timeline."""
    found = acting.lifecycle(instance, component=component)
    if component == "held":
        assert (found["status"], found["pendingStep"], found["run"]) == ("NotStarted", None, 0)
    else:
        assert (found["status"], found["sequence"]) == ("Empty", 0)


@pytest.mark.parametrize("step", ["async", "threaded", "computing"])
def test_a_running_step_hears_of_it_and_nothing_is_scheduled_again(acting: Acting, one: str, step: str) -> None:
    # F51
    acting.start(one, step)
    with soon():
        acting.done(acting.delete(one))
    acting.noted(f"{one} {step} heard", within=1.0)
    gone(acting, one)
    acting.start(f"{one}-other", "second")
    acting.until(f"{one}-other", status="Completed")
    assert acting.ledger(one) == [f"{step} 1", f"{step} heard"]
    assert acting.sidecar.output.count(one) <= 3
    assert sum(one in line for line in acting.process.output.splitlines()) <= 3


def test_the_reason_and_who_stay_as_long_as_the_tombstone(acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    acting.done(acting.delete(one))
    deleted = acting.timeline(one)[-1]
    assert (deleted["type"], deleted["detail"]) == ("deleted", {"by": "ann", "reason": "a look at it"})


def test_one_that_waits_for_a_command_of_its_own_that_never_ends(acting: Acting, one: str) -> None:
    # F48, deadlocked with itself
    acting.start(one, "deadlocked")
    acting.noted(f"{one} hang")
    with soon():
        acting.done(acting.delete(one))
    gone(acting, one)
    acting.done(acting.post(one, "keep", body="usable"))
    assert acting.sidecar.http.get(f"/v1/held/{one}/state").json() == ["usable"]


@pytest.mark.parametrize(("component", "handler", "body"), [("held", "start", "waiting"), ("tally", "add", 1)])
def test_one_whose_command_hangs_and_the_caller_is_told(acting: Acting, one: str, component: str, handler: str, body: str | int) -> None:
    # F48
    assert acting.post(one, handler, component=component, body=body).is_success
    if component == "held":
        acting.until(one, status="Paused")
    answers: list[httpx.Response] = []
    caller = Thread(target=lambda: answers.append(acting.sidecar.http.post(f"/v1/{component}/{one}/hang")))
    caller.start()
    acting.noted(f"{one} hang")
    with soon():
        acting.done(acting.delete(one, component=component))
        caller.join()
    (answer,) = answers
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
    assert "is being deleted; nothing was done" in answer.json()["detail"]
    gone(acting, one, component)


def test_one_that_no_process_handles(own: Acting) -> None:
    # F48: never dispatched, no handler; also an entity, whose events nobody can fold now
    own.start("h", "gated")
    own.done(own.post("w", "start", body="waiting"))
    own.until("w", status="Paused")
    assert own.post("t", "add", component="tally", body=3).json() == 3
    own.sidecar.kill()
    own.process.kill()
    own.start_sidecar()
    for instance, component in (("h", "held"), ("w", "held"), ("t", "tally")):
        with soon():
            own.done(own.delete(instance, component=component))
        gone(own, instance, component)
    own.start_process()
    assert own.post("t", "add", component="tally", body=4).json() == 4
    own.start("other", "second")
    own.until("other", status="Completed")
    assert own.ledger("h") == ["gated 1"]
    assert own.ledger("w") == ["waiting 1"]


def test_one_that_was_never_started_is_gone_from_the_listing_too(own: Acting) -> None:
    # I9
    own.done(own.post("n", "keep", body="x"))
    own.done(own.delete("n"))
    listed = own.sidecar.http.get("/v1/instances?component=held").json()["items"]
    assert [item["status"] for item in listed if item["id"] == "n"] in ([], ["deleted"])


def test_what_is_not_there_is_404_also_the_second_time(acting: Acting, one: str) -> None:
    for component, said in (("held", "to delete"), ("tally", "to delete"), ("nowhere", "no component")):
        refused = acting.delete(one, component=component)
        assert (refused.status_code, refused.json()["code"]) == (404, "NOT_FOUND")
        assert said in refused.json()["detail"]
    assert acting.timeline(one) == []
    acting.start(one, "second")
    acting.done(acting.delete(one))
    assert acting.delete(one).status_code == 404


def test_the_next_life_of_an_id_gets_nothing_of_the_one_before(acting: Acting, one: str) -> None:
    # F52: the late answer of a deleted life, whose step has the name and attempt number of the present one
    acting.start(one, "late")
    acting.done(acting.delete(one))
    acting.noted(f"{one} late heard")
    acting.done(acting.post(one, "start", body="late"))
    acting.until(one, status="Running", waitingFor="the attempt before this one to stop")
    acting.open(one)
    ended = acting.until(one, status="Completed")
    assert (ended["run"], ended["attempt"]) == (1, None)
    assert acting.sidecar.http.get(f"/v1/held/{one}/state").json() == ["late", "second", "third"]
    types = [(item["type"], item["sequence"]) for item in acting.timeline(one) if item["type"] != "deleted"]
    assert types == [("started", 1), ("transitioned", 2), ("transitioned", 3), ("ended", 4)]
    assert acting.ledger(one).count("late 1") == 2


def test_the_pause_of_a_life_before_does_not_fire_in_the_next_one(acting: Acting, one: str) -> None:
    # F52
    acting.start(one, "resting")
    acting.until(one, status="Paused")
    acting.done(acting.delete(one))
    acting.done(acting.post(one, "start", body="waiting"))
    acting.until(one, status="Paused")
    acting.start(f"{one}-other", "resting")
    acting.until(f"{one}-other", status="Completed")
    assert acting.lifecycle(one)["status"] == "Paused"


def test_a_delete_outlives_the_death_of_sidecar_and_process(own: Acting) -> None:
    # F51 F52 over a restart
    own.start("d", "late")
    own.done(own.delete("d"))
    own.sidecar.kill()
    own.start_sidecar()
    own.sidecar.wait_until_ready()
    gone(own, "d")
    own.open("d")
    own.noted("d late answers")
    own.start("other", "second")
    own.until("other", status="Completed")
    gone(own, "d")
    own.done(own.post("d", "start", body="second"))
    own.until("d", status="Completed")
    assert [line for line in own.ledger("d") if line != "late heard"] == ["late 1", "late answers", "second 1", "third 1"]
