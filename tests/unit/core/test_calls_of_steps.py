"""What an attempt has called, and what a later one does not call again: W16."""

import msgspec
from ankka_sidecar.core.actions import Append, AskHandler, FindCalls, Report, RunStep
from ankka_sidecar.core.events import Ended, Interrupted, Retried
from ankka_sidecar.core.inputs import AttemptLost, CallsFound, Input, StepAnswered
from ankka_sidecar.core.limits import Limits

from ankka.protocol.frames import StepDone
from tests.unit.core.machine import (
    END,
    T0,
    S,
    WorkflowDriver,
    kinds,
    step,
    workflow,
)


def charging(retries: int = 1, limits: Limits | None = None) -> WorkflowDriver:
    """The second attempt of a step runs."""
    it = WorkflowDriver(workflow(step("charge", retries=retries)), limits=limits)
    it.run()
    it.fault()
    it.stored()
    it.sent()
    return it


def answered(it: WorkflowDriver, *calls: bytes) -> Input:
    return StepAnswered(StepDone(it.token, it.record.state_sequence, END, None, calls), it.spec)


def test_w16_a_first_attempt_is_not_compared() -> None:
    it = WorkflowDriver()
    it.run()
    assert kinds(it.done(END)) == [Append]


def test_w16_an_attempt_that_does_not_tell_its_calls_is_not_compared() -> None:
    it = charging()
    assert kinds(it.done(END)) == [Append]


def test_w16_a_later_attempt_that_repeats_every_call_says_nothing() -> None:
    it = charging()
    assert it.give(answered(it, b"k1", b"k2", b"new")) == [FindCalls(it.token)]
    assert kinds(it.give(CallsFound(it.token, ((b"k1", "wallet/a withdraw"), (b"k2", "wallet/b deposit"))))) == [Append]
    assert it.event() == Ended(T0, "charge")


def test_w16_a_call_that_a_later_attempt_does_not_repeat_is_named_in_the_event_and_the_log() -> None:
    it = charging()
    it.give(answered(it, b"k1"))
    warning, append = it.give(CallsFound(it.token, ((b"k1", "wallet/a withdraw"), (b"k2", "wallet/b deposit"))))
    assert isinstance(warning, Report)
    assert warning.level == "warning"
    assert "wallet/b deposit" in warning.message
    assert "wallet/a" not in warning.message
    assert isinstance(append, Append)
    assert append.event == Ended(T0, "charge", unrepeated=("wallet/b deposit",))


def test_w16_calls_found_for_an_attempt_that_was_replaced_are_dropped() -> None:
    it = charging(retries=2)
    token = it.token
    it.give(answered(it))
    assert it.give(CallsFound(msgspec.structs.replace(token, attempt=1), ())) == []
    assert kinds(it.give(CallsFound(token, ()))) == [Append]


def test_w16_commands_go_on_while_the_calls_are_looked_up() -> None:
    it = charging()
    it.give(answered(it))
    assert kinds(it.call()) == [AskHandler]


def test_w16_a_retry_of_a_visit_older_than_its_replies_says_so() -> None:
    it = charging(retries=2, limits=Limits(step_call_retention=5 * S))
    it.now += 5 * S
    actions = it.fault()
    [warning] = [action for action in actions if isinstance(action, Report) and "step-call-retention" in action.message]
    assert "may be made again" in warning.message
    event = it.event()
    assert isinstance(event, Retried)
    assert event.forgotten
    it.stored()
    it.sent()
    it.give(AttemptLost(it.token, "gone"))
    event = it.event()
    assert isinstance(event, Interrupted)
    assert event.forgotten


def test_w16_a_retry_within_the_retention_says_nothing() -> None:
    it = charging(retries=2, limits=Limits(step_call_retention=5 * S))
    it.now += 5 * S - 1
    it.fault()
    event = it.event()
    assert isinstance(event, Retried)
    assert not event.forgotten
    assert it.all(RunStep)
