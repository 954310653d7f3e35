"""Processes and nodes that go away while a step runs (W11, W5 across restart): interrupted, sent again, no retry used."""

import pytest
from ankka_sidecar.core.actions import AbandonStep, AckStep, Append, AskHandler, CancelStep, Report, RunStep
from ankka_sidecar.core.events import Interrupted, Retried, Updated
from ankka_sidecar.core.inputs import AppendUncertain, AttemptAdopted, AttemptLost, StepAnswered, StepChosen, Woke
from ankka_sidecar.core.records import WorkflowRecord

from ankka.protocol.frames import StepStopped
from ankka.protocol.spec import StepSpec
from tests.unit.core.machine import CHECKOUT_SPEC, END, LOAD, T0, S, WorkflowDriver, kinds, reply, value, workflow


def running() -> WorkflowRecord:
    """The record of a run whose first step was sent."""
    it = WorkflowDriver()
    it.run()
    return it.record


def restarted(record: WorkflowRecord | None = None) -> WorkflowDriver:
    """A machine of the next incarnation that has read its journal."""
    it = WorkflowDriver(load=False)
    it.now = T0 + S
    assert it.loaded(record or running(), state=value("s0"), effect=1, foreign=True) == []
    return it


def lost(it: WorkflowDriver, reason: str = "its process died") -> list[object]:
    token = it.machine.suspect or it.token
    return list(it.give(AttemptLost(token, reason)))


@pytest.mark.parametrize("once", [False, True])
def test_w12_an_attempt_that_a_process_could_not_read_waits_for_another_and_is_no_fault(once: bool) -> None:  # F71
    it = WorkflowDriver(workflow(StepSpec("charge", 10 * S, once=once)))
    it.call()
    it.does("charge", state="s0")
    it.stored()
    if once:
        it.give(StepChosen(it.token))
        it.stored()
    token = it.sent()
    it.give(StepAnswered(StepStopped(token, "$.owner is missing", unreadable=True), it.spec))
    assert it.event() == Interrupted(T0, "charge", 2, "$.owner is missing")
    it.stored()
    assert it.lifecycle().waiting_for == "a process that can read it: $.owner is missing"
    assert it.record.retries == {}
    assert it.token.attempt == 2
    if once:
        it.give(StepChosen(it.token))
        it.stored()
    it.sent()
    assert it.lifecycle().waiting_for is None
    it.done(END)
    it.stored()
    assert it.record.status == "Completed"


def test_w11_a_lost_attempt_is_interrupted_then_the_next_is_sent_and_no_retry_used() -> None:  # F84
    it = WorkflowDriver()
    first = it.run()
    assert kinds(it.give(AttemptLost(first, "its process died"))) == [Append]
    assert it.event() == Interrupted(T0, "charge", 2, "its process died")
    assert it.stored() == [RunStep(it.token, "charge", None, value("s0"), 1, 2, None, T0)]
    assert it.token.attempt == 2
    assert (it.record.retries, it.record.pending and it.record.pending.retries) == ({}, 0)


def test_w11_retries_and_interruptions_are_counted_apart() -> None:  # F84
    it = WorkflowDriver()
    it.run()
    for _ in range(3):
        lost(it)
        it.stored()
        it.sent()
    it.fault()
    assert it.event() == Retried(T0, "charge", 5, "step 'charge' failed: ValueError: no"), "one retry was left, after three deaths"


def test_w11_after_a_restart_a_pending_attempt_is_taken_as_having_been_sent() -> None:
    it = restarted()
    assert it.lifecycle().waiting_for == "the process that ran step 'charge' before this sidecar started"
    assert it.wait(100 * S) == [], "until the runtime knows"
    assert kinds(lost(it)) == [Append]  # type: ignore[arg-type]
    assert it.event() == Interrupted(it.now, "charge", 2, "its process died")
    assert kinds(it.stored()) == [RunStep]


def test_w11_an_attempt_whose_process_comes_back_with_it_goes_on_and_so_does_its_clock() -> None:
    it = restarted()
    suspect = it.machine.suspect
    assert suspect is not None
    assert it.give(AttemptAdopted(suspect, 4 * S, CHECKOUT_SPEC)) == []
    assert it.machine.may_call(suspect)
    assert it.wait(6 * S - 1) == []
    assert kinds(it.wait(1)) == [Report, Append]
    assert isinstance(it.event(), Retried)


def test_w11_a_suspect_that_answers_has_answered() -> None:
    it = restarted()
    suspect = it.machine.suspect
    assert suspect is not None
    it.done(END, token=suspect)
    assert it.stored() == [AckStep(suspect, stale=False)]
    assert it.all(RunStep) == []


def test_w11_what_is_said_while_the_journal_is_read_is_heard() -> None:
    record = running()
    token = record.token("checkout", "c1")
    assert token is not None
    adopted = WorkflowDriver(load=False)
    assert adopted.give(AttemptAdopted(token, 0, CHECKOUT_SPEC)) == []
    assert adopted.loaded(record, foreign=True) == []
    assert adopted.machine.may_call(token)
    gone = WorkflowDriver(load=False)
    assert gone.give(AttemptLost(token, "died")) == []
    assert kinds(gone.loaded(record, foreign=True)) == [Append]
    answered = WorkflowDriver(load=False)
    assert answered.done(END, token=token) == []
    assert kinds(answered.loaded(record, foreign=True)) == [Append]


def test_w11_a_loss_is_not_forgotten_over_a_command_that_is_journalled_first() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    assert it.give(AttemptLost(token, "died")) == [], "a handler is out"
    it.does(state="s1")
    assert isinstance(it.event(), Updated)
    assert it.stored()[0] == reply(2)
    assert it.event() == Interrupted(T0, "charge", 2, "died"), "the same attempt is never sent twice"
    it.stored()
    assert it.last(RunStep).token.attempt == 2
    assert it.last(RunStep).state == value("s1")


def test_w11_a_loss_while_a_command_is_being_journalled_is_not_forgotten() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.does(state="s1")
    it.give(AttemptLost(token, "died"))
    it.stored()
    assert it.event() == Interrupted(T0, "charge", 2, "died")


def test_w11_a_loss_of_what_a_command_has_replaced_is_none() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.give(AttemptLost(token, "died"))
    it.does("reserve")
    assert kinds(it.stored())[1:] == [RunStep]
    assert it.token.visit == 2
    assert [type(action.event).__name__ for action in it.all(Append)] == ["Started", "Transitioned"]


def test_w11_a_late_answer_of_a_lost_attempt_counts_until_the_loss_is_decided() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.give(AttemptLost(token, "away too long"))
    it.done(END)
    it.replied()
    assert it.stored()[0] == AckStep(token, stale=False)
    assert it.record.status == "Completed"


def test_w5_a_lost_attempt_that_comes_back_while_its_loss_is_journalled_is_told_to_stop() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.give(AttemptLost(token, "away too long"))
    assert it.give(AttemptAdopted(token, 3 * S, CHECKOUT_SPEC)) == []
    assert it.stored() == [CancelStep(token)], "its successor waits for it"
    assert kinds(it.stopped(token)) == [AckStep, RunStep]


def test_w11_a_lost_attempt_that_comes_back_before_its_loss_is_decided_goes_on() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.give(AttemptLost(token, "away too long"))
    it.give(AttemptAdopted(token, 3 * S, CHECKOUT_SPEC))
    assert it.replied() == [reply(2, "")]
    assert it.machine.may_call(token)


def test_w5_an_attempt_replaced_long_ago_that_comes_back_is_stopped_before_anything_runs() -> None:
    record = running()
    old = record.token("checkout", "c1")
    assert old is not None
    first = WorkflowDriver()
    first.run()
    lost(first)
    first.stored()  # attempt 2 is pending
    it = restarted(first.record)
    assert it.give(AttemptAdopted(old, 60 * S, CHECKOUT_SPEC)) == [CancelStep(old)]
    lost(it)
    assert it.stored() == [], "attempt 3 waits for attempt 1"
    assert kinds(it.wait(5 * S)) == [AbandonStep, Report, RunStep]
    assert it.token.attempt == 3


def test_w5_the_pending_attempt_is_taken_up_beside_one_that_is_being_stopped() -> None:
    first = WorkflowDriver()
    old = first.run()
    lost(first)
    first.stored()
    pending = first.token
    it = restarted(first.record)
    it.give(AttemptAdopted(old, 60 * S, CHECKOUT_SPEC))
    assert it.give(AttemptAdopted(pending, 2 * S, CHECKOUT_SPEC)) == []
    assert it.machine.may_call(pending)
    assert it.stopped(old) == [AckStep(old, stale=True)]
    assert it.machine.may_call(pending)


def test_w5_a_suspect_that_a_command_replaces_has_its_time_to_stop() -> None:
    it = restarted()
    suspect = it.machine.suspect
    assert suspect is not None
    it.call()
    it.does("reserve")
    assert it.stored() == [reply(1)]
    assert it.machine.suspect == suspect, "the runtime still has to say what became of it"
    assert kinds(it.give(AttemptLost(suspect, "died"))) == [RunStep]


def test_w5_a_suspect_that_a_command_replaced_is_told_to_stop_when_its_process_comes_back_with_it() -> None:
    it = restarted()
    suspect = it.machine.suspect
    assert suspect is not None
    it.call()
    it.does("reserve")
    it.stored()
    assert it.give(AttemptAdopted(suspect, 9 * S, CHECKOUT_SPEC)) == [CancelStep(suspect)]
    assert it.machine.suspect is None
    assert kinds(it.stopped(suspect)) == [AckStep, RunStep]


def test_w5_a_suspect_that_a_command_replaced_and_nobody_finds_is_abandoned() -> None:
    it = restarted()
    it.call()
    it.does("reserve")
    it.stored()
    assert kinds(it.wait(5 * S)) == [AbandonStep, Report, RunStep]


def test_w11_a_machine_that_was_ready_knows_what_it_sent() -> None:
    it = restarted()
    lost(it)
    assert it.give(AppendUncertain(it.effect, "cut off")) == LOAD
    assert kinds(it.loaded(running(), state=value("s0"), effect=1, foreign=True)) == [Append], "the loss is known still"
    assert it.machine.suspect is None
    assert kinds(it.stored()) == [RunStep]


def test_w13_a_step_waits_for_a_process_and_commands_go_on() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    it.stored()
    assert it.wait(100 * S) == []
    assert kinds(it.call()) == [AskHandler]
    assert it.give(Woke()) == []
    assert it.lifecycle().waiting_for == "a process that runs step 'charge' of 'checkout'"
