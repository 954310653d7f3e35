"""The machine of an event sourced entity: folding, commands, queries, deletion, expiry, snapshots (DESIGN §3, entities)."""

import pytest
from ankka_sidecar.core import event_sourced as rules
from ankka_sidecar.core.actions import Append, AskFold, AskHandler, CancelAsk, Prune, PutSnapshot, Reply
from ankka_sidecar.core.entity_instance import FOLD_SIZE
from ankka_sidecar.core.events import Deleted, Persisted
from ankka_sidecar.core.inputs import AppendConflicted, AppendRefused, AppendUncertain, AskLost, EndAsked, LifecycleAsked, Woke
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Replied, WorkflowCommandDone
from tests.unit.core.machine import DONE, GONE, LOAD, T0, EntityDriver, S, entity, kinds, refusals, reply, value

LIVE = EntityRecord(generation=5, sequence=3, updated_at=9)
TWO = (value("e1"), value("e2"))


def loaded(*, record: EntityRecord = LIVE, events: tuple[object, ...] = TWO, every: int = 100) -> EntityDriver:
    it = EntityDriver(entity(every), load=False)
    assert it.loaded(record, events=events, effect=7) == []
    return it


def test_a_command_without_a_past_has_no_state_and_needs_no_fold() -> None:
    it = EntityDriver()
    call = it.made("add")
    assert it.give(call) == [AskHandler(1, call, None, 0)]


def test_one_effect_is_one_row_with_its_events_inside_it() -> None:  # I1: sequence counts effects
    it = EntityDriver()
    it.call("add")
    event = Persisted(T0, "add", (value("e1"), value("e2")))
    record = EntityRecord(T0, 1, T0)
    assert it.does("e1", "e2", state="s1") == [Append(1, T0, 1, event, record, None, True, "v1", None)]  # the state is in the events
    assert it.stored() == [reply(1)]
    it.call("add")
    assert it.last(AskHandler).state == value("s1")
    it.does("e3", state="s2")
    assert (it.last(Append).sequence, it.last(Append).listing_changed) == (2, False)


def test_i3_the_reply_waits_for_the_journal() -> None:
    it = EntityDriver()
    it.call()
    it.call()
    assert kinds(it.does("e1", state="s1")) == [Append]
    assert kinds(it.stored()) == [Reply, AskHandler]


def test_i5_refusals_replies_and_empty_effects_leave_no_event() -> None:
    it = EntityDriver()
    it.call()
    error = Error(ErrorCode.CONFLICT, "no")
    assert it.refused(error) == [Reply(1, error)]
    it.call()
    assert it.replied("r") == [reply(2, "r")]
    it.call()
    assert it.does() == [reply(3)]
    it.call()
    assert it.does(delete=True) == [reply(4)], "nothing lived"
    assert it.all(Append) == []


def test_an_answer_of_the_wrong_kind_is_the_callers_internal_error() -> None:
    it = EntityDriver()
    it.call()
    assert refusals(it.answer(WorkflowCommandDone(0, DONE))) == [(1, ErrorCode.INTERNAL)]


# --- folding ---


def test_the_past_is_folded_once_when_the_first_command_needs_it() -> None:
    it = loaded()
    call = it.made()
    assert it.give(call) == [AskFold(1, None, TWO)]
    assert it.folded("s2") == [AskHandler(2, call, value("s2"), 3)]
    it.does("e3", state="s3")
    it.stored()
    it.call()
    assert it.last(AskHandler).state == value("s3")
    assert len(it.all(AskFold)) == 1


def test_the_fold_goes_on_from_the_snapshot() -> None:
    it = EntityDriver(load=False)
    it.loaded(LIVE, state=value("s1"), events=TWO, snapshot_sequence=1)
    it.call()
    assert it.last(AskFold) == AskFold(1, value("s1"), TWO)


def test_a_long_past_is_folded_in_chunks() -> None:
    events = (value("x" * (FOLD_SIZE - 10)), value("y" * 10), value("z" * (2 * FOLD_SIZE)), value("e"))
    it = loaded(events=events)
    it.call()
    assert it.last(AskFold) == AskFold(1, None, events[:2])
    assert it.folded("s2") == [AskFold(2, value("s2"), events[2:3])], "one that is larger goes alone"
    assert it.folded("s3") == [AskFold(3, value("s3"), events[3:])]
    assert kinds(it.folded("s4")) == [AskHandler]
    assert it.last(AskHandler).state == value("s4")


def test_queries_wait_for_the_fold_and_then_run_beside_the_commands() -> None:
    it = loaded()
    query = it.made("total", read_only=True)
    assert it.give(query) == [AskFold(1, None, TWO)]
    command = it.made()
    assert it.give(command) == []
    later = it.made("total", read_only=True)
    assert it.give(later) == []
    assert it.folded("s2") == [
        AskHandler(2, query, value("s2"), 3),
        AskHandler(3, later, value("s2"), 3),
        AskHandler(4, command, value("s2"), 3),
    ]
    assert it.answer(Replied(0, value("q")), ask=3) == [reply(3, "q")]


def test_the_lifecycle_needs_no_fold() -> None:
    it = loaded()
    [told] = it.give(LifecycleAsked(9))
    assert isinstance(told, Reply)
    assert b'"status":"Active","sequence":3' in told.result.data  # type: ignore[union-attr]
    assert it.all(AskFold) == []


@pytest.mark.parametrize("how", ["refused", "lost", "wrong", "late"])
def test_a_fold_that_does_not_work_is_told_to_who_waits_and_tried_again_for_the_next(how: str) -> None:
    it = loaded()
    it.call()
    it.call("total", read_only=True)
    error = Error(ErrorCode.INTERNAL, "event 2 of 3 cannot be read")
    if how == "refused":
        actions = it.refused(error)
    elif how == "lost":
        actions = it.give(AskLost(1, error))
    elif how == "wrong":
        actions = it.answer(Replied(0, value("r")))
    else:
        actions = [action for action in it.wait(10 * S) if not isinstance(action, CancelAsk)]
    assert [call for call, _ in refusals(actions)] == [1, 2]
    assert len(actions) == 2
    assert it.folded("late", ask=1) == []
    it.call()
    assert it.last(AskFold) == AskFold(2, None, TWO)


def test_events_whose_state_the_answer_left_out_are_folded() -> None:
    it = EntityDriver()
    it.call()
    it.does("e1")
    it.stored()
    it.call()
    assert it.last(AskFold) == AskFold(2, None, (value("e1"),), (1,))


# --- the end ---


def test_deletion_empties_it_and_the_next_event_begins_a_generation() -> None:  # W10
    it = loaded(events=())
    it.call()
    it.does("last", delete=True)
    assert it.last(Append).event == Deleted(T0, "go", (value("last"),))
    assert it.stored() == [reply(1), Prune(5)]
    it.call()
    assert it.last(AskHandler) == AskHandler(2, it.last(AskHandler).call, None, 0)
    it.does("e1", state="s1")
    assert (it.last(Append).generation, it.last(Append).sequence) == (T0, 1)


def test_a_generation_is_never_used_again_though_the_clock_stands_still() -> None:  # W10
    first = EntityRecord(generation=T0)
    assert rules.evolve(first, Persisted(T0, "go", TWO)) == EntityRecord(T0 + 1, 1, T0, reborn=True)


def test_expiry_is_a_deletion_at_its_instant_and_needs_no_process() -> None:
    it = EntityDriver()
    it.call()
    it.does("e1", state="s1", expire=30 * S)
    assert it.last(Append).record.expires_at == T0 + 30 * S
    it.stored()
    assert it.wait(30 * S - 1) == []
    assert kinds(it.wait(1)) == [Append]
    assert it.last(Append).event == Deleted(T0 + 30 * S, "expired")
    assert it.stored() == [Prune(T0)]
    it.call()
    assert it.last(AskHandler).state is None


def test_the_next_effect_ends_an_earlier_expiry() -> None:
    it = EntityDriver()
    it.call()
    it.does("e1", state="s1", expire=30 * S)
    it.stored()
    it.call()
    it.does("e2", state="s2")
    assert it.last(Append).listing_changed
    it.stored()
    assert it.wait(60 * S) == []


def test_an_expiry_waits_for_the_handler_that_is_out() -> None:
    it = EntityDriver()
    it.call()
    it.does("e1", state="s1", expire=5 * S)
    it.stored()
    it.call()
    it.call()
    assert it.wait(6 * S) == []
    assert kinds(it.replied()) == [Reply, Append]
    assert kinds(it.stored()) == [Prune, AskHandler]


def test_an_expiry_that_passed_before_the_load_deletes_without_a_fold_and_answers_who_waits() -> None:
    it = EntityDriver(load=False)
    it.call("total", read_only=True)
    it.call()
    record = EntityRecord(5, 3, 9, expires_at=T0 - 1)
    assert kinds(it.loaded(record, events=TWO)) == [Append]
    actions = it.stored()
    assert kinds(actions) == [Prune, AskHandler, AskHandler], "the query too: it had waited for a fold that is not needed any more"
    assert [action.state for action in actions[1:]] == [None, None]  # type: ignore[attr-defined]


def test_a_refused_expiry_is_tried_again() -> None:
    it = EntityDriver(load=False)
    it.give(Woke())
    it.loaded(EntityRecord(5, 3, 9, expires_at=T0 - 1), events=TWO)
    assert it.give(AppendRefused(1, "disk full")) == []
    assert it.call() == [], "it has expired: no command begins on the state that is over"
    assert kinds(it.wait(S)) == [Append]
    assert kinds(it.stored()) == [Prune, AskHandler]
    assert it.last(AskHandler).state is None


def test_an_entity_has_no_end_to_await() -> None:
    assert refusals(EntityDriver().give(EndAsked(9))) == [(9, ErrorCode.BAD_REQUEST)]


# --- snapshots ---


def test_a_snapshot_every_so_many_effects() -> None:
    it = EntityDriver(entity(every=3, version=2))
    for number in range(1, 8):
        it.call()
        it.does("e", state=f"s{number}")
        it.stored()
    assert it.all(PutSnapshot) == [PutSnapshot(T0, 3, value("s3"), 2), PutSnapshot(T0, 6, value("s6"), 2)]


def test_snapshots_are_counted_from_the_one_that_was_read() -> None:
    it = EntityDriver(entity(every=3), load=False)
    it.loaded(EntityRecord(5, 9, 9), state=value("s8"), events=(value("e9"),), snapshot_sequence=8)
    it.call()
    it.folded("s9")
    for number in (10, 11):
        it.does("e", state=f"s{number}")
        it.stored()
        it.call()
    assert it.all(PutSnapshot) == [PutSnapshot(5, 11, value("s11"), 1)]


def test_a_new_life_counts_its_snapshots_anew() -> None:
    it = EntityDriver(entity(every=2))
    for state in ("s1", "s2", "s3"):
        it.call()
        it.does("e", state=state)
        it.stored()
    it.call()
    it.does(delete=True)
    it.stored()
    it.call()
    it.does("e", state="n1")
    it.stored()
    assert [snapshot.sequence for snapshot in it.all(PutSnapshot)] == [2]


# --- the journal ---


def test_a_conflict_reads_and_folds_again() -> None:
    it = loaded()
    it.call()
    it.folded("s2")
    it.does("e3", state="s3")
    assert kinds(it.give(AppendConflicted(1)))[-1] is type(LOAD[0])
    assert kinds(it.loaded(EntityRecord(5, 4, 9), events=(*TWO, value("other")))) == [AskFold]
    assert kinds(it.folded("s4")) == [AskHandler]
    assert (it.last(AskHandler).state, it.last(AskHandler).sequence) == (value("s4"), 4)


def test_an_uncertain_effect_that_was_stored_is_answered_and_its_state_folded() -> None:
    it = EntityDriver(entity(every=2))
    it.call()
    it.does("e1", state="s1")
    it.stored()
    it.call()
    it.does("e2", state="s2")
    record = it.last(Append).record
    assert it.give(AppendUncertain(2, "cut off")) == LOAD
    again = it.loaded(record, state=value("s1"), snapshot_sequence=0, events=(value("e2"),), effect=2)
    assert again == [reply(2)], "no snapshot of a state that is not folded"
    it.call()
    assert it.last(AskFold) == AskFold(3, value("s1"), (value("e2"),))


def test_an_uncertain_deletion_that_was_stored_lets_the_rows_go() -> None:
    it = loaded(events=())
    it.call()
    it.does(delete=True)
    it.give(AppendUncertain(1, "cut off"))
    assert it.loaded(EntityRecord(5), effect=1) == [reply(1), Prune(5)]


def test_another_kinds_journal_is_not_taken_over() -> None:
    it = EntityDriver(load=False)
    it.call()
    assert refusals(it.loaded(WorkflowRecord(generation=5, sequence=2))) == [(1, ErrorCode.INTERNAL)]


def test_it_leaves_when_idle_and_not_while_something_is_out() -> None:
    it = loaded()
    it.call()
    it.folded("s2")
    it.does("e3", state="s3")
    assert it.wait(119 * S) == []
    it.stored()
    assert it.wait(S) == GONE
    it = loaded()
    it.call()
    assert kinds(it.wait(300 * S)) == [Reply, CancelAsk, type(GONE[0])]
