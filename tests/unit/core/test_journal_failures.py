"""A workflow's machine when the journal conflicts, fences, refuses, does not know, or cannot be read."""

import pytest
from ankka_sidecar.core.actions import AckStep, Append, AskHandler, CancelAsk, CancelStep, Passivate, Reply, Report, RunStep
from ankka_sidecar.core.events import AnyEvent, Ended, Failed, Interrupted, Resumed, Started, Transitioned
from ankka_sidecar.core.inputs import (
    AppendConflicted,
    Appended,
    AppendFenced,
    AppendRefused,
    AppendUncertain,
    AttemptLost,
    EndAsked,
    LifecycleAsked,
    LoadFailed,
    Woke,
)
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.outcome import Outcome
from tests.unit.core.machine import END, LOAD, T0, S, WorkflowDriver, goto, kinds, pause, refusals, reply, step, value, workflow

UNREADABLE = LoadFailed(Error(ErrorCode.UNAVAILABLE, "the journal cannot be read now"))
POISONED = LoadFailed(Error(ErrorCode.INTERNAL, "a row that this version cannot read"))


def reload(it: WorkflowDriver, record: WorkflowRecord, *, effect: int = 0) -> list[object]:
    return list(it.loaded(record, state=it.machine.state, effect=effect))


# --- conflicts ---


def test_a_conflict_reads_again_and_decides_once_more() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    assert kinds(it.give(AppendConflicted(1))) == [Report, type(LOAD[0])]
    assert reload(it, WorkflowRecord(generation=5, sequence=3, run=1)) == [AskHandler(2, it.last(AskHandler).call, None, 3)]
    it.does("charge")
    assert (it.last(Append).generation, it.last(Append).sequence) == (5, 4)
    assert it.stored()[0] == reply(1)


def test_a_second_conflict_is_the_callers_internal_error_and_a_bug_report() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    it.give(AppendConflicted(1))
    reload(it, WorkflowRecord())
    it.does("charge")
    actions = it.give(AppendConflicted(2))
    assert kinds(actions) == [Report, Reply], "it is read again later: not in a loop with the journal"
    assert refusals(actions) == [(1, ErrorCode.INTERNAL)]
    assert it.wait(S) == LOAD
    it.loaded()
    assert kinds(it.call()) == [AskHandler]


def test_a_conflict_of_a_steps_answer_keeps_the_answer() -> None:
    it = WorkflowDriver()
    token = it.run()
    record = it.record
    it.done(END)
    it.give(AppendConflicted(2))
    assert kinds(reload(it, record)) == [Append]  # type: ignore[arg-type]
    assert it.stored() == [AckStep(token, stale=False)]


def test_conflicts_that_do_not_end_are_retried_a_second_apart() -> None:
    it = WorkflowDriver()
    it.run()
    record = it.record
    it.done(END)
    for _ in range(5):
        before = it.now
        it.give(AppendConflicted(it.effect))
        it.wait(2 * S)
        reload(it, record)
        assert it.now - before >= S
    it.stored()
    assert it.record.status == "Completed"


# --- fenced ---


def test_a_fenced_machine_leaves_and_everybody_hears() -> None:
    it = WorkflowDriver()
    it.run()
    it.ask_end()
    it.call("status", read_only=True)
    it.call()
    it.does(state="s1")
    it.call()
    actions = it.give(AppendFenced(it.effect))
    assert sorted(refusals(actions)) == [(call, ErrorCode.UNAVAILABLE) for call in (2, 3, 4, 5)]
    assert actions[-1] == Passivate()
    assert CancelAsk(2) in actions
    assert it.wait(100 * S) == []
    assert it.give(Appended(it.effect)) == []


# --- refused ---


def test_a_refused_command_is_told_and_nothing_was_done() -> None:  # I5
    it = WorkflowDriver()
    it.call()
    it.does("charge", state="s0")
    assert refusals(it.give(AppendRefused(1, "disk full"))) == [(1, ErrorCode.UNAVAILABLE)]
    assert (it.record.sequence, it.machine.state) == (0, None)
    it.call()
    it.does("charge")
    assert it.last(Append).sequence == 1


def test_a_refused_answer_of_a_step_is_journalled_a_little_later() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.done(END)
    assert it.give(AppendRefused(2, "disk full")) == []
    assert kinds(it.call()) == [AskHandler], "commands go on"
    assert it.wait(S) == []
    assert kinds(it.replied()) == [Reply, Append]
    assert it.stored() == [AckStep(token, stale=False)]


def test_an_effect_that_can_never_be_stored_is_a_fault_of_its_step() -> None:
    it = WorkflowDriver(workflow(step("charge", retries=5)))
    token = it.run()
    it.done(goto("reserve"), state="too much")
    it.give(AppendRefused(2, "too large", permanent=True))
    it.wait(S)
    assert it.event() == Failed(T0 + S, "INTERNAL", "step 'charge' failed: its effect cannot be stored: too large", "charge")
    assert it.stored() == [AckStep(token, stale=False)]


def test_a_commands_effect_that_can_never_be_stored_is_an_internal_error() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    assert refusals(it.give(AppendRefused(1, "too large", permanent=True))) == [(1, ErrorCode.INTERNAL)]


# --- uncertain ---


def test_an_uncertain_command_that_was_stored_is_answered_with_its_reply() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge", state="s0")
    record = it.last(Append).record
    assert it.give(AppendUncertain(1, "cut off")) == LOAD
    assert it.loaded(record, state=value("s0"), effect=1) == [reply(1), RunStep(it.token, "charge", None, value("s0"), 1, 1, None, T0)]


def test_an_uncertain_command_that_was_not_stored_is_certainly_not_done() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    it.give(AppendUncertain(1, "cut off"))
    assert refusals(it.loaded()) == [(1, ErrorCode.UNAVAILABLE)]


def test_an_uncertain_answer_that_was_stored_is_acknowledged_and_not_said_to_be_stale() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.done(goto("reserve"))
    it.give(AppendUncertain(2, "cut off"))
    assert kinds(reload(it, it.last(Append).record, effect=2)) == [AckStep, RunStep]  # type: ignore[arg-type]
    assert it.all(AckStep) == [AckStep(token, stale=False)]


def test_an_uncertain_answer_that_was_not_stored_is_journalled_again() -> None:
    it = WorkflowDriver()
    token = it.run()
    record = it.record
    it.done(END)
    it.give(AppendUncertain(2, "cut off"))
    assert kinds(reload(it, record, effect=1)) == [Append]  # type: ignore[arg-type]
    assert it.stored() == [AckStep(token, stale=False)]


def test_an_uncertain_end_that_was_stored_is_told_to_whoever_awaits_it() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.ask_end()
    it.done(END)
    it.give(AppendUncertain(2, "cut off"))
    assert reload(it, it.last(Append).record, effect=2) == [AckStep(token, stale=False), Reply(2, value("s0"))]


def test_an_uncertain_interruption_that_was_stored_is_not_journalled_twice() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.give(AttemptLost(token, "died"))
    it.give(AppendUncertain(2, "cut off"))
    assert kinds(reload(it, it.last(Append).record, effect=2)) == [RunStep]  # type: ignore[arg-type]
    assert it.token.attempt == 2


def test_an_uncertain_budget_that_was_stored_ends_what_was_lost_meanwhile() -> None:
    it = WorkflowDriver(workflow(step("charge", timeout=600 * S), timeout=60 * S))
    token = it.run()
    it.wait(60 * S)
    it.give(AttemptLost(token, "died"))
    it.give(AppendUncertain(2, "cut off"))
    assert reload(it, it.last(Append).record, effect=2) == []
    assert isinstance(it.event(), Failed)


def test_an_uncertain_timeout_that_was_stored_tells_the_attempt_to_stop() -> None:
    it = WorkflowDriver()
    token = it.run()
    it.wait(10 * S)
    it.give(AppendUncertain(2, "cut off"))
    assert reload(it, it.last(Append).record, effect=2) == [CancelStep(token)]
    assert kinds(it.stopped(token)) == [AckStep, RunStep]


def test_an_uncertain_command_whose_journal_cannot_be_read_is_told_that_nobody_knows() -> None:
    it = WorkflowDriver()
    it.call()
    it.does("charge")
    record = it.last(Append).record
    it.give(AppendUncertain(1, "cut off"))
    [told] = it.give(UNREADABLE)
    assert isinstance(told, Reply)
    assert isinstance(told.result, Error)
    assert (told.result.code, told.result.details) == (ErrorCode.TIMEOUT, {"outcome": "unknown"})
    assert it.wait(S) == LOAD
    assert kinds(it.loaded(record, effect=1)) == [RunStep], "no second reply"


# --- reading ---


def test_a_load_that_fails_answers_who_waits_and_leaves() -> None:
    it = WorkflowDriver(load=False)
    it.call()
    it.call("status", read_only=True)
    it.give(LifecycleAsked(7))
    it.give(EndAsked(8))
    actions = it.give(UNREADABLE)
    assert sorted(refusals(actions)) == [(call, ErrorCode.UNAVAILABLE) for call in (1, 2, 7, 8)]
    assert actions[-1] == Passivate()


def test_a_load_that_fails_is_tried_again_where_something_is_due() -> None:
    it = WorkflowDriver(load=False)
    it.give(Woke())
    it.call()
    assert refusals(it.give(UNREADABLE)) == [(1, ErrorCode.UNAVAILABLE)]
    assert it.wait(S - 1) == []
    assert it.call() == []
    assert it.wait(1) == LOAD
    assert kinds(it.loaded()) == [AskHandler]


def test_a_load_that_fails_keeps_a_steps_answer() -> None:
    first = WorkflowDriver()
    token = first.run()
    it = WorkflowDriver(load=False)
    it.done(END, token=token)
    assert it.give(UNREADABLE) == []
    assert it.wait(S) == LOAD
    assert kinds(it.loaded(first.record)) == [Append]


def test_a_machine_that_was_ready_never_leaves_over_a_load_that_fails() -> None:
    it = WorkflowDriver()
    it.run()
    it.ask_end()
    record = it.record
    it.done(END)
    it.give(AppendConflicted(2))
    for _ in range(5):
        assert it.give(UNREADABLE) == []
        assert it.wait(S) == LOAD
    assert kinds(reload(it, record)) == [Append]  # type: ignore[arg-type]
    assert it.stored()[-1] == Reply(2, value("s0"))


def test_rows_that_cannot_be_read_stop_the_instance_and_are_not_read_in_a_loop() -> None:
    it = WorkflowDriver(load=False)
    it.give(Woke())
    it.call()
    actions = it.give(POISONED)
    assert refusals(actions) == [(1, ErrorCode.INTERNAL)]
    assert actions[-1] == Passivate()


def test_another_kinds_journal_is_not_taken_over() -> None:
    it = WorkflowDriver(load=False)
    it.call()
    actions = it.loaded(EntityRecord(generation=5, sequence=3))
    assert refusals(actions) == [(1, ErrorCode.INTERNAL)]
    assert actions[-1] == Passivate()


def test_one_load_is_out_at_a_time_and_a_stray_answer_is_dropped() -> None:
    it = WorkflowDriver(load=False)
    assert it.give(Woke()) == []
    assert it.give(Woke()) == []
    it.loaded()
    assert it.loaded(WorkflowRecord(generation=1, sequence=9)) == []
    assert it.give(UNREADABLE) == []
    assert it.record == WorkflowRecord()
    it.run()
    record = it.record
    it.done(END)
    it.give(AppendConflicted(it.effect))
    it.give(UNREADABLE)
    assert it.loaded(WorkflowRecord()) == [], "nothing was asked since: this is the answer to an older question"
    assert it.wait(S) == LOAD
    assert kinds(reload(it, record)) == [Append]  # type: ignore[arg-type]


def test_a_wake_up_while_the_journal_is_read_again_does_not_read_it_twice() -> None:
    it = WorkflowDriver()
    it.run()
    it.done(END)
    it.give(AppendUncertain(2, "cut off"))
    assert it.wait(1_000 * S) == []


def test_a_query_that_is_out_while_the_journal_is_read_again_has_its_timeout() -> None:
    it = WorkflowDriver()
    it.run()
    it.call("status", read_only=True)
    it.done(END)
    it.give(AppendUncertain(2, "cut off"))
    actions = it.wait(10 * S)
    assert actions[0] == CancelAsk(2)
    assert refusals(actions) == [(2, ErrorCode.TIMEOUT)]


def test_an_answer_that_came_in_time_counts_however_long_the_journal_cannot_be_read() -> None:  # F09
    it = WorkflowDriver(workflow(step("charge", timeout=600 * S), step("reserve"), timeout=60 * S))
    token = it.run()
    it.call()
    it.does(state="s1")
    it.give(AppendUncertain(2, "cut off"))
    it.now += 30 * S
    it.done(END, token=token)
    it.give(UNREADABLE)
    it.wait(100 * S)
    reload(it, it.last(Append).record, effect=2)
    assert isinstance(it.event(), Ended)


@pytest.mark.parametrize("outcome", ["refused", "conflict", "uncertain"])
def test_nothing_is_lost_whatever_becomes_of_an_append(outcome: str) -> None:  # I11
    it = WorkflowDriver()
    it.run()
    inputs = {"refused": AppendRefused, "uncertain": AppendUncertain}
    paths: list[list[Outcome]] = [[END], [goto("reserve"), pause(S, "reserve"), END]]
    for outcomes in paths:
        for result in outcomes:
            it.done(result)
            record = it.record
            it.give(AppendConflicted(it.effect) if outcome == "conflict" else inputs[outcome](it.effect, "no"))
            if outcome == "refused":
                it.wait(S)
            else:
                reload(it, record)
            it.stored()
            if it.record.status == "Paused":
                it.wait(S)
                it.stored()
            if it.record.pending:
                it.sent()
        assert it.record.status == "Completed"
        it.run()
    names: set[type[AnyEvent]] = {type(action.event) for action in it.all(Append)}
    assert names >= {Started, Ended, Transitioned, Resumed}
    assert Interrupted not in names
