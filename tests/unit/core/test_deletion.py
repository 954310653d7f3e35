"""Deletion and awaiting the end: generations (W10), who waits and what they hear."""

import pytest
from ankka_sidecar.core.actions import AckStep, Append, CancelStep, Prune, Reply, Report, RunStep
from ankka_sidecar.core.events import Deleted
from ankka_sidecar.core.inputs import AppendFenced, AttemptAdopted, AttemptLost, CallDropped
from ankka_sidecar.core.records import WorkflowRecord
from ankka_sidecar.core.waiters import answer_to, waiter_for

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.payload import Payload
from tests.unit.core.machine import CHECKOUT_SPEC, END, T0, S, WorkflowDriver, fail, goto, kinds, pause, refusals, reply, value


def deleted(it: WorkflowDriver) -> WorkflowDriver:
    it.call()
    it.does(delete=True)
    return it


def test_w10_delete_tells_the_attempt_to_stop_and_lets_the_rows_go() -> None:
    it = WorkflowDriver()
    token = it.run()
    deleted(it)
    assert it.event() == Deleted(T0, "go")
    assert it.stored() == [reply(2), Prune(T0), CancelStep(token)]
    assert (it.machine.state, it.lifecycle().status) == (None, "NotStarted")


def test_w10_a_late_answer_of_a_deleted_life_is_stale_and_nothing_comes_of_it() -> None:  # F51
    it = WorkflowDriver()
    token = it.run()
    deleted(it).stored()
    assert it.done(goto("reserve"), state="x") == [AckStep(token, stale=True)]
    assert it.wait(100 * S) == []
    assert it.all(Report) == []
    assert len(it.all(Append)) == 2


def test_w10_the_next_life_refuses_everything_of_the_last() -> None:  # F52
    it = WorkflowDriver()
    old = it.run()
    deleted(it).stored()
    it.stopped(old)
    it.call()
    it.does("charge", state="new")
    assert (it.last(Append).generation, it.last(Append).sequence) == (T0 + 1, 1), "the clock stood still"
    it.stored()
    new = it.sent()
    assert (new.run, new.visit, new.attempt) == (old.run, old.visit, old.attempt)
    assert it.done(END, token=old, state="x") == [AckStep(old, stale=True)]
    assert it.fault(token=old) == [AckStep(old, stale=True)]
    assert it.give(AttemptLost(old, "died")) == []
    assert it.give(AttemptAdopted(old, 0, CHECKOUT_SPEC)) == [CancelStep(old)]
    assert it.machine.may_call(new)
    assert not it.machine.may_call(old)
    it.done(END)
    assert it.stored() == [AckStep(new, stale=False)]
    assert it.machine.state == value("new")


def test_w10_the_next_lifes_step_waits_for_the_last_lifes_attempt() -> None:  # W5 across deletion
    it = WorkflowDriver()
    old = it.run()
    deleted(it).stored()
    it.call()
    it.does("charge")
    assert it.stored() == [reply(3)]
    assert kinds(it.stopped(old)) == [AckStep, RunStep]


def test_w10_delete_of_what_waits_for_a_deadline_leaves_none() -> None:
    it = WorkflowDriver()
    it.run()
    it.done(pause(10 * S, "reserve"))
    it.stored()
    deleted(it)
    assert it.last(Append).listing_changed
    it.stored()
    assert it.wait(100 * S) == []


@pytest.mark.parametrize("how", ["end", "fail"])
def test_await_answers_with_the_state_or_the_failure_when_the_run_ends(how: str) -> None:
    it = WorkflowDriver()
    token = it.run()
    assert it.ask_end() == []
    it.done(END if how == "end" else fail("no stock", ErrorCode.CONFLICT), state="s1")
    error = Error(ErrorCode.WORKFLOW_FAILED, "no stock", {"code": "CONFLICT", "run": 1})
    expected = Reply(2, value("s1") if how == "end" else error)
    assert it.stored() == [AckStep(token, stale=False), expected]
    assert it.ask_end() == [Reply(3, expected.result)], "and at once from then on"


def test_await_of_what_has_not_started_waits_for_its_first_run() -> None:
    it = WorkflowDriver()
    it.ask_end()
    it.run()
    it.done(END)
    assert it.stored()[-1] == Reply(1, value("s0"))


def test_await_without_a_state_answers_with_nothing() -> None:
    it = WorkflowDriver()
    it.run(state=None)
    it.done(END)
    it.stored()
    assert it.ask_end() == [Reply(2, Payload(b"", ""))]


def test_await_pins_a_run() -> None:
    it = WorkflowDriver()
    it.run()
    it.ask_end()
    it.done(END, state="first")
    it.stored()
    it.run(state="second")
    it.ask_end()
    it.done(END)
    replies = {action.call: action.result for action in it.stored() if isinstance(action, Reply)}
    assert replies == {4: value("second")}


def test_await_of_what_is_deleted_is_told_so() -> None:
    it = WorkflowDriver()
    it.run()
    it.ask_end()
    deleted(it)
    assert refusals(it.stored()) == [(2, ErrorCode.NOT_FOUND)]


def test_await_asked_after_a_deletion_waits_for_the_next_life() -> None:
    it = WorkflowDriver()
    it.run()
    deleted(it).stored()
    it.stopped()
    it.ask_end()
    it.run(state="new")
    it.done(END)
    assert it.stored()[-1] == Reply(3, value("new"))


def test_await_that_is_dropped_is_forgotten() -> None:
    it = WorkflowDriver()
    it.run()
    it.ask_end()
    assert it.give(CallDropped(2)) == []
    it.done(END)
    assert kinds(it.stored()) == [AckStep]


def test_await_hears_when_the_instance_moves_to_another_node() -> None:
    it = WorkflowDriver()
    it.run()
    it.ask_end()
    it.done(goto("reserve"))
    assert refusals(it.give(AppendFenced(it.effect))) == [(2, ErrorCode.UNAVAILABLE)]


def test_await_of_a_run_that_has_been_followed_by_another_says_so() -> None:
    first = waiter_for(1, WorkflowRecord(generation=5, sequence=2, status="Running", run=1))  # type: ignore[arg-type]
    result = answer_to(first, "checkout/c1", WorkflowRecord(generation=5, sequence=9, status="Running", run=2), None)  # type: ignore[arg-type]
    assert isinstance(result, Error)
    assert result.code is ErrorCode.CONFLICT
