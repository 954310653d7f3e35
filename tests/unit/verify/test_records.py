"""I6 to I10: records, states, snapshots, ends, visits, listings, retries."""

from typing import Any

import msgspec
import pytest
from ankka_sidecar.core.events import (
    Deleted,
    Ended,
    Failed,
    FailedOver,
    Held,
    Interrupted,
    Released,
    Retried,
    Sent,
    Started,
    Transitioned,
    Updated,
    decode_event,
)
from ankka_sidecar.core.records import WorkflowRecord, decode_record
from ankka_sidecar.verify import Bounds

from tests.unit.verify.life import T0, Life, S, encode, entity_life, to, workflow_life


def with_record(life: Life, number: int, **changes: Any) -> None:
    life.change(number, record=encode(msgspec.structs.replace(decode_record(life.rows[number].record), **changes)))


def with_event(life: Life, number: int, **changes: Any) -> None:
    life.change(number, event=encode(msgspec.structs.replace(decode_event(life.rows[number].event), **changes)))


def test_w11_w18_what_operators_and_deaths_leave_is_clean() -> None:
    life = Life().add(
        Started(T0, 1, to("a"), "start", T0 + 600 * S, 600 * S),
        Held(T0 + 1, "ann"),
        Interrupted(T0 + 2, "a", 2, "its process died", death=True, not_before=T0 + 4),
        Released(T0 + 3, "ann"),
        Sent(T0 + 4, "a", 2),
        Retried(T0 + 5, "a", 3, "it may run once only", T0 + 7),
        Transitioned(T0 + 8, to("undo"), "ann", redirected=True, cancelled=True, reason="no longer wanted"),
        Failed(T0 + 9, "CANCELLED", "cancelled: enough", "undo", "ann"),
    )
    assert life.violations(Bounds(now=T0 + 10 * S)) == []


# --- I6 ---


@pytest.mark.parametrize("number", range(12))
def test_i6_a_record_that_is_not_the_fold_is_found_once(number: int) -> None:
    life = workflow_life()
    with_record(life, number, budget=77)
    (found,) = life.violations()
    assert (found.rule, found.what, found.sequence, found.found) == ("I6", "the record is not the fold of the events", number + 1, "budget=77")


def test_i6_an_event_that_is_not_what_was_folded_is_found_once() -> None:
    life = workflow_life()
    with_event(life, 0, budget=60 * S)
    (found,) = life.violations()
    assert (found.rule, found.sequence, found.expected, found.found) == ("I6", 1, "budget=60000000", "budget=600000000")


def test_i6_nested_records_are_compared_by_field() -> None:
    life = workflow_life()
    record = decode_record(life.rows[-1].record)
    assert isinstance(record, WorkflowRecord)
    assert record.pending is not None
    with_record(life, -1, pending=msgspec.structs.replace(record.pending, retries=9))
    (found,) = life.violations()
    assert (found.rule, found.expected, found.found) == ("I6", "pending.retries=0", "pending.retries=9")


def test_i6_an_entitys_record() -> None:
    life = entity_life()
    with_record(life, 1, expires_at=T0)
    assert life.findings() == [("I6", "the record is not the fold of the events", 2)]


def test_i6_a_record_of_another_kind() -> None:
    life = entity_life()
    life.change(2, record=encode(WorkflowRecord(T0, 3)))
    assert {rule for rule, _, _ in life.findings()} == {"I6", "schemas"}


def test_i6_a_state_that_is_not_there() -> None:
    life = workflow_life()
    life.change(1, payload=None)
    assert ("I6", "event and state do not go together", 2) in life.findings()
    assert {rule for rule, _, _ in life.findings()} == {"I6"}


def test_i6_a_state_that_no_event_set() -> None:
    life = workflow_life()
    life.change(-2, payload=b"{}")
    assert ("I6", "event and state do not go together", 11) in life.findings()


def test_i6_the_noted_state_sequence() -> None:
    life = workflow_life()
    life.noted[3] = 1
    (found,) = life.violations()
    assert (found.what, found.sequence) == ("the column state_sequence is not the last row with a state", 4)
    assert (found.expected, found.found) == ("sequence 2", "1")


@pytest.mark.parametrize(
    ("sequence", "changes", "what"),
    [
        (2, {}, None),
        (3, {}, None),
        (4, {}, "a snapshot without its row"),
        (0, {}, "a snapshot without its row"),
        (2, {"generation": T0 - 1}, "a snapshot of a generation that is not in the journal"),
        (2, {"generation": T0 + 1}, "a snapshot of a generation that is not in the journal"),
        (2, {"epoch": 0}, "a snapshot that is older than its row"),
        (2, {"shard": 99}, "a snapshot in another shard"),
        (2, {"instance": "b"}, "a snapshot of a generation that is not in the journal"),
    ],
)
def test_i6_snapshots_stand_for_rows(sequence: int, changes: dict[str, Any], what: str | None) -> None:
    life = entity_life()
    life.snapshot(sequence, **changes)
    found = [one for one in life.findings() if one[1] not in ("a listing without an instance", "an instance without a listing")]
    if "instance" in changes:
        found = [one for one in found if one[1] != "a snapshot in another shard"]
    assert found == ([] if what is None else [("I6", what, sequence)])


def test_i6_a_snapshot_of_a_deleted_generation_may_outlive_its_row() -> None:
    life = entity_life()
    life.snapshot(2)
    life.add(Deleted(T0 + 9, "remove"))
    del life.rows[:3], life.noted[:3]
    assert life.violations() == []


# --- I7 ---


def rows_of(life: Life, *events: Any) -> Life:
    """Rows that the core would refuse to fold: their record is the one before, moved on by one."""
    for event in events:
        row, record = life.rows[-1], decode_record(life.rows[-1].record)
        moved = msgspec.structs.replace(record, sequence=row.sequence + 1, updated_at=event.at)
        changed = {"sequence": row.sequence + 1, "at": event.at, "event": encode(event), "record": encode(moved), "payload": None}
        life.rows.append(msgspec.structs.replace(row, effect=row.effect + 1_000, type=event.__struct_config__.tag, **changed))
        life.noted.append(life.noted[-1])
        life.list_as(sequence=row.sequence + 1, updated_at=event.at)
    return life


def test_i7_a_second_end() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), Ended(T0 + 1, "a"))
    rows_of(life, Failed(T0 + 2, "INTERNAL", "late"))
    (found,) = life.violations()
    assert (found.rule, found.what, found.sequence) == ("I7", "an event behind the end of its run", 3)
    assert (found.expected, found.found) == ("nothing more of run 1, which is Completed", "failed")


def test_i7_a_step_of_a_run_that_has_ended() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), Ended(T0 + 1, "a"), Transitioned(T0 + 2, to("b"), "late", redirected=True))
    assert life.findings() == [("I7", "an event behind the end of its run", 3)]


def test_i7_commands_may_change_the_state_of_an_ended_run() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), Ended(T0 + 1, "a"), Updated(T0 + 2, "note"), Deleted(T0 + 3, "delete"))
    assert life.violations() == []


@pytest.mark.parametrize("run", [1, 3])
def test_i7_runs_count_up_by_one(run: int) -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), Ended(T0 + 1, "a"), Started(T0 + 2, run, to("a"), "start"))
    assert {(rule, sequence) for rule, _, sequence in life.findings()} == {("I7", 3)}


def test_i7_a_run_that_begins_while_another_lives() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), Started(T0 + 2, 2, to("a"), "start"))
    assert life.findings() == [("I7", "a run begins while another one lives", 2)]


# --- I8 ---


def test_i8_a_second_result_of_a_visit() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), Transitioned(T0 + 1, to("b"), "a"), Transitioned(T0 + 2, to("b"), "a"))
    (found,) = life.violations()
    assert (found.rule, found.what, found.sequence) == ("I8", "an event of a step that is not pending", 3)
    assert (found.expected, found.found) == ("step 'b', which is pending", "transitioned of step 'a'")


def test_i8_a_result_of_a_step_while_paused() -> None:
    life = workflow_life()
    del life.rows[7:], life.noted[7:]
    life.record = decode_record(life.rows[-1].record)
    life.add(Ended(T0 + 9, "wait"))
    assert life.findings() == [("I8", "an event of a step that is not pending", 8)]


def test_i8_a_retry_without_a_pending_step() -> None:
    life = workflow_life()
    del life.rows[7:], life.noted[7:]
    life.record = decode_record(life.rows[-1].record)
    last = life.rows[-1]
    life.listing = Life().add(Started(T0, 1, to("a"), "start")).listing
    life.list_as(generation=last.generation, sequence=last.sequence, updated_at=last.at, status="Paused", deadline=T0 + 10, step=None, run=1)
    assert life.violations() == []
    rows_of(life, Retried(T0 + 9, "wait", 2, "late"))
    assert ("I8", "a result without a pending step", 8) in life.findings()
    assert {rule for rule, _, _ in life.findings()} == {"I8"}


@pytest.mark.parametrize("event", [Interrupted(T0 + 1, "a", 3, "gone"), Retried(T0 + 1, "a", 0, "gone")])
def test_i8_attempts_count_up_by_one(event: Any) -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), event)
    assert life.findings() == [("I8", "attempts do not count up by one", 2)]


def test_i8_a_fault_of_another_step() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), FailedOver(T0 + 1, "b", "late", to("c")))
    assert life.findings() == [("I8", "an event of a step that is not pending", 2)]


# --- I9 ---


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"status": "Paused"}, "the listing does not show what the last row says"),
        ({"deadline": T0}, "the listing does not show what the last row says"),
        ({"run": 2}, "the listing does not show what the last row says"),
        ({"failure": "none"}, "the listing does not show what the last row says"),
        ({"step": "charge"}, "the listing's step is not that of its row"),
        ({"updated_at": T0}, "the listing's instant is not that of its row"),
        ({"shard": 99}, "the listing is in another shard than its rows"),
        ({"generation": T0 + 1}, "the listing is of another generation"),
        ({"sequence": 11, "updated_at": T0 + 13, "step": None}, "the listing is not that of the last change"),
        ({"sequence": 13}, "the listing is not that of the last change"),
    ],
)
def test_i9_a_listing_that_is_not_the_last_rows(changes: dict[str, Any], what: str) -> None:
    life = workflow_life()
    life.list_as(**changes)
    (found,) = life.violations()
    assert (found.rule, found.what) == ("I9", what)
    assert "ankka journal rebuild" in found.advice


def test_i9_step_and_instant_reach_the_listing_later() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"))
    before = life.listing
    life.add(Transitioned(T0 + 1, to("b"), "a"), Transitioned(T0 + 2, to("c"), "b"))
    life.listing = before
    assert life.violations() == []


def test_i9_an_instance_without_a_listing_and_the_reverse() -> None:
    life = workflow_life()
    kept = life.listing
    life.listing = None
    assert life.findings() == [("I9", "an instance without a listing", None)]
    life.listing, life.rows, life.noted = kept, [], []
    assert life.findings() == [("I9", "a listing without an instance", None)]


def test_i9_a_tombstone() -> None:
    life = workflow_life().add(Deleted(T0 + 20, "delete"))
    assert life.violations() == []
    life.list_as(status="Running")
    assert life.findings() == [("I9", "the listing does not show what the last row says", 13)]


# --- I10, I11 ---


def test_i10_a_step_entered_by_failover_twice() -> None:
    life = Life().add(Started(T0, 1, to("a"), "start"), FailedOver(T0 + 1, "a", "x", to("c")), FailedOver(T0 + 2, "c", "x", to("c")))
    assert life.findings() == [("I10", "a step is entered by failover twice, and none has succeeded in between", 3)]


def test_i10_once_a_step_has_succeeded_it_may_be_entered_again() -> None:
    life = Life().add(
        Started(T0, 1, to("a"), "start"), FailedOver(T0 + 1, "a", "x", to("c")), Transitioned(T0 + 2, to("a"), "c"),
        FailedOver(T0 + 3, "a", "x", to("c")),
    )  # fmt: skip
    assert life.violations() == []


def test_i10_retries_that_did_not_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that counted wrongly would agree with its own records: the checker counts for itself."""
    from ankka_sidecar.core import workflow

    real = workflow.evolve

    def miscounting(record: WorkflowRecord, event: Any) -> WorkflowRecord:
        after = real(record, event)
        return msgspec.structs.replace(after, retries={"a": 9}) if isinstance(event, Retried) else after

    monkeypatch.setattr(workflow, "evolve", miscounting)
    life = Life().add(Started(T0, 1, to("a"), "start"), Retried(T0 + 1, "a", 2, "x"))
    assert life.findings() == [("I10", "the run's retries are not those that happened", 2)]


@pytest.mark.parametrize(("now", "late"), [(T0 + 660 * S, False), (T0 + 661 * S, True)])
def test_i11_a_deadline_that_led_to_nothing_is_a_warning(now: int, late: bool) -> None:
    life = Life().add(Started(T0, 1, to("a"), "start", T0 + 600 * S + 1, 600 * S))
    found = life.violations(Bounds(now=now))
    assert [(one.rule, one.warning) for one in found] == ([("I11", True)] if late else [])


# --- rows by themselves ---


@pytest.mark.parametrize(
    ("changes", "rule", "what"),
    [
        ({"shard": 99}, "shards", "a row in another shard"),
        ({"event": b"\xc1"}, "decoding", "a row that cannot be decoded"),
        ({"record": b"\x92\xa1x\x01"}, "decoding", "a row that cannot be decoded"),
        ({"type": "retried"}, "decoding", "the row's type is not its event's"),
        ({"at": T0 + 3}, "time", "the row's instant is not its event's"),
        ({"schema": "new"}, "schemas", "a schema that was never seen"),
    ],
)
def test_a_row_that_is_not_what_it_says(changes: dict[str, Any], rule: str, what: str) -> None:
    life = workflow_life()
    life.schemas = {"checkout": ["old"]}
    life.change(1, schema="old")
    life.change(2, **changes)
    assert life.findings() == [(rule, what, 3)]


@pytest.mark.parametrize(("epoch", "warning"), [(1, False), (2, True)])
def test_time_that_falls(epoch: int, warning: bool) -> None:
    """Between two starts of a sidecar the machine's clock may have been set back: that is no fault of the journal."""
    life = Life().add(Started(T0, 1, to("a"), "start"))
    life.epoch = epoch
    life.add(Transitioned(T0 - 5, to("b"), "a"))
    assert [(one.rule, one.sequence, one.warning) for one in life.violations()] == [("time", 2, warning)]
