"""The machine of a key value entity: the state lies in its row, nothing is folded (DESIGN §3, entities; W10)."""

import msgspec
import pytest
from ankka_sidecar.core import key_value as rules
from ankka_sidecar.core.actions import Append, AskFold, AskHandler, Prune, PutSnapshot, Reply, Report, Trim
from ankka_sidecar.core.events import Deleted, Updated, decode_event
from ankka_sidecar.core.inputs import AppendUncertain, EndAsked, OperatorAsked
from ankka_sidecar.core.key_value_instance import KeyValueInstance
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.records import EntityRecord, KeyValueRecord, WorkflowRecord, decode_record, kind_of
from ankka_sidecar.runtime.dormant import Dormant

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.spec import ComponentKind
from tests.unit.core.machine import GONE, LOAD, T0, EntityDriver, S, kinds, refusals, reply, value

LIVE = KeyValueRecord(generation=5, sequence=3, updated_at=9)


class KeyValueDriver(EntityDriver):
    """A key value entity's machine."""

    made_of = KeyValueInstance


def loaded(record: KeyValueRecord = LIVE, state: str = "s3") -> KeyValueDriver:
    it = KeyValueDriver(load=False)
    assert it.loaded(record, state=value(state), effect=7) == []
    return it


def test_an_update_is_one_row_with_the_state_beside_it() -> None:  # I1
    it = KeyValueDriver()
    it.call("set")
    assert it.does(state="s1") == [Append(1, T0, 1, Updated(T0, "set"), KeyValueRecord(T0, 1, T0), value("s1"), True, "v1", None)]
    assert it.stored() == [reply(1)]
    it.call("set")
    assert it.last(AskHandler).state == value("s1")
    it.does(state="s2")
    assert (it.last(Append).sequence, it.last(Append).listing_changed) == (2, False)


def test_an_entity_goes_on_beyond_the_journals_limit_and_its_oldest_rows_go() -> None:
    it = KeyValueDriver(limits=Limits(max_journal_events=20))
    for number in range(1, 26):
        it.call("set")
        it.does(state=f"s{number}")
        actions = it.stored()
        trims = [Trim(T0, number - 19)] if number > 20 and number % 2 == 0 else []
        assert [action for action in actions if isinstance(action, Trim)] == trims
    assert it.record.sequence == 25
    assert it.all(Report) == [], "nothing is near its end"


def test_what_was_loaded_needs_no_fold() -> None:
    it = loaded()
    call = it.made("get", read_only=True)
    assert it.give(call) == [AskHandler(1, call, value("s3"), 3)]
    it.call("set")
    assert kinds(it.does(state="s4")) == [Append]
    assert (it.last(Append).generation, it.last(Append).sequence) == (5, 4)
    it.stored()
    assert it.all(AskFold, PutSnapshot) == []


def test_i3_the_reply_waits_for_the_journal() -> None:
    it = loaded()
    it.call()
    it.call()
    assert kinds(it.does(state="s4")) == [Append]
    assert kinds(it.stored()) == [Reply, AskHandler]


def test_i5_refusals_replies_and_empty_deletions_leave_no_event() -> None:
    it = KeyValueDriver()
    it.call()
    error = Error(ErrorCode.CONFLICT, "no")
    assert it.refused(error) == [Reply(1, error)]
    it.call()
    assert it.replied("r") == [reply(2, "r")]
    it.call()
    assert it.does(delete=True) == [reply(3)], "nothing lived"
    assert it.all(Append) == []


def test_w10_a_deletion_begins_a_new_generation() -> None:
    it = loaded()
    it.call("drop")
    it.does(delete=True)
    assert it.last(Append) == Append(1, 5, 4, Deleted(T0, "drop"), KeyValueRecord(5), None, True, "v1", None)
    assert it.stored() == [reply(1), Prune(5)]
    it.call("set")
    assert it.last(AskHandler).state is None
    it.does(state="s1")
    assert (it.last(Append).generation, it.last(Append).sequence, it.last(Append).listing_changed) == (T0, 1, True)


def test_an_expiry_deletes_and_an_update_without_one_ends_it() -> None:
    it = KeyValueDriver()
    it.call("lend")
    it.does(state="s1", expire=2 * S)
    assert it.last(Append).event == Updated(T0, "lend", expires_at=T0 + 2 * S)
    it.stored()
    it.call("set")
    it.does(state="s2")
    assert it.last(Append).listing_changed, "the deadline is gone"
    it.stored()
    it.wait(3 * S)
    it.call("lend")
    it.does(state="s3", expire=2 * S)
    it.stored()
    it.wait(2 * S)
    assert it.last(Append).event == Deleted(T0 + 5 * S, "expired")
    it.stored()
    assert (it.machine.state, it.record) == (None, KeyValueRecord(T0))


def test_an_expiry_that_passed_while_all_was_down_comes_first() -> None:
    it = KeyValueDriver(load=False)
    it.call("get", read_only=True)
    assert it.loaded(KeyValueRecord(5, 3, 9, expires_at=T0 - 1), state=value("s3"))[-1:] == [
        Append(1, 5, 4, Deleted(T0, "expired"), KeyValueRecord(5), None, True, "", None)
    ]


def test_an_uncertain_commit_is_looked_up() -> None:
    it = loaded()
    it.call("set")
    it.does(state="s4")
    assert it.give(AppendUncertain(it.effect, "lost")) == LOAD
    assert it.loaded(KeyValueRecord(5, 4, T0), state=value("s4"), effect=it.effect) == [reply(1)]
    assert it.machine.state == value("s4")


def test_what_it_knew_is_enough_for_its_successor() -> None:
    it = loaded()
    it.wait(200 * S)
    assert it.all(type(GONE[0])), "idle"
    kept = it.machine.kept()
    assert kept is not None
    assert (kept.record, kept.state) == (LIVE, value("s3"))
    dormant = Dormant(10, 60 * S)
    dormant.put(("cart", "c1"), kept)
    known = dormant.take(("cart", "c1"))
    assert known is not None
    successor = KeyValueDriver(load=False)
    assert successor.give(known) == []
    call = successor.made("get", read_only=True)
    assert successor.give(call) == [AskHandler(1, call, value("s3"), 3)]


@pytest.mark.parametrize("record", [WorkflowRecord(5, 3), EntityRecord(5, 3)])
def test_the_journal_of_another_kind_is_refused(record: WorkflowRecord | EntityRecord) -> None:
    it = KeyValueDriver(load=False)
    it.call()
    assert refusals(it.loaded(record)) == [(1, ErrorCode.INTERNAL)]


def test_its_journal_is_not_an_event_sourced_entitys() -> None:
    it = EntityDriver(load=False)
    it.call()
    assert refusals(it.loaded(LIVE)) == [(1, ErrorCode.INTERNAL)]


def test_operators_may_delete_it_and_nothing_else() -> None:  # W18
    it = loaded()
    assert refusals(it.give(OperatorAsked(1, "hold", "me", "", None))) == [(1, ErrorCode.BAD_REQUEST)]
    assert refusals(it.give(EndAsked(2))) == [(2, ErrorCode.BAD_REQUEST)]
    it.give(OperatorAsked(3, "delete", "me", "why", None))
    assert it.last(Append).event == Deleted(T0, "me", reason="why")


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (WorkflowRecord(5, 3), ComponentKind.WORKFLOW),
        (EntityRecord(5, 3), ComponentKind.EVENT_SOURCED_ENTITY),
        (LIVE, ComponentKind.KEY_VALUE_ENTITY),
        (KeyValueRecord(5), ComponentKind.KEY_VALUE_ENTITY),
    ],
)
def test_a_record_tells_its_kind_from_its_bytes(record: WorkflowRecord | EntityRecord, kind: ComponentKind) -> None:
    read = decode_record(msgspec.msgpack.encode(record))
    assert (read, kind_of(read)) == (record, kind)


def test_an_update_written_before_expiries_is_read() -> None:
    assert decode_event(msgspec.msgpack.encode(["updated", T0, "set", True])) == Updated(T0, "set")


def test_an_update_without_a_state_cannot_follow() -> None:
    with pytest.raises(AssertionError, match="without a state"):
        rules.evolve(LIVE, Updated(T0, "set", changed=False))
