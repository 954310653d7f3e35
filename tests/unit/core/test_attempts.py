"""Step attempts in a workflow's machine: tokens, replacement, faults, settings (W4-W7, W17, I8, I10, I12)."""

import pytest
from ankka_sidecar.core.actions import AbandonStep, AckStep, Append, AskHandler, CancelStep, Report, RunStep
from ankka_sidecar.core.events import Ended, Failed, FailedOver, Interrupted, Retried, Transitioned
from ankka_sidecar.core.inputs import AttemptLost, StepSent

from ankka.protocol.attempt import Token
from ankka.protocol.payload import StepTarget
from tests.unit.core.machine import CHECKOUT, END, ONE, T0, S, WorkflowDriver, fail, goto, kinds, reply, step, value, workflow

RETRY = workflow(step("charge", retries=1, to="compensate"), step("compensate"), step("reserve"))


def test_w4_an_attempt_is_named_by_generation_run_visit_and_number() -> None:
    it = WorkflowDriver()
    assert it.run() == Token(CHECKOUT, ONE, T0, 1, 1, 1)
    it.fault()
    it.stored()
    assert it.token == Token(CHECKOUT, ONE, T0, 1, 1, 2)


def test_w4_a_steps_effect_is_appended_then_acknowledged_then_the_next_step_runs() -> None:
    it = WorkflowDriver()
    token = it.run()
    assert kinds(it.done(goto("reserve", "5"), state="s1", base=1)) == [Append]
    assert it.event() == Transitioned(T0, StepTarget("reserve", value("5")), "charge", changed=True)
    assert it.stored() == [AckStep(token, stale=False), RunStep(it.token, "reserve", value("5"), value("s1"), 2, 2, None, T0)]
    assert it.token.visit == 2


def test_w4_the_same_answer_twice_counts_once() -> None:  # F02, I8
    it = WorkflowDriver()
    token = it.run()
    it.done(END)
    assert it.done(END) == [], "acknowledged when the first is durable"
    assert it.stored() == [AckStep(token, stale=False)]
    assert it.done(END) == [AckStep(token, stale=True)]
    assert len(it.all(Append)) == 2


def test_w4_any_other_answer_is_dropped_and_said_to_be_stale() -> None:  # F04, F46
    it = WorkflowDriver()
    first = it.run()
    it.done(goto("reserve"))
    it.stored()
    it.sent()
    for other in (first, Token(CHECKOUT, ONE, T0, 1, 2, 2), Token(CHECKOUT, ONE, T0 - 1, 1, 2, 1), Token(CHECKOUT, ONE, T0, 2, 2, 1)):
        assert it.done(END, token=other, state="x") == [AckStep(other, stale=True)]
        assert it.fault(token=other) == [AckStep(other, stale=True)]
    assert len(it.all(Append)) == 2


def test_w4_nothing_runs_after_the_end() -> None:  # F04, F47
    it = WorkflowDriver()
    token = it.run()
    it.done(END)
    assert it.stored() == [AckStep(token, stale=False)]
    assert it.done(goto("reserve")) == [AckStep(token, stale=True)]
    assert it.wait(100 * S) == []


def test_w5_a_redirected_attempt_is_told_to_stop_and_its_successor_waits_until_it_has() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.does("reserve")
    assert it.stored() == [reply(2), CancelStep(token)]
    assert it.lifecycle().waiting_for == "the attempt before this one to stop"
    assert it.stopped(token) == [AckStep(token, stale=True), RunStep(it.token, "reserve", None, value("s0"), 1, 2, None, T0)]
    assert it.token != token


def test_w5_an_attempt_that_does_not_stop_is_abandoned_after_the_grace_time() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.does("reserve")
    it.stored()
    assert it.wait(5 * S - 1) == []
    assert kinds(it.wait(1)) == [AbandonStep, Report, RunStep]
    assert it.done(END, token=token) == [AckStep(token, stale=True)]
    assert len(it.all(RunStep)) == 2


def test_w5_a_replaced_attempt_whose_process_is_gone_has_stopped() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    it.does("reserve")
    it.stored()
    assert kinds(it.give(AttemptLost(token, "died"))) == [RunStep]
    assert len(it.all(Append)) == 2, "no interruption: it was not the pending one any more"


def test_w5_an_attempt_that_waits_for_a_process_is_withdrawn_at_once() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    it.stored()
    token = it.token
    assert it.lifecycle().waiting_for == "a process that runs step 'charge' of 'checkout'"
    it.call()
    it.does("reserve")
    assert it.stored() == [reply(3), CancelStep(token), RunStep(it.token, "reserve", None, None, 0, 2, None, T0)]


def test_w5_an_answer_that_waits_when_a_command_redirects_is_stale_and_frees_the_place() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.call()
    assert it.done(END) == []
    it.does("reserve")
    assert it.stored() == [reply(2), AckStep(token, stale=True), RunStep(it.token, "reserve", None, value("s0"), 1, 2, None, T0)]


def test_w5_the_grace_time_runs_on_while_a_handler_is_out() -> None:
    it = WorkflowDriver()
    it.run()
    it.call()
    it.does("reserve")
    it.stored()
    it.call()
    assert kinds(it.wait(5 * S)) == [AbandonStep, Report, RunStep]


def test_i12_calls_of_an_attempt_count_until_it_answers_or_is_replaced() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    assert not it.machine.may_call(Token(CHECKOUT, ONE, T0, 1, 1, 1))
    it.stored()
    token = it.sent()
    assert it.machine.may_call(token)
    assert not it.machine.may_call(Token(CHECKOUT, ONE, T0, 1, 1, 2))
    it.call()
    it.done(END)
    assert not it.machine.may_call(token), "it has answered, though its answer waits"
    it.does("reserve")
    it.stored()
    second = it.sent()
    it.call()
    it.does("charge")
    it.stored()
    assert not it.machine.may_call(second), "it was replaced"


def test_an_attempt_that_waited_for_a_process_runs_on_the_state_of_now() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge", state="s0")
    it.stored()
    waiting = it.last(RunStep)
    assert it.machine.up_to_date(waiting) is waiting
    it.call()
    it.does(state="s1")
    it.stored()
    assert it.machine.up_to_date(waiting) == RunStep(it.token, "charge", None, value("s1"), 2, 2, None, T0)


def test_w6_a_fault_is_retried_at_once_then_fails_over_without_input() -> None:
    it = WorkflowDriver(RETRY)
    token = it.run()
    assert kinds(it.fault("ValueError: declined")) == [Report, Append]
    assert it.event() == Retried(T0, "charge", 2, "step 'charge' failed: ValueError: declined")
    assert kinds(it.stored()) == [AckStep, RunStep]
    it.sent()
    it.fault("ValueError: again")
    assert it.event() == FailedOver(T0, "charge", "step 'charge' failed: ValueError: again", StepTarget("compensate"))
    it.stored()
    assert it.last(RunStep) == RunStep(it.token, "compensate", None, value("s0"), 1, 3, None, T0)
    assert it.lifecycle().retries == {"charge": 1}
    assert token.attempt == 1


def test_w6_a_compensation_that_fails_ends_the_run_with_both_errors() -> None:  # F87, F16
    it = WorkflowDriver(workflow(step("charge", to="compensate"), step("compensate", retries=2, to="compensate")))
    it.run()
    it.fault("E: declined")
    for _ in range(3):
        it.stored()
        it.sent()
        it.fault("E: no way back")
    message = "step 'compensate' failed: E: no way back (after: step 'charge' failed: E: declined)"
    assert it.event() == Failed(T0, "INTERNAL", message, "compensate")
    it.stored()
    assert it.lifecycle().failure == message
    assert it.wait(100 * S) == []


@pytest.mark.parametrize("most", [0, 1, 3])
def test_w6_i10_attempts_are_retries_and_one(most: int) -> None:  # F83
    it = WorkflowDriver(workflow(step("charge", retries=most)))
    it.run()
    for _ in range(most):
        it.fault()
        it.stored()
        it.sent()
    it.fault()
    assert isinstance(it.event(), Failed)
    it.stored()
    assert len(it.all(RunStep)) == most + 1


def test_w6_backoff_waits_for_its_instant_and_commands_do_not() -> None:  # F88
    it = WorkflowDriver(workflow(step("charge", retries=1, backoff=30 * S)))
    it.run()
    it.fault()
    assert it.stored() == [AckStep(it.token, stale=False)]
    assert it.wait(30 * S - 1) == []
    view = it.lifecycle()
    assert (view.attempt, view.waiting_for) == (2, "the retry at 2023-11-14T22:13:50Z")
    assert kinds(it.call("status", read_only=True)) == [AskHandler]
    assert kinds(it.wait(1)) == [RunStep]


def test_w6_an_error_that_is_not_retryable_goes_straight_to_failover() -> None:
    it = WorkflowDriver(RETRY)
    it.run()
    it.fault(retryable=False)
    assert isinstance(it.event(), FailedOver)


@pytest.mark.parametrize("name", ["TimeoutError", "builtins.TimeoutError", "Exception"])
def test_w6_a_timeout_that_not_on_names_is_not_retried(name: str) -> None:
    it = WorkflowDriver(workflow(step("charge", retries=3, not_on=(name,))))
    it.run()
    it.wait(10 * S)
    assert isinstance(it.event(), Failed)


def test_w6_a_timeout_is_a_fault_and_the_retry_waits_for_the_old_attempt_to_stop() -> None:  # F07, F08
    it = WorkflowDriver(RETRY)
    token = it.run()
    assert kinds(it.wait(10 * S)) == [Report, Append]
    assert it.event() == Retried(T0 + 10 * S, "charge", 2, "step 'charge' failed: timed out after 10 s")
    assert it.stored() == [CancelStep(token)]
    assert kinds(it.stopped(token)) == [AckStep, RunStep]
    it.sent()
    it.wait(9 * S)
    assert len(it.all(Append)) == 2, "the second attempt has its own time"
    it.wait(S)
    assert isinstance(it.event(), FailedOver)


def test_w6_the_clock_of_an_attempt_begins_when_it_is_sent() -> None:
    it = WorkflowDriver(RETRY)
    it.call()
    it.does("charge")
    it.stored()
    assert it.wait(1_000 * S) == [], "no process came: no clock runs (W13)"
    it.sent()
    assert it.wait(10 * S - 1) == []
    assert kinds(it.wait(1)) == [Report, Append]


def test_an_answer_that_came_in_time_counts_though_its_turn_comes_late() -> None:  # F09
    it = WorkflowDriver(RETRY)
    token = it.run()
    it.call()
    it.now += 9 * S
    assert it.done(END) == []
    it.now += 5 * S
    it.replied()
    assert it.event() == Ended(it.now, "charge")
    assert it.stored() == [AckStep(token, stale=False)]


def test_an_answer_that_comes_while_the_timeout_is_being_journalled_is_stale_and_frees_the_place() -> None:  # F09
    it = WorkflowDriver(RETRY)
    token = it.run()
    it.wait(10 * S)
    assert it.done(END) == []
    assert kinds(it.stored()) == [AckStep, RunStep]
    assert AckStep(token, stale=True) in it.asked
    assert it.all(CancelStep) == []
    assert it.record.status == "Running"


def test_w7_then_fail_runs_no_recovery() -> None:
    it = WorkflowDriver(RETRY)
    token = it.run()
    it.done(fail("no stock"))
    assert it.event() == Failed(T0, "INTERNAL", "no stock", "charge")
    assert it.stored() == [AckStep(token, stale=False)]


def test_w11_an_attempt_that_was_given_back_is_interrupted_and_sent_again() -> None:
    it = WorkflowDriver(RETRY)
    token = it.run()
    assert kinds(it.stopped(reason="the process drains")) == [Append]
    assert it.event() == Interrupted(T0, "charge", 2, "the process drains")
    assert it.stored() == [AckStep(token, stale=False), RunStep(it.token, "charge", None, value("s0"), 1, 2, None, T0)]
    assert it.record.retries == {}


def test_w17_timeout_and_recovery_are_those_of_the_process_that_has_the_attempt() -> None:
    it = WorkflowDriver(workflow(step("charge", timeout=3 * S, retries=5)))
    it.run()
    it.spec = workflow(step("charge", timeout=20 * S))
    it.wait(3 * S)
    assert isinstance(it.event(), Retried)
    it.stored()
    it.stopped()
    it.sent()
    it.wait(19 * S)
    assert len(it.all(Append)) == 2
    it.wait(S)
    assert isinstance(it.event(), Failed)


def test_w17_an_attempt_answered_by_a_process_that_has_no_such_setting_uses_what_that_process_declares() -> None:
    it = WorkflowDriver(RETRY)
    token = it.run()
    it.spec = workflow(step("reserve"), fingerprint="v2")
    it.fault()
    assert isinstance(it.event(), Failed)
    assert it.last(Append).schema == "v2"
    assert it.stored() == [AckStep(token, stale=False)]


def test_a_stray_note_that_an_attempt_was_sent_does_no_harm() -> None:
    it = WorkflowDriver()
    first = it.run()
    it.done(goto("reserve"))
    it.stored()
    assert it.give(StepSent(first, it.spec)) == []
    assert it.lifecycle().waiting_for == "a process that runs step 'reserve' of 'checkout'"


def test_the_fault_of_a_step_is_reported_with_where_and_how_long() -> None:
    it = WorkflowDriver(RETRY)
    it.run()
    it.now += 2 * S
    report = it.fault("ValueError: no")[0]
    assert report == Report("warning", "step fault: component=checkout instance=c1 step=charge attempt=1 elapsed=2 s: ValueError: no")
