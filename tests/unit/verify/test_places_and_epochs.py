"""I1 to I4: places, epochs, effects and keys; each damage is found as what it is, and as nothing else."""

from typing import Any

import msgspec
import pytest
from ankka_sidecar.core.events import Deleted, Persisted, Started
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord
from ankka_sidecar.verify import Bounds, Given, run

from ankka.protocol.payload import Payload
from ankka.protocol.wire import encode_value
from tests.unit.verify.life import T0, Life, encode, entity_life, merged, to, workflow_life


def test_a_journal_without_damage_is_clean() -> None:
    assert workflow_life().violations() == []
    assert entity_life().violations() == []
    assert Life().add(Started(T0, 1, to("a"), "start"), Deleted(T0 + 1, "delete"), Started(T0 + 2, 1, to("a"), "start")).violations() == []


def test_many_instances_are_told_apart() -> None:
    lives = [Life("checkout", name).add(Started(T0, 1, to("a"), "start")) for name in ("b", "a", "ä", "z", "💶", "\uffff")]
    assert merged([*lives, entity_life()]) == []
    lives[2].change(0, effect=7, shard=lives[2].shard ^ 1)
    assert {(one.rule, one.instance) for one in merged(lives)} == {("shards", "ä"), ("I9", "ä")}


def test_i1_a_missing_row() -> None:
    life = workflow_life()
    del life.rows[4], life.noted[4]
    assert life.findings() == [("I1", "sequence 5 is missing", 6)]


def test_i1_a_missing_beginning() -> None:
    life = entity_life()
    del life.rows[:2], life.noted[:2]
    (found,) = life.violations()
    assert (found.rule, found.what, found.place) == ("I1", "sequences 1 to 2 are missing", f"cart/a generation {T0} sequence 3")
    assert (found.expected, found.found) == ("sequence 1", "sequence 3")
    assert found.advice.startswith("rows are lost; restore a backup")


def test_i1_two_rows_at_one_place() -> None:
    life = workflow_life()
    life.rows.insert(2, msgspec.structs.replace(life.rows[1], effect=0))
    life.noted.insert(2, life.noted[1])
    assert life.findings() == [("I1", "two rows have one place", 2)]


def test_i1_a_row_behind_a_deletion() -> None:
    life = entity_life()
    life.add(Deleted(T0 + 9, "remove"))
    event, record = Persisted(T0 + 10, "add", ()), EntityRecord(T0, 5, T0 + 10)
    life.rows.append(msgspec.structs.replace(life.rows[2], sequence=5, effect=0, at=T0 + 10, event=encode(event), record=encode(record)))
    life.noted.append(None)
    life.list_as(sequence=5, updated_at=T0 + 10, status="active")
    assert life.findings() == [("I1", "a row behind the deletion of its generation", 5)]


def test_i1_a_generation_that_begins_while_one_lives() -> None:
    life = entity_life()
    life.record = EntityRecord(T0 + 3)
    life.add(Persisted(T0 + 4, "add", ()), Persisted(T0 + 5, "add", ()))
    assert life.findings() == [("I1", "a generation begins while the one before it lives", 1)]


def test_i1_a_generation_older_than_its_first_event() -> None:
    life = Life(record=WorkflowRecord()).add(Started(T0, 1, to("a"), "start"))
    life.change(0, generation=T0 - 1)
    life.list_as(generation=T0 - 1)
    assert life.findings() == [("I1", "a generation is older than its first event", 1)]


def test_i1_a_generation_that_its_records_do_not_know() -> None:
    life = entity_life().add(Deleted(T0 + 9, "remove"), Persisted(T0 + 20, "add", ()))
    life.change(-1, generation=T0 + 21)
    life.list_as(generation=T0 + 21)
    assert life.findings() == [("I1", "a row that is not at its place", 1)]


@pytest.mark.parametrize("gone", [[0, 1], [0, 1, 2, 4], [4], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("forgotten", [False, True])
def test_w10_pruned_rows_of_a_deleted_generation_are_no_gap(gone: list[int], forgotten: bool) -> None:
    """Pruning takes the oldest rows without a key (here all but the fourth), later those whose key was forgotten, never the deletion."""
    life = entity_life(5)
    if not forgotten:
        keyed(life, 3, b"k")
    life.add(Deleted(T0 + 9, "remove"))
    for number in reversed(gone):
        del life.rows[number], life.noted[number]
    assert life.findings() == []


def test_w10_a_pruned_generation_excuses_no_gap_in_the_next_one() -> None:
    life = entity_life(3).add(Deleted(T0 + 9, "remove"), *(Persisted(T0 + number, "add", ()) for number in (20, 21, 22)))
    for number in (5, 1):
        del life.rows[number], life.noted[number]
    assert life.findings() == [("I1", "sequence 2 is missing", 3)]


def test_i2_an_epoch_that_falls() -> None:
    life = workflow_life()
    life.change(3, epoch=2)
    (found,) = life.violations()
    assert (found.rule, found.sequence, found.found) == ("I2", 5, "epoch 1")


def test_i2_an_epoch_that_falls_with_a_new_generation() -> None:
    life = Life()
    life.epoch = 3
    life.add(Started(T0, 1, to("a"), "start"), Deleted(T0 + 1, "delete"))
    life.epoch = 2
    life.add(Started(T0 + 2, 1, to("a"), "start"))
    assert life.findings() == [("I2", "a node wrote that had lost the shard", 1)]


def test_i2_an_epoch_above_that_of_the_shard() -> None:
    life = entity_life()
    life.epochs = {life.shard: 1}
    life.change(2, epoch=2)
    (found,) = life.violations()
    assert (found.rule, found.expected) == ("I2", f"1 to 1, the epoch of shard {life.shard}")


def test_i3_an_effect_that_is_journalled_twice() -> None:
    life = workflow_life()
    life.change(5, effect=life.rows[2].effect)
    assert life.findings() == [("I3", "an effect is journalled twice", 6)]


def keyed(life: Life, number: int, key: bytes) -> None:
    reply = encode_value(Payload(b'"done"', manifest="done"))
    life.change(number, key=key, fingerprint=bytes(range(32)), reply=reply)


def test_i4_keys_of_their_own_are_clean() -> None:
    life = entity_life()
    for number in range(3):
        keyed(life, number, bytes([number]))
    assert life.violations() == []


def test_i4_a_key_with_two_effects() -> None:
    life = entity_life()
    keyed(life, 0, b"\x01k")
    keyed(life, 2, b"\x01k")
    (found,) = life.violations()
    assert (found.rule, found.sequence, found.what) == ("I4", 3, "key 016b was carried out twice")
    assert (found.expected, found.found) == ("one effect", f"another at cart/a generation {T0} sequence 1")
    assert found.place == f"cart/a generation {T0} sequence 3"


def test_i4_a_key_with_effects_in_other_instances_and_generations() -> None:
    one = entity_life(2).add(Deleted(T0 + 9, "remove"), Persisted(T0 + 20, "add", ()))
    other, third = Life("checkout", "b").add(Started(T0, 1, to("a"), "start")), Life("checkout", "c").add(Started(T0, 1, to("a"), "start"))
    keyed(one, 1, b"k")
    keyed(one, 3, b"k")
    keyed(other, 0, b"k")
    keyed(third, 0, b"l")
    found = merged([third, other, one])
    assert [(each.rule, each.component, each.instance, each.generation, each.sequence) for each in found] == [
        ("I4", "cart", "a", T0 + 20, 1),
        ("I4", "checkout", "b", T0, 1),
    ]
    assert {each.found for each in found} == {f"another at cart/a generation {T0} sequence 2"}


@pytest.mark.parametrize(
    ("changes", "what", "found"),
    [
        ({"reply": None}, "a row with a key", "not a reply"),
        ({"fingerprint": None}, "a row with a key", "not a fingerprint"),
        ({"fingerprint": None, "reply": None}, "a row with a key", "not a fingerprint and not a reply"),
        ({"key": None, "fingerprint": None}, "a row without a key", "a reply"),
        ({"key": None}, "a row without a key", "a fingerprint and a reply"),
        ({"fingerprint": b""}, "the fingerprint of a key has another length", "0 bytes"),
        ({"fingerprint": bytes(16)}, "the fingerprint of a key has another length", "16 bytes"),
    ],
)
def test_i4_key_fingerprint_and_reply_go_together(changes: dict[str, Any], what: str, found: str) -> None:
    life = entity_life()
    keyed(life, 1, b"k")
    life.change(1, **changes)
    (violation,) = life.violations()
    assert (violation.rule, violation.sequence, violation.what, violation.found) == ("I4", 2, what, found)


@pytest.mark.parametrize(
    "reply", [b"", b'"done"', b"\xc1", encode_value("done"), encode_value(Payload(b"x")) + b"\0", encode_value(Payload(b"x"))[:-1]]
)
def test_i4_a_reply_that_cannot_be_decoded(reply: bytes) -> None:
    life = entity_life()
    keyed(life, 1, b"k")
    life.change(1, reply=reply)
    (found,) = life.violations()
    assert (found.rule, found.sequence, found.what) == ("I4", 2, "the reply of a key cannot be decoded")
    assert found.found.startswith("reply: ")


def test_violations_beyond_the_limit_are_counted_only() -> None:
    life = entity_life(8)
    for number in range(8):
        life.change(number, reply=b"r")
    report = run(Given(life.rows, [life.listing] if life.listing else [], 16), Bounds(most=3))
    assert (len(report.violations), report.counts["I4"], report.is_clean) == (3, 8, False)
