"""The contract of what is read by id: `last`, `read`, snapshots and `prune`."""

import asyncio

import msgspec
import pytest
from ankka_sidecar.ports.journal import DELETED, Item, Journal, Last, Listing, Query

from tests.contract.journal.conftest import Opened
from tests.contract.journal.rows import item, row, snapshot, store


async def test_generations_are_those_of_which_rows_are_left_the_newest_first(journal: Journal) -> None:
    assert await journal.generations("checkout", "a") == []
    await store(journal, Item(row("a")), Item(row("a", 2)), Item(row("a", 3, type=DELETED)))
    await store(journal, Item(row("a", generation=101)), Item(row("b", generation=102)))
    assert await journal.generations("checkout", "a") == [101, 100]
    await journal.prune("checkout", "a", 100, 10)
    assert await journal.generations("checkout", "a") == [101, 100], "the deletion is left"
    assert await journal.generations("cart", "a") == []


async def test_last_of_what_never_was_is_none(journal: Journal) -> None:
    assert await journal.last("checkout", "a") is None


async def test_last_brings_the_row_that_set_the_state(journal: Journal) -> None:
    rows = [row("a", 1), row("a", 2, payload=b"two"), row("a", 3), row("a", 4), row("a", 5, payload=b""), row("a", 6)]
    states = [None, rows[1], rows[1], rows[1], rows[4], rows[4]]
    for one, state in zip(rows, states, strict=True):
        await store(journal, Item(one))
        assert await journal.last("checkout", "a") == Last(one, state)


async def test_last_of_a_deleted_instance_is_the_deletion_without_a_state(journal: Journal) -> None:
    deletion = row("a", 2, type=DELETED)
    await store(journal, item("a", 1, payload=b"state"), Item(deletion))
    assert await journal.last("checkout", "a") == Last(deletion, None)


async def test_last_is_of_the_newest_generation_and_takes_no_state_from_an_older_one(journal: Journal) -> None:
    await store(journal, item("a", 1, payload=b"old"), item("a", 2, type=DELETED))
    again = row("a", 1, generation=101)
    await store(journal, Item(again))
    assert await journal.last("checkout", "a") == Last(again, None)


async def test_many_loads_at_once_each_get_their_own(journal: Journal) -> None:
    rows = {f"i-{number}": row(f"i-{number}", payload=str(number).encode()) for number in range(0, 600, 2)}
    for one in rows.values():
        await store(journal, Item(one))
    asked = [f"i-{number}" for number in range(600)]
    found = await asyncio.gather(*(journal.last("checkout", instance) for instance in asked))
    assert found == [Last(rows[instance], rows[instance]) if instance in rows else None for instance in asked]


async def test_an_id_that_is_no_text_does_not_spoil_other_loads(journal: Journal) -> None:
    await store(journal, item("a"))
    loads = [journal.last("checkout", name) for name in ("a", "lone \ud800", "a")]
    first, _, third = await asyncio.gather(*loads, return_exceptions=True)
    assert isinstance(first, Last)
    assert first == third


async def test_read_goes_over_all_generations_in_order(journal: Journal) -> None:
    rows = [row("a", 1), row("a", 2), row("a", 3, type=DELETED), row("a", 1, generation=101), row("a", 2, generation=101)]
    await store(journal, *map(Item, rows))
    assert await journal.read("checkout", "a") == rows
    assert await journal.read("checkout", "a", after=(100, 0)) == rows
    assert await journal.read("checkout", "a", after=(100, 2)) == rows[2:]
    assert await journal.read("checkout", "a", after=(100, 3)) == rows[3:]
    assert await journal.read("checkout", "a", after=(101, 1)) == rows[4:]
    assert await journal.read("checkout", "a", after=(101, 2)) == []


async def test_read_stops_at_its_limit(journal: Journal) -> None:
    rows = [row("a", sequence) for sequence in range(1, 8)]
    await store(journal, *map(Item, rows))
    assert await journal.read("checkout", "a", limit=3) == rows[:3]
    assert await journal.read("checkout", "a", after=(100, 3), limit=3) == rows[3:6]


async def test_read_of_what_never_was_is_empty(journal: Journal) -> None:
    assert await journal.read("checkout", "a") == []


async def test_a_row_that_was_stored_is_seen_by_the_next_load(journal: Journal) -> None:
    for sequence in range(1, 50):
        await store(journal, item("a", sequence))
        last = await journal.last("checkout", "a")
        assert last is not None
        assert last.row.sequence == sequence


async def test_a_snapshot_comes_back_as_it_was_stored(journal: Journal) -> None:
    assert await journal.put_snapshot(snapshot(3)) is True
    assert await journal.snapshot_of("cart", "a", 100) == snapshot(3)
    assert await journal.snapshot_of("cart", "a", 101) is None
    assert await journal.snapshot_of("cart", "b", 100) is None


async def test_a_snapshot_never_replaces_a_higher_sequence(journal: Journal) -> None:
    assert await journal.put_snapshot(snapshot(3)) is True
    assert await journal.put_snapshot(snapshot(2)) is False
    assert await journal.snapshot_of("cart", "a", 100) == snapshot(3)
    assert await journal.put_snapshot(snapshot(3, version=2)) is True
    assert await journal.put_snapshot(snapshot(10)) is True
    assert await journal.snapshot_of("cart", "a", 100) == snapshot(10)


async def test_snapshots_of_two_generations_are_kept_apart(journal: Journal) -> None:
    assert await journal.put_snapshot(snapshot(9)) is True
    assert await journal.put_snapshot(snapshot(1, generation=101)) is True
    assert await journal.snapshot_of("cart", "a", 100) == snapshot(9)
    assert await journal.snapshot_of("cart", "a", 101) == snapshot(1, generation=101)


async def test_a_snapshot_with_an_old_epoch_is_not_stored(opened: Opened) -> None:
    await opened.leases.take()
    assert await opened.journal.put_snapshot(snapshot(3)) is False
    assert await opened.journal.snapshot_of("cart", "a", 100) is None
    assert await opened.journal.put_snapshot(snapshot(3, epoch=2)) is True


async def test_prune_removes_a_deleted_generation_but_its_last_and_its_keyed_rows(journal: Journal) -> None:
    kept = [row("a", 2, key=b"k"), row("a", 4, type=DELETED)]
    await store(journal, item("a", 1, payload=b"x"), Item(kept[0]), item("a", 3), Item(kept[1]))
    await journal.put_snapshot(snapshot(2, component="checkout"))
    assert await journal.prune("checkout", "a", 100, 1_000) == 2
    assert await journal.prune("checkout", "a", 100, 1_000) == 0
    assert await journal.read("checkout", "a") == kept
    assert await journal.last("checkout", "a") == Last(kept[1], None)
    assert await journal.row_of(b"k") == kept[0]
    assert await journal.snapshot_of("checkout", "a", 100) is None


async def test_prune_goes_in_chunks_oldest_first(journal: Journal) -> None:
    await store(journal, *(item("a", sequence) for sequence in range(1, 6)), item("a", 6, type=DELETED))
    assert await journal.prune("checkout", "a", 100, 3) == 3
    assert [stored.sequence for stored in await journal.read("checkout", "a")] == [4, 5, 6]
    assert await journal.prune("checkout", "a", 100, 3) == 2
    assert [stored.sequence for stored in await journal.read("checkout", "a")] == [6]


async def test_trim_removes_rows_between_the_first_and_a_sequence_oldest_first(journal: Journal) -> None:
    rows = [row("a", number, payload=b"s") for number in range(1, 9)]
    rows[3] = row("a", 4, payload=b"s", key=b"s1", fingerprint=b"f", reply=b"r")
    await store(journal, *map(Item, rows), Item(row("b")), Item(row("b", 2)))
    assert await journal.trim("checkout", "a", 100, 7, 2) == 2
    assert [one.sequence for one in await journal.read("checkout", "a")] == [1, 4, 5, 6, 7, 8]
    assert await journal.trim("checkout", "a", 100, 7, 10) == 2, "a keyed row stays until its key is forgotten"
    assert await journal.trim("checkout", "a", 100, 7, 10) == 0
    assert await journal.trim("checkout", "a", 99, 7, 10) == 0
    assert [one.sequence for one in await journal.read("checkout", "a")] == [1, 4, 7, 8]
    assert await journal.trim("checkout", "a", 100, 99, 10) == 1, "never the last one"
    assert await journal.last("checkout", "a") == Last(rows[7], rows[7])
    assert await journal.generations("checkout", "a") == [100]
    await journal.forget_keys(b"s", 1_000_000, b"", 10)
    assert await journal.trim("checkout", "a", 100, 99, 10) == 1
    await store(journal, Item(row("a", 9, payload=b"s")))
    assert len(await journal.read("checkout", "b")) == 2


async def test_trim_leaves_the_row_that_set_the_state(journal: Journal) -> None:
    await store(journal, Item(row("a")), Item(row("a", 2, payload=b"s")), Item(row("a", 3)), Item(row("a", 4)))
    assert await journal.trim("checkout", "a", 100, 4, 10) == 1
    last = await journal.last("checkout", "a")
    assert last is not None
    assert last.state is not None
    assert (last.row.sequence, last.state.sequence) == (4, 2)


async def test_prune_leaves_a_living_generation_alone(journal: Journal) -> None:
    await store(journal, item("a", 1), item("a", 2, type=DELETED), item("a", 1, generation=101), item("a", 2, generation=101))
    assert await journal.prune("checkout", "a", 101, 1_000) == 0
    assert await journal.prune("checkout", "a", 99, 1_000) == 0
    assert await journal.prune("checkout", "a", 100, 1_000) == 1
    assert [(stored.generation, stored.sequence) for stored in await journal.read("checkout", "a")] == [(100, 2), (101, 1), (101, 2)]


@pytest.mark.parametrize("generation", [100, 99, 50])
async def test_after_prune_a_dead_generation_is_never_used_again(journal: Journal, generation: int) -> None:
    await store(journal, item("a", 1), item("a", 2, type=DELETED))
    await journal.prune("checkout", "a", 100, 1_000)
    outcomes = await journal.append([item("a", 1, generation=generation)])
    assert [outcome.value for outcome in outcomes] == ["conflict"]
    await store(journal, item("a", 1, generation=101), item("a", 2, generation=101))


async def test_forget_removes_what_was_deleted_long_ago(journal: Journal) -> None:
    deleted = Listing("deleted")
    old = msgspec.structs.replace(row("a", 2, type=DELETED), at=1_000)
    young = msgspec.structs.replace(row("b", 2, type=DELETED), at=9_000)
    await store(journal, item("a", 1), Item(old, deleted), item("b", 1), Item(young, deleted), item("c", 1))
    assert await journal.forget(5_000, 10) == 1
    assert await journal.forget(5_000, 10) == 0
    assert await journal.last("checkout", "a") is None
    assert (await journal.find(Query(status="deleted"))).items[0].instance == "b"
    assert [stored.sequence for stored in await journal.read("checkout", "b")] == [1, 2]
    assert [stored.sequence for stored in await journal.read("checkout", "c")] == [1]


async def test_forget_keeps_an_instance_whose_keyed_rows_are_still_there(journal: Journal) -> None:
    await store(journal, Item(row("a", 1, key=b"k")), Item(msgspec.structs.replace(row("a", 2, type=DELETED), at=1_000), Listing("deleted")))
    assert await journal.forget(5_000, 10) == 0
    assert [stored.sequence for stored in await journal.read("checkout", "a")] == [1, 2]


async def test_forget_goes_in_chunks_and_leaves_living_instances_alone(journal: Journal) -> None:
    for instance in "abc":
        await store(journal, item(instance, 1), Item(msgspec.structs.replace(row(instance, 2, type=DELETED), at=1_000), Listing("deleted")))
    await store(journal, Item(msgspec.structs.replace(row("c", 1, generation=101), at=2_000), Listing("Running")))
    assert await journal.forget(5_000, 1) == 1
    assert await journal.forget(5_000, 10) == 1
    assert [stored.generation for stored in await journal.read("checkout", "c")] == [100, 100, 101]


async def test_prune_leftovers_removes_what_no_prune_came_to(journal: Journal) -> None:
    deleted = Listing("deleted")
    await store(journal, item("a", 1), item("a", 2), Item(row("a", 3, type=DELETED), deleted))
    await store(journal, Item(row("b", 1, key=b"k")), item("b", 2), Item(row("b", 3, type=DELETED), deleted), item("c", 1))
    assert await journal.prune_leftovers(2) == 2
    assert await journal.prune_leftovers(10) == 1
    assert await journal.prune_leftovers(10) == 0
    assert [stored.sequence for stored in await journal.read("checkout", "a")] == [3]
    assert [stored.sequence for stored in await journal.read("checkout", "b")] == [1, 3]
    assert [stored.sequence for stored in await journal.read("checkout", "c")] == [1]
