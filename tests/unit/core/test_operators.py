"""What operators ask of an instance, and that they hear whatever becomes of it (W18)."""

from typing import Any

import pytest
from ankka_sidecar.core.actions import Append, CancelStep, Prune, Reply
from ankka_sidecar.core.events import Deleted, Failed, Held, Interrupted, Released
from ankka_sidecar.core.inputs import (
    AppendConflicted,
    AppendFenced,
    AppendRefused,
    AppendUncertain,
    AttemptLost,
    CallDropped,
    LoadFailed,
    OperatorAsked,
)

from ankka.protocol.errors import ErrorCode
from ankka.protocol.payload import NOTHING, Payload
from tests.unit.core.machine import END, T0, EntityDriver, S, WorkflowDriver, goto, kinds, refusals
from tests.unit.core.test_journal_failures import UNREADABLE

YES = Reply(90, Payload(b"", NOTHING))


def ask(it: Any, wanted: str, call: int = 90) -> Any:
    return it.give(OperatorAsked(call, wanted, "ann", "because"))


def test_w18_hold_keeps_the_status_and_lets_nothing_new_start() -> None:
    it = WorkflowDriver()
    it.run()
    ask(it, "hold")
    assert it.event() == Held(T0, "ann", "because")
    assert it.stored() == [YES]
    it.done(goto("reserve"))
    assert len(it.stored()) == 1, "the step that ran is acknowledged, the next one does not start"
    view = it.lifecycle()
    assert (view.status, view.held, view.waiting_for) == ("Running", True, "an operator to resume it")
    ask(it, "release")
    assert it.event() == Released(T0, "ann", "because")
    assert [type(action).__name__ for action in it.stored()] == ["Reply", "RunStep"]


def test_w18_cancel_stops_the_attempt_and_fails_the_run() -> None:
    it = WorkflowDriver()
    token = it.run()
    ask(it, "cancel")
    assert it.event() == Failed(T0, "CANCELLED", "cancelled: because", "charge", "ann")
    assert it.stored() == [YES, CancelStep(token)]
    assert refusals(ask(it, "cancel")) == [(90, ErrorCode.CONFLICT)]


def test_w18_an_operator_waits_for_the_handler_that_is_out() -> None:
    it = WorkflowDriver()
    it.run()
    it.call()
    assert ask(it, "cancel") == []
    assert [type(action) for action in it.replied()] == [Reply, Append]


def test_w18_a_hold_over_a_restart_takes_the_pending_attempt_as_sent() -> None:
    first = WorkflowDriver()
    token = first.run()
    ask(first, "hold")
    first.stored()
    it = WorkflowDriver(load=False)
    it.loaded(first.record, foreign=True)
    assert it.machine.suspect == token
    it.give(AttemptLost(token, "died"))
    assert isinstance(it.event(), Interrupted)
    assert it.stored() == []
    ask(it, "release")
    it.stored()
    assert it.token.attempt == 2, "the same attempt is never sent twice"


@pytest.mark.parametrize("it", [WorkflowDriver, EntityDriver])
def test_w18_delete_of_what_does_not_live_is_not_found(it: Any) -> None:
    assert refusals(ask(it(), "delete")) == [(90, ErrorCode.NOT_FOUND)]


def test_w18_delete_of_an_entity_does_not_wait_for_its_handler() -> None:  # F48
    it = EntityDriver()
    it.call()
    it.does("e1", state="s1")
    it.stored()
    it.call()
    actions = ask(it, "delete")
    assert refusals(actions) == [(2, ErrorCode.UNAVAILABLE)]
    assert it.last(Append).event == Deleted(T0, "ann", reason="because")
    assert it.stored() == [YES, Prune(T0)]


@pytest.mark.parametrize("outcome", [AppendRefused, AppendConflicted, AppendFenced, AppendUncertain])
def test_w18_an_operator_hears_whatever_becomes_of_the_append(outcome: Any) -> None:
    it = WorkflowDriver()
    it.run()
    record = it.record
    ask(it, "cancel")
    actions = it.give(outcome(it.effect) if outcome in (AppendConflicted, AppendFenced) else outcome(it.effect, "no"))
    if outcome is AppendUncertain:
        actions = it.loaded(record)
    assert refusals(actions) == [(90, ErrorCode.UNAVAILABLE)]


def test_w18_an_operator_hears_that_nobody_knows() -> None:
    it = WorkflowDriver()
    it.run()
    ask(it, "cancel")
    record = it.last(Append).record
    it.give(AppendUncertain(it.effect, "cut off"))
    assert refusals(it.give(UNREADABLE)) == [(90, ErrorCode.TIMEOUT)]
    it.wait(S)
    assert YES not in it.loaded(record, effect=it.effect)


def test_w18_operators_that_wait_hear_when_the_instance_leaves() -> None:
    it = WorkflowDriver()
    it.run()
    it.done(END)
    ask(it, "cancel")
    assert refusals(it.give(AppendFenced(it.effect))) == [(90, ErrorCode.UNAVAILABLE)]
    early = WorkflowDriver(load=False)
    ask(early, "cancel")
    assert refusals(early.give(LoadFailed(UNREADABLE.error))) == [(90, ErrorCode.UNAVAILABLE)]


def test_w18_an_operator_who_does_not_wait_any_more_asks_nothing() -> None:
    it = WorkflowDriver()
    it.run()
    it.call()
    ask(it, "cancel")
    it.give(CallDropped(90))
    assert kinds(it.replied()) == [Reply]
