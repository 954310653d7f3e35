"""A step's state when commands have changed it meanwhile: merged by a process, nothing lost without a trace (W14)."""

import pytest
from ankka_sidecar.core.actions import AckStep, Append, AskHandler, AskMerge, CancelAsk, ReadState, Reply, Report
from ankka_sidecar.core.events import Ended, Failed, Retried
from ankka_sidecar.core.inputs import AppendRefused, AskLost, AttemptAdopted, StateRead

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Merged, Replied
from tests.unit.core.machine import CHECKOUT_SPEC, END, T0, S, WorkflowDriver, kinds, reply, step, value, workflow


def updated(state: str = "theirs") -> WorkflowDriver:
    """A step runs on "s0" of sequence 1, and a command has set another state at sequence 2."""
    it = WorkflowDriver(workflow(step("charge", retries=1)))
    it.run()
    it.call()
    it.does(state=state)
    it.stored()
    return it


def merged(it: WorkflowDriver, text: str = "both", *both: str) -> list[object]:
    return list(it.answer(Merged(0, value(text), both), it.last(AskMerge).ask))


def test_w14_the_states_are_merged_and_the_event_names_what_both_had_changed() -> None:
    it = updated()
    token = it.token
    assert it.done(END, state="mine", base=1) == [AskMerge(3, "charge", value("s0"), value("theirs"), value("mine"))]
    assert kinds(merged(it, "both", "status")) == [Append]  # type: ignore[arg-type]
    assert it.event() == Ended(T0, "charge", changed=True, merged=(2,), both=("status",))
    assert it.stored() == [AckStep(token, stale=False)]
    assert it.machine.state == value("both")


def test_w14_a_step_that_sets_no_state_needs_no_merge() -> None:
    it = updated()
    assert kinds(it.done(END, base=1)) == [Append]
    it.stored()
    assert it.machine.state == value("theirs")


def test_w14_an_attempt_sent_after_the_update_has_seen_it() -> None:
    it = updated()
    it.fault()
    it.stored()
    it.sent()
    assert kinds(it.done(END, state="mine", base=2)) == [Append]
    assert it.event() == Ended(T0, "charge", changed=True)


def test_w14_no_command_starts_while_a_merge_is_out() -> None:
    it = updated()
    it.done(END, state="mine", base=1)
    assert it.call() == []
    assert kinds(it.call("status", read_only=True)) == [AskHandler]
    merged(it)
    assert kinds(it.stored()) == [AckStep, AskHandler]


def test_w14_what_a_command_sets_between_the_merge_and_its_append_is_merged_too() -> None:
    it = updated()
    it.done(END, state="mine", base=1)
    merged(it, "both", "status")
    it.give(AppendRefused(it.effect, "disk full"))
    it.call()
    it.does(state="newer")
    it.stored()
    it.wait(S)
    ask = it.last(AskMerge)
    assert (ask.base, ask.current, ask.mine) == (value("theirs"), value("newer"), value("both")), "the first merge is the step's side now"
    merged(it, "all", "total")
    assert it.event() == Ended(it.now, "charge", changed=True, merged=(2, 3), both=("status", "total"))
    it.stored()
    assert it.machine.state == value("all")


def test_w14_a_merge_whose_process_is_gone_is_done_by_another_and_the_step_not_run_again() -> None:
    it = updated()
    it.done(END, state="mine", base=1)
    it.wait(9 * S)
    assert it.give(AskLost(it.last(AskMerge).ask, Error(ErrorCode.UNAVAILABLE, "gone"))) == [], "a second later, not in a loop"
    assert it.wait(S - 1) == []
    assert kinds(it.wait(1)) == [AskMerge]
    merged(it)
    assert isinstance(it.event(), Ended)


@pytest.mark.parametrize("how", ["raises", "too large", "wrong", "late"])
def test_w14_what_cannot_be_merged_is_a_fault_of_the_step(how: str) -> None:
    it = updated()
    it.done(END, state="mine", base=1)
    ask = it.last(AskMerge).ask
    if how == "raises":
        actions = it.refused(Error(ErrorCode.INTERNAL, "KeyError: x"), ask)
    elif how == "too large":
        actions = it.give(AskLost(ask, Error(ErrorCode.TOO_LARGE, "it does not fit into a message")))
    elif how == "wrong":
        actions = it.answer(Replied(0, value("r")), ask)
    else:
        actions = [action for action in it.wait(10 * S) if not isinstance(action, CancelAsk)]
    assert kinds(actions) == [Report, Append]
    event = it.event()
    assert isinstance(event, Retried)
    assert "its state cannot be merged with the commands'" in event.error
    it.stored()
    assert it.machine.state == value("theirs")


def test_w14_the_state_an_adopted_attempt_was_sent_with_is_read_from_the_journal() -> None:
    first = updated()
    it = WorkflowDriver(load=False)
    it.loaded(first.record, state=value("theirs"), effect=2, foreign=True)
    token = it.machine.suspect
    assert token is not None
    it.give(AttemptAdopted(token, S, CHECKOUT_SPEC))
    assert it.done(END, token=token, state="mine", base=1) == [ReadState(T0, 1)]
    assert kinds(it.call()) == [AskHandler], "commands go on meanwhile"
    assert it.give(StateRead(1, value("s0"))) == []
    assert it.replied() == [reply(1, ""), AskMerge(2, "charge", value("s0"), value("theirs"), value("mine"))]
    merged(it)
    assert it.stored() == [AckStep(token, stale=False)]


def test_w8_the_budget_that_passes_while_a_merge_is_out_does_not_undo_an_answer_in_time() -> None:
    it = WorkflowDriver(workflow(step("charge", timeout=600 * S), timeout=60 * S))
    it.run()
    it.call()
    it.does(state="theirs")
    it.stored()
    it.wait(59 * S)
    it.done(END, state="mine", base=1)
    it.now += 5 * S
    merged(it)
    assert isinstance(it.event(), Ended)
    assert not [action for action in it.all(Append) if isinstance(action.event, Failed)]
    assert it.all(Reply) == [reply(1), reply(2)]
