"""A command with an idempotency key: W15, I4."""

import msgspec
import pytest
from ankka_sidecar.core.actions import Append, AskFingerprint, AskHandler, CancelAsk, FindReply, Reply
from ankka_sidecar.core.events import Persisted
from ankka_sidecar.core.inputs import AppendConflicted, AskLost, CallMade, ReplyFound
from ankka_sidecar.core.keyed import told
from ankka_sidecar.core.limits import DAY, Limits
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord

from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Fingerprinted, WorkflowCommandDone
from ankka.protocol.payload import Payload
from tests.unit.core.machine import (
    CART,
    CHECKOUT,
    ONE,
    T0,
    Driver,
    EntityDriver,
    S,
    WorkflowDriver,
    goto,
    kinds,
    refusals,
    reply,
    value,
)

KEY = keys.of_caller(CHECKOUT, ONE, "order-7")
STEP_KEY = keys.STEP + b"visit" * 3 + b"call" * 4
DECODED = b"decoded" + b"-" * 9
OTHER = b"other" + b"-" * 11
BEFORE = WorkflowRecord(generation=T0, sequence=3)
CONFLICT = Error(ErrorCode.CONFLICT, "no")


def made(it: Driver, given: str | None = "1", *, key: bytes = KEY, fresh: bool = False, handler: str = "go", patience: int = 60 * S) -> CallMade:
    it.number += 1
    payload = None if given is None else value(given)
    return CallMade(it.number, handler, payload, False, it.now + patience, key=key, fresh=fresh)


def found(
    it: Driver,
    call: CallMade,
    *,
    at: int = T0,
    reply: str = "first",
    decoded: bytes = DECODED,
    as_it_came: str | None = None,
    life: int | None = None,
) -> ReplyFound:
    """What `call`'s key has left: done for that input."""
    asked = call if as_it_came is None else msgspec.structs.replace(call, input=value(as_it_came))
    sought: FindReply = it.last(FindReply)
    return ReplyFound(sought.ask, value(reply), told(asked, decoded), at, T0 if life is None else life, 2)


def lived(*, limits: Limits | None = None) -> WorkflowDriver:
    it = WorkflowDriver(limits=limits, load=False)
    it.loaded(BEFORE, state=value("s0"))
    return it


# --- W15: the head of the mailbox --------------------------------------------------------------------------------


def test_w15_a_key_is_looked_up_when_its_command_reaches_the_head() -> None:
    it = lived()
    first = it.made()
    assert it.give(first) == [AskHandler(1, first, value("s0"), 3)]
    call = made(it)
    assert it.give(call) == []
    assert it.refused(CONFLICT) == [Reply(1, CONFLICT), FindReply(2, KEY, T0, False)]
    assert it.give(ReplyFound(2)) == [AskHandler(3, call, value("s0"), 3)]


def test_w15_the_effect_is_stored_with_key_fingerprint_and_reply() -> None:  # I4
    it = lived()
    call = made(it)
    it.give(call)
    it.give(ReplyFound(1))
    [append] = it.answer(WorkflowCommandDone(0, value("ok"), value("s1"), fingerprint=DECODED), 2)
    assert isinstance(append, Append)
    assert (append.key, append.fingerprint, append.reply, append.forgets) == (keys.stored(KEY, T0), told(call, DECODED), value("ok"), False)
    assert it.stored() == [reply(1)]


def test_w15_a_command_without_a_key_stores_none() -> None:  # F40
    it = lived()
    it.call()
    it.does(state="s1")
    append: Append = it.last(Append)
    assert (append.key, append.fingerprint, append.reply) == (None, None, None)
    assert it.all(FindReply) == []


def test_w15_the_same_input_gets_the_stored_reply() -> None:  # F41, F42
    it = lived()
    call = made(it)
    it.give(call)
    assert it.give(found(it, call)) == [reply(1, "first")]
    assert it.all(AskHandler, Append) == []


def test_w15_other_bytes_of_the_same_input_get_the_stored_reply() -> None:
    it = lived()
    call = made(it, '{"b":2,"a":1}')
    it.give(call)
    assert it.give(found(it, call, as_it_came='{"a":1,"b":2}')) == [AskFingerprint(2, call)]
    assert it.answer(Fingerprinted(0, DECODED), 2) == [reply(1, "first")]


def test_w15_another_input_is_a_conflict() -> None:
    it = lived()
    call = made(it, "2")
    it.give(call)
    it.give(found(it, call, as_it_came="1"))
    actions = it.answer(Fingerprinted(0, OTHER), 2)
    assert refusals(actions) == [(1, ErrorCode.CONFLICT)]
    assert it.all(Append) == []


def test_w15_another_handler_is_another_input() -> None:
    it = lived()
    call = made(it, handler="stop")
    it.give(call)
    it.give(found(it, msgspec.structs.replace(call, handler="go"), decoded=keys.fingerprint("go", value("1"))))
    assert refusals(it.answer(Fingerprinted(0, keys.fingerprint("stop", value("1"))), 2)) == [(1, ErrorCode.CONFLICT)]


def test_w15_the_turn_is_held_while_an_input_is_compared() -> None:
    it = lived()
    call = made(it, "2")
    it.give(call)
    it.give(found(it, call, as_it_came="1"))
    following = it.made()
    assert it.give(following) == []
    assert kinds(it.answer(Fingerprinted(0, DECODED), 2)) == [Reply, AskHandler]


def test_w15_a_refusal_records_nothing_and_is_decided_again() -> None:
    it = lived()
    it.give(made(it))
    it.give(ReplyFound(1))
    assert refusals(it.refused(CONFLICT)) == [(1, ErrorCode.CONFLICT)]
    assert it.all(Append) == []
    assert it.give(made(it)) == [FindReply(3, KEY, T0, False)]


@pytest.mark.parametrize(("kept", "key"), [(7 * DAY, KEY), (DAY, STEP_KEY), (7 * DAY, keys.of_command(CHECKOUT, ONE, KEY))])
def test_w15_what_is_older_than_its_retention_is_done_again_and_forgotten(kept: int, key: bytes) -> None:
    it = lived()
    call = made(it, key=key)
    it.give(call)
    assert it.give(found(it, call, at=T0 - kept + 1)) == [reply(1, "first")], "until its last moment it counts"
    again = made(it, key=key)
    it.give(again)
    assert kinds(it.give(found(it, again, at=T0 - kept))) == [AskHandler]
    it.answer(WorkflowCommandDone(0, value("second"), value("s1"), fingerprint=DECODED), it.ask)
    append: Append = it.last(Append)
    assert (append.key, append.forgets) == (keys.stored(key, T0), True)


def test_w15_an_old_reply_of_an_earlier_life_has_another_place() -> None:
    it = WorkflowDriver(load=False)
    it.loaded(WorkflowRecord(generation=T0, sequence=3, reborn=True), state=value("s0"))
    call = made(it)
    assert it.give(call) == [FindReply(1, KEY, T0, True)]
    it.give(found(it, call, at=T0 - 8 * DAY, life=T0 - 9 * DAY))
    it.answer(WorkflowCommandDone(0, value("second"), value("s1"), fingerprint=DECODED), it.ask)
    append: Append = it.last(Append)
    assert (append.key, append.forgets) == (keys.stored(KEY, T0), False)


def test_w15_a_life_behind_a_deletion_is_looked_through_with_those_before_it() -> None:
    it = WorkflowDriver(load=False)
    it.loaded(WorkflowRecord(generation=T0 - 5))
    it.call()
    it.does("charge", state="s0")
    it.stored()
    assert it.record.reborn
    it.sent()
    it.done(goto("charge"), state="s1")
    it.stored()
    assert it.record.reborn, "until it is deleted, and beyond"
    it.call()
    it.does(delete=True)
    it.stored()
    assert it.give(made(it)) == [FindReply(3, KEY, it.record.generation, True)]


def test_w15_an_entitys_life_behind_a_deletion_is_looked_through_with_those_before_it() -> None:
    it = EntityDriver(load=False)
    it.loaded(EntityRecord(T0 - 5))
    it.call()
    it.does("e", state="s1")
    it.stored()
    call = made(it)
    assert it.give(call) == [FindReply(2, KEY, it.record.generation, True)]


def test_w15_retentions_are_settings() -> None:
    it = lived(limits=Limits(idempotency_retention=5 * S))
    call = made(it)
    it.give(call)
    assert kinds(it.give(found(it, call, at=T0 - 5 * S))) == [AskHandler]


def test_w15_an_id_that_never_lived_has_no_keys() -> None:
    it = WorkflowDriver()
    call = made(it)
    assert it.give(call) == [AskHandler(1, call, None, 0)]


def test_w15_a_deleted_ones_replies_are_looked_up() -> None:
    it = WorkflowDriver(load=False)
    it.loaded(WorkflowRecord(generation=T0))
    call = made(it)
    assert it.give(call) == [FindReply(1, KEY, T0, False)]
    assert it.give(found(it, call)) == [reply(1, "first")]


def test_w15_eight_starts_at_once_with_one_key_are_one_start() -> None:  # F41
    it = WorkflowDriver()
    calls = [made(it) for _ in range(8)]
    for call in calls:
        it.give(call)
    it.does("charge", state="s0")
    it.stored()
    for call in calls[1:]:
        assert it.give(found(it, call, reply="ok", decoded=b"")) == [
            reply(call.call),
            *([FindReply(call.call + 1, KEY, T0, False)] if call is not calls[-1] else []),
        ]
    assert len(it.all(Append)) == 1


def test_w15_a_journal_that_cannot_be_read_is_unavailable_and_nothing_is_done() -> None:
    it = lived()
    it.give(made(it))
    error = Error(ErrorCode.UNAVAILABLE, "no journal")
    assert it.give(AskLost(1, error)) == [Reply(1, error)]
    assert kinds(it.call()) == [AskHandler]


def test_w15_a_process_that_goes_while_it_compares_is_unavailable() -> None:
    it = lived()
    call = made(it, "2")
    it.give(call)
    it.give(found(it, call, as_it_came="1"))
    error = Error(ErrorCode.UNAVAILABLE, "gone")
    assert it.give(AskLost(2, error)) == [Reply(1, error)]


def test_w15_a_search_that_takes_too_long_is_given_up_and_its_late_answer_dropped() -> None:
    it = lived()
    call = made(it)
    it.give(call)
    actions = it.wait(10 * S)
    assert kinds(actions) == [CancelAsk, Reply]
    assert refusals(actions) == [(1, ErrorCode.TIMEOUT)]
    assert it.give(found(it, call)) == []


def test_w15_after_a_conflict_with_another_writer_the_key_is_looked_up() -> None:
    it = WorkflowDriver()
    it.give(made(it, fresh=True))
    it.does("charge", state="s0")
    it.give(AppendConflicted(it.effect))
    assert kinds(it.loaded(BEFORE, state=value("s0"))) == [FindReply]


def test_w16_a_fresh_call_is_not_looked_up() -> None:
    it = lived()
    call = made(it, key=STEP_KEY, fresh=True)
    assert it.give(call) == [AskHandler(1, call, value("s0"), 3)]


def test_w16_an_entitys_keyed_effect_is_stored_with_its_reply() -> None:
    it = EntityDriver(load=False)
    it.loaded(EntityRecord(T0, 1, T0), state=value("s0"))
    call = made(it, key=STEP_KEY, fresh=True)
    it.give(call)
    it.answer(EntityCommandDone(0, value("ok"), (value("e"),), value("s1"), fingerprint=DECODED), 1)
    append: Append = it.last(Append)
    assert (append.event, append.key, append.reply) == (Persisted(T0, "go", (value("e"),)), STEP_KEY, value("ok"))


# --- the keys themselves -----------------------------------------------------------------------------------------


def test_keys_are_the_same_everywhere() -> None:
    """Golden values: a key that changed would let what was done be done again."""
    token = Token("checkout", "c1", 1_700_000_000_000_000, 1, 1, 1)
    visit = keys.of_visit(token)
    assert keys.of_caller(CART, "k1", "order-7").hex() == "75ea11bbd30eb0d96a9f3c73b45a004e1b"
    assert visit.hex() == "7300060a24181e40007cf62c0ae7de2e84"
    assert keys.of_call(visit, "wallet", "w1", "withdraw", b"10", 1).hex() == visit.hex() + "81d530223b51fa0916bf4af02dc6913b"
    assert keys.of_command("wallet", "w1", b"k").hex() == "63dbdd79ffe5452a91ca149eacbad3d0c2"


def test_a_keys_parts_do_not_run_into_each_other() -> None:
    assert keys.of_caller("a", "bc", "d") != keys.of_caller("ab", "c", "d")
    assert keys.fingerprint("go", None) != keys.fingerprint("go", Payload(b""))
    assert keys.fingerprint("go", Payload(b"1")) != keys.fingerprint("go", Payload(b"1", "text/plain"))


def test_w16_the_attempt_is_no_part_of_a_visits_keys() -> None:
    token = Token("checkout", "c1", 1_700_000_000_000_000, 1, 1, 1)
    assert keys.of_visit(token) == keys.of_visit(msgspec.structs.replace(token, attempt=2))
    for other in ({"visit": 2}, {"run": 2}, {"generation": 1}, {"instance": "c2"}, {"component": "cart"}):
        assert keys.of_visit(token) != keys.of_visit(msgspec.structs.replace(token, **other))


@pytest.mark.parametrize("text", ["", "a\nb", "\x00", "k" * 256, "é" * 128])
def test_a_key_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(keys.InvalidKey, match="idempotency key"):
        keys.of_caller(CART, "k1", text)
