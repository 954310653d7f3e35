"""Commands and queries of a workflow's machine: W1-W3, W13, the mailbox, turns, timeouts."""

import pytest
from ankka_sidecar.core.actions import Append, AskHandler, CancelAsk, Reply, RunStep
from ankka_sidecar.core.events import Ended, Started, Transitioned, Updated
from ankka_sidecar.core.inputs import AskLost, CallDropped
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.workflow import evolve

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Folded
from ankka.protocol.payload import StepTarget
from tests.unit.core.machine import END, LOAD, T0, S, WorkflowDriver, goto, kinds, refusals, reply, value

CONFLICT = Error(ErrorCode.CONFLICT, "no")


def test_w1_a_call_waits_for_the_load_and_then_has_its_handler() -> None:
    it = WorkflowDriver(load=False)
    assert it.started == LOAD
    call = it.made()
    assert it.give(call) == []
    assert it.loaded() == [AskHandler(1, call, None, 0)]


def test_w1_w2_the_effect_is_appended_then_the_reply_leaves_then_the_step_runs() -> None:  # I3
    it = WorkflowDriver()
    it.call()
    event = Started(T0, 1, StepTarget("charge", value("7")), "go", changed=True)
    record = evolve(it.record, event)
    assert it.does("charge", state="s0", input="7") == [Append(1, T0, 1, event, record, value("s0"), True, "v1", None)]
    assert it.stored() == [reply(1), RunStep(it.token, "charge", value("7"), value("s0"), 1, 1, None, T0)]


@pytest.mark.parametrize("answer", ["replied", "refused"])
def test_w2_a_reply_or_a_refusal_alone_journals_nothing(answer: str) -> None:  # I5
    it = WorkflowDriver()
    it.call()
    if answer == "replied":
        assert it.replied("hello") == [reply(1, "hello")]
    else:
        assert it.refused(CONFLICT) == [Reply(1, CONFLICT)]
    assert it.all(Append) == []


def test_w2_an_effect_without_a_change_replies_at_once() -> None:
    it = WorkflowDriver()
    it.call()
    assert it.does() == [reply(1)]
    it.call()
    assert it.does(delete=True) == [reply(2)], "nothing lived, so nothing is deleted"
    assert it.all(Append) == []


@pytest.mark.parametrize("answer", [EntityCommandDone(0, value("ok")), Folded(0, None)])
def test_an_answer_of_the_wrong_kind_is_the_callers_internal_error(answer: object) -> None:
    it = WorkflowDriver()
    it.call()
    assert refusals(it.answer(answer)) == [(1, ErrorCode.INTERNAL)]
    it.call()
    assert it.replied("on") == [reply(2, "on")]


def test_w3_one_command_at_a_time_in_order() -> None:
    it = WorkflowDriver()
    first, second = it.made(), it.made()
    assert it.give(first) == [AskHandler(1, first, None, 0)]
    assert it.give(second) == []
    assert it.refused(CONFLICT) == [Reply(1, CONFLICT), AskHandler(2, second, None, 0)]


def test_w3_no_command_starts_before_the_effect_of_the_last_is_durable() -> None:
    it = WorkflowDriver()
    it.call()
    it.call()
    assert kinds(it.does(state="s0")) == [Append]
    actions = it.stored()
    assert kinds(actions) == [Reply, AskHandler]
    assert isinstance(actions[1], AskHandler)
    assert (actions[1].state, actions[1].sequence) == (value("s0"), 1)


def test_w3_commands_run_while_a_step_runs() -> None:
    it = WorkflowDriver()
    it.run()
    assert kinds(it.call()) == [AskHandler]
    assert kinds(it.does(state="s1")) == [Append]
    assert it.stored() == [reply(2)], "the step that runs is left alone"


def test_w3_queries_run_beside_everything_on_the_last_journalled_state() -> None:  # F88
    it = WorkflowDriver()
    it.run(state="s0")
    it.call()  # a command's handler is out
    first = it.made("status", read_only=True)
    assert it.give(first) == [AskHandler(3, first, value("s0"), 1)]
    it.does(state="s1", ask=2)  # its append is in flight
    second = it.made("status", read_only=True)
    assert it.give(second) == [AskHandler(4, second, value("s0"), 1)]
    it.stored()
    third = it.made("status", read_only=True)
    assert it.give(third) == [AskHandler(5, third, value("s1"), 2)]
    assert it.replied("5", ask=5) == [reply(5, "5")], "in any order"
    assert it.replied("3", ask=3) == [reply(3, "3")]
    assert it.refused(CONFLICT, ask=4) == [Reply(4, CONFLICT)]


def test_w3_a_query_that_answers_with_an_effect_changes_nothing() -> None:  # F89
    it = WorkflowDriver()
    for number in range(1, 1_001):
        it.call("status", read_only=True)
        if number % 2:
            assert refusals(it.does("charge", state="x")) == [(number, ErrorCode.INTERNAL)]
        else:
            it.refused(CONFLICT)
    assert it.all(Append) == []
    assert it.record.sequence == 0
    it.call()
    assert it.replied() == [reply(1_001, "")]


def test_w3_queries_that_came_before_the_load_are_answered_after_it() -> None:
    it = WorkflowDriver(load=False)
    query = it.made("status", read_only=True)
    it.give(query)
    command = it.made()
    it.give(command)
    assert it.loaded() == [AskHandler(1, query, None, 0), AskHandler(2, command, None, 0)]


def test_w3_the_lifecycle_needs_no_process() -> None:
    it = WorkflowDriver()
    assert it.lifecycle().status == "NotStarted"
    it.run()
    it.call()
    view = it.lifecycle()
    assert (view.status, view.step, view.attempt, view.run, view.waiting_for) == ("Running", "charge", 1, 1, None)


def test_turns_a_steps_answer_waits_for_the_handler_that_is_out_and_goes_first_after_it() -> None:  # F38
    it = WorkflowDriver()
    it.run()
    it.call()
    it.call()
    it.call()
    assert it.done(END) == []
    assert kinds(it.replied()) == [Reply, Append]
    assert isinstance(it.event(), Ended)
    assert [type(action).__name__ for action in it.stored()] == ["AckStep", "AskHandler"]


def test_turns_steady_commands_cannot_starve_a_step() -> None:  # F38
    it = WorkflowDriver()
    it.run()
    for _ in range(200):
        it.call()
    it.done(goto("reserve"))
    it.does(state="s1")
    it.stored()
    assert isinstance(it.event(), Transitioned), "the answer had the first turn after the command that was out"


def test_turns_steady_commands_cannot_starve_a_deadline() -> None:
    it = WorkflowDriver()
    it.run()
    it.call()
    it.call()
    it.now += 10 * S  # the step's time is over, and the wake-up is late
    assert [type(action).__name__ for action in it.replied()] == ["Reply", "Report", "Append"]


def test_mailbox_has_a_limit_and_refuses_naming_it() -> None:
    it = WorkflowDriver(limits=Limits(max_mailbox=2))
    it.call()
    it.call()
    it.call()
    [refusal] = it.call()
    assert isinstance(refusal, Reply)
    text = "2 commands wait for checkout/c1 already (max-mailbox 2)"
    assert refusal == Reply(4, Error(ErrorCode.RESOURCE_EXHAUSTED, text, {"limit": 2}))


def test_i12_a_call_whose_time_is_over_does_not_begin() -> None:
    it = WorkflowDriver()
    it.call()
    it.call(patience=5 * S)
    last = it.made()
    it.give(last)
    it.now += 5 * S
    actions = it.replied()
    assert refusals(actions) == [(2, ErrorCode.TIMEOUT)]
    assert actions[-1] == AskHandler(2, last, None, 0)


def test_a_command_whose_handler_takes_too_long_is_given_up_and_its_late_answer_dropped() -> None:
    it = WorkflowDriver()
    it.call()
    it.call()
    assert it.wake == T0 + 10 * S
    actions = it.wait(10 * S)
    assert actions[0] == CancelAsk(1)
    assert refusals(actions) == [(1, ErrorCode.TIMEOUT)]
    assert kinds(actions[2:]) == [AskHandler]
    assert it.does("charge", ask=1) == []
    assert it.replied("2", ask=2) == [reply(2, "2")]


def test_a_query_that_takes_too_long_is_given_up_alone() -> None:
    it = WorkflowDriver()
    it.call("status", read_only=True)
    it.now += 4 * S
    it.call("status", read_only=True)
    actions = it.wait(6 * S)
    assert actions[0] == CancelAsk(1)
    assert refusals(actions) == [(1, ErrorCode.TIMEOUT)]
    assert it.replied("2") == [reply(2, "2")]


def test_w13_a_call_that_no_process_took_is_told_so() -> None:
    it = WorkflowDriver()
    it.call()
    it.call("status", read_only=True)
    error = Error(ErrorCode.UNAVAILABLE, "no process")
    assert it.give(AskLost(2, error)) == [Reply(2, error)]
    assert it.give(AskLost(1, error)) == [Reply(1, error)]


def test_a_dropped_call_does_not_begin() -> None:
    it = WorkflowDriver()
    it.call()
    it.call()
    it.call("status", read_only=True)
    assert it.give(CallDropped(2)) == []
    assert it.give(CallDropped(3)) == [CancelAsk(2)]
    assert it.replied("1", ask=1) == [reply(1, "1")]
    assert it.replied("late", ask=2) == []


def test_a_dropped_call_that_has_begun_is_done() -> None:
    it = WorkflowDriver()
    it.call()
    assert it.give(CallDropped(1)) == []
    assert kinds(it.does(state="s")) == [Append]
    it.stored()
    assert it.event() == Updated(T0, "go")


def test_calls_dropped_while_loading_are_forgotten() -> None:
    it = WorkflowDriver(load=False)
    it.call()
    it.call("status", read_only=True)
    it.ask_end()
    for call in (1, 2, 3):
        assert it.give(CallDropped(call)) == []
    assert it.loaded() == []
