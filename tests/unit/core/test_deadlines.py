"""Deadlines in a workflow's machine: budget, pause, passivation (W8, W9, I9); no wake-up is lost, none comes in a loop."""

from ankka_sidecar.core.actions import AckStep, Append, CancelStep, RunStep, WakeAt
from ankka_sidecar.core.events import Ended, Failed, Paused, Resumed, Transitioned
from ankka_sidecar.core.inputs import AppendRefused, EndAsked, Woke

from ankka.protocol.payload import StepTarget
from tests.unit.core.machine import END, GONE, LOAD, T0, S, WorkflowDriver, goto, kinds, pause, reply, step, value, workflow

MINUTE = workflow(step("charge", timeout=600 * S), step("reserve"), timeout=60 * S)


def paused(after: int | None = 10 * S, to: str | None = "reserve") -> WorkflowDriver:
    it = WorkflowDriver(MINUTE)
    it.run()
    it.done(pause(after, to))
    it.stored()
    return it


def test_w8_the_budget_cancels_the_attempt_and_fails_the_run() -> None:
    it = WorkflowDriver(MINUTE)
    token = it.run()
    assert it.wait(60 * S - 1) == []
    assert kinds(it.wait(1)) == [Append]
    assert it.event() == Failed(T0 + 60 * S, "TIMEOUT", "workflow timed out after 1 min", "charge")
    assert it.stored() == [CancelStep(token)]
    assert it.stopped(token) == [AckStep(token, stale=True)]


def test_w8_a_redirect_does_not_extend_the_budget() -> None:
    it = WorkflowDriver(MINUTE)
    token = it.run()
    it.now += 50 * S
    it.call()
    it.does("charge")
    it.stored()
    it.stopped(token)
    it.sent()
    it.wait(10 * S)
    assert it.event() == Failed(T0 + 60 * S, "TIMEOUT", "workflow timed out after 1 min", "charge")


def test_w8_the_budget_fires_while_the_attempt_waits_for_a_process() -> None:
    it = WorkflowDriver(MINUTE)
    it.call()
    it.does("charge")
    it.stored()
    assert kinds(it.wait(60 * S)) == [Append]
    assert it.stored() == [CancelStep(it.token)]


def test_w8_the_budget_fires_while_paused() -> None:
    it = paused(after=None, to=None)
    assert kinds(it.wait(60 * S)) == [Append]
    assert isinstance(it.event(), Failed)


def test_w8_the_budget_wins_a_tie_with_the_pause_and_the_step() -> None:
    it = paused(after=60 * S)
    it.wait(60 * S)
    assert isinstance(it.event(), Failed)
    other = WorkflowDriver(workflow(step("charge", timeout=60 * S, retries=1), timeout=60 * S))
    other.run()
    other.wait(60 * S)
    assert isinstance(other.event(), Failed)
    third = WorkflowDriver(MINUTE)
    third.run()
    third.now += 60 * S
    third.done(END)  # at the same instant, before the wake-up
    assert isinstance(third.event(), Failed)


def test_w8_an_answer_that_came_before_the_budget_was_over_counts() -> None:  # F09
    it = WorkflowDriver(MINUTE)
    it.run()
    it.call()
    it.now += 59 * S
    it.done(END)
    it.now += 2 * S
    it.replied()
    assert it.event() == Ended(T0 + 61 * S, "charge")


def test_w9_a_pause_goes_on_at_its_instant_with_its_step() -> None:
    it = paused()
    assert it.wake == T0 + 10 * S
    assert (it.lifecycle().status, it.lifecycle().waiting_for) == ("Paused", "a command, or until 2023-11-14T22:13:30Z")
    assert it.wait(10 * S - 1) == []
    assert kinds(it.wait(1)) == [Append]
    assert it.event() == Resumed(T0 + 10 * S, StepTarget("reserve"))
    assert it.stored() == [RunStep(it.token, "reserve", None, value("s0"), 1, 3, None, it.now)]


def test_w9_a_pause_without_a_deadline_waits_for_a_command() -> None:
    it = WorkflowDriver()
    it.run()
    it.done(pause())
    it.stored()
    assert it.lifecycle().waiting_for == "a command to transition it"
    assert it.wait(60 * S) == []
    it.call()
    it.does("reserve")
    assert it.event() == Transitioned(it.now, StepTarget("reserve"), "go", redirected=True)
    assert it.stored() == [reply(3), RunStep(it.token, "reserve", None, value("s0"), 1, 3, None, it.now)]


def test_w9_a_command_that_came_first_wins_though_the_deadline_passes_while_its_handler_is_out() -> None:
    it = paused()
    it.now += 9 * S
    it.call()
    assert it.wait(2 * S) == []
    it.does("reserve")
    assert isinstance(it.event(), Transitioned)
    it.stored()
    it.sent()
    assert it.wait(5 * S) == [], "F31: the old deadline is not armed any more"


def test_w9_a_deadline_that_came_first_wins_over_a_command_that_waits() -> None:
    it = paused()
    it.call()
    it.call()
    it.now += 10 * S
    it.replied()
    assert it.event() == Resumed(it.now, StepTarget("reserve"))


def test_w9_a_second_pause_has_its_own_deadline() -> None:  # F31
    it = paused(after=10 * S)
    it.wait(5 * S)
    it.call()
    it.does("charge")
    it.stored()
    it.sent()
    it.done(pause(20 * S, "reserve"))
    it.stored()
    assert it.wait(20 * S - 1) == []
    it.wait(1)
    assert it.event() == Resumed(T0 + 25 * S, StepTarget("reserve"))


def test_w9_an_end_by_command_leaves_no_timer() -> None:  # F36
    it = paused()
    it.call()
    it.does("charge")
    it.stored()
    it.sent()
    it.done(END)
    it.stored()
    assert it.wait(119 * S) == []
    assert it.wait(2 * S) == GONE


def test_w9_a_deadline_that_passed_while_all_was_down_fires_once() -> None:  # F23, F30
    it = WorkflowDriver(MINUTE, load=False)
    it.now = T0 + 30 * S
    assert kinds(it.loaded(paused().record, foreign=True)) == [Append]
    assert it.event() == Resumed(T0 + 30 * S, StepTarget("reserve"))
    assert kinds(it.stored()) == [RunStep]
    for _ in range(3):
        again = WorkflowDriver(MINUTE, load=False)
        again.now = T0 + 31 * S
        assert again.loaded(it.record, foreign=True) == [], "the attempt is taken as having been sent, and nothing fires"


def test_w6_a_backoff_that_passed_while_all_was_down_is_taken_as_sent() -> None:
    it = WorkflowDriver(workflow(step("charge", retries=1, backoff=30 * S)))
    it.run()
    it.fault()
    it.stored()
    later = WorkflowDriver(load=False)
    later.now = T0 + 10 * S
    assert later.loaded(it.record, foreign=True) == []
    assert later.machine.suspect is None, "it was not due yet, so it was not sent"
    assert kinds(later.wait(20 * S)) == [RunStep]


def test_a_deadline_that_the_journal_refused_is_tried_again() -> None:
    it = paused()
    it.wait(10 * S)
    assert it.give(AppendRefused(it.effect, "disk full")) == []
    assert it.wait(S - 1) == []
    assert kinds(it.wait(1)) == [Append]
    assert isinstance(it.event(), Resumed)


def test_a_refused_deadline_is_tried_again_however_long_the_machine_was_idle() -> None:
    it = WorkflowDriver(workflow(step("charge"), step("reserve")))
    it.run()
    it.done(pause(120 * S, "reserve"))
    it.stored()
    it.wait(120 * S)
    assert isinstance(it.event(), Resumed), "idle for as long as it takes to leave, but this was due"
    assert it.give(AppendRefused(it.effect, "disk full")) == []
    assert kinds(it.wait(S)) == [Append]


def test_a_wake_up_that_comes_early_or_late_or_twice_does_no_harm() -> None:
    it = paused()
    assert it.give(Woke()) == []
    it.now += 3 * S
    assert it.give(Woke()) == []
    assert it.give(Woke()) == []
    it.now += 7 * S
    assert kinds(it.give(Woke())) == [Append]
    assert it.give(Woke()) == []


def test_passivation_an_idle_machine_leaves_after_its_time() -> None:
    it = WorkflowDriver()
    assert it.wait(120 * S - 1) == []
    assert it.wait(1) == GONE


def test_passivation_a_paused_machine_may_leave() -> None:
    it = WorkflowDriver()
    it.run()
    it.done(pause(1_000 * S, "reserve"))
    it.stored()
    assert it.wait(120 * S) == GONE


def test_passivation_never_while_an_attempt_is_out_or_waits_for_a_process() -> None:
    it = WorkflowDriver(workflow(step("charge", timeout=10_000 * S)))
    it.call()
    it.does("charge")
    it.stored()
    assert it.wait(1_000 * S) == []
    it.sent()
    assert it.wait(1_000 * S) == []
    it.done(goto("charge"))
    it.stored()
    assert it.wait(1_000 * S) == []


def test_passivation_never_while_somebody_awaits_the_end() -> None:
    it = WorkflowDriver()
    it.ask_end()
    assert it.wait(1_000 * S) == []


def test_passivation_never_while_a_replaced_attempt_may_still_stop() -> None:
    it = WorkflowDriver(MINUTE)
    token = it.run()
    it.wait(60 * S)
    it.stored()
    it.now += 4 * S
    assert it.give(Woke()) == []
    assert it.stopped(token) == [AckStep(token, stale=True)]
    assert it.wait(120 * S) == GONE


def test_passivation_use_puts_it_off() -> None:
    it = WorkflowDriver()
    it.wait(100 * S)
    it.call("status", read_only=True)
    it.replied()
    assert it.wait(119 * S) == []
    assert it.wait(1 * S) == GONE


def test_a_machine_whose_journal_does_not_answer_does_not_wake_in_a_loop() -> None:
    it = WorkflowDriver(load=False)
    it.give(Woke())
    assert it.started == LOAD
    woken = len(it.all(WakeAt))
    assert it.wait(1_000 * S) == []
    assert len(it.all(WakeAt)) - woken < 20


def test_a_call_to_a_machine_that_has_left_is_refused_and_not_forgotten() -> None:
    it = WorkflowDriver()
    it.wait(120 * S)
    for actions in (it.call(), it.call("status", read_only=True), it.give(EndAsked(9))):
        assert [type(action).__name__ for action in actions] == ["Reply"]
    assert it.give(Woke()) == []


def test_paused_is_journalled_with_its_absolute_instant() -> None:
    it = WorkflowDriver(MINUTE)
    it.run()
    it.done(pause(10 * S, "reserve"), state="s1")
    assert it.event() == Paused(T0, "charge", T0 + 10 * S, StepTarget("reserve"), changed=True)
    assert it.last(Append).listing_changed
