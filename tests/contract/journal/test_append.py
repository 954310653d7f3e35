"""The contract of `Journal.append`: order, atomicity, fencing, and what becomes of a bad item."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from ankka_sidecar.ports.journal import DELETED, MAX_ITEMS, Item, Journal, JournalUnavailable, JournalUncertain, Last, Listing, Outcome, Query

from tests.contract.journal.conftest import Opened
from tests.contract.journal.rows import full_row, item, row, store

STORED, CONFLICT, FENCED, REFUSED = Outcome.STORED, Outcome.CONFLICT, Outcome.FENCED, Outcome.REFUSED


async def test_a_row_comes_back_as_it_was_stored(journal: Journal) -> None:
    first = full_row()
    await store(journal, Item(first))
    assert await journal.last("checkout", "a") == Last(first, first)
    assert await journal.read("checkout", "a") == [first]


async def test_rows_are_stored_in_sequence(journal: Journal) -> None:
    rows = [row("a", sequence) for sequence in (1, 2, 3)]
    await store(journal, *map(Item, rows))
    assert await journal.read("checkout", "a") == rows


async def test_a_group_is_stored_whole_and_each_item_is_answered(journal: Journal) -> None:
    for size in (1, 2, 5, 63, 64, 65, 200, MAX_ITEMS):
        items = [item(f"{size}-{number}") for number in range(size)]
        assert await journal.append(items) == [STORED] * size
        assert [await journal.read("checkout", one.row.instance) for one in items] == [[one.row] for one in items]


async def test_an_empty_append_does_nothing(journal: Journal) -> None:
    assert await journal.append([]) == []


async def test_more_than_a_group_is_refused_before_anything_is_written(journal: Journal) -> None:
    with pytest.raises(ValueError, match="257 items: expected at most 256"):
        await journal.append([item(str(number)) for number in range(MAX_ITEMS + 1)])
    assert await journal.last("checkout", "0") is None


async def test_two_items_of_one_instance_in_a_call_are_refused(journal: Journal) -> None:
    with pytest.raises(ValueError, match="each of another instance"):
        await journal.append([item("a", 1), item("a", 2)])
    assert await journal.last("checkout", "a") is None


# F14: two writers append the same sequence.
async def test_a_sequence_is_stored_once_and_the_other_is_a_conflict(journal: Journal) -> None:
    first, second = item("a", 1), item("a", 1)
    outcomes = await asyncio.gather(*map(journal.append, ([first], [second])))
    assert outcomes == [[STORED], [CONFLICT]]
    assert await journal.read("checkout", "a") == [first.row]


# I1
@pytest.mark.parametrize("sequence", [1, 2, 4, 5, 100])
async def test_only_the_next_sequence_is_stored(journal: Journal, sequence: int) -> None:
    await store(journal, item("a", 1), item("a", 2))
    assert await journal.append([item("a", sequence)]) == [CONFLICT]
    assert [stored.sequence for stored in await journal.read("checkout", "a")] == [1, 2]
    assert await journal.append([item("a", 3)]) == [STORED]


async def test_the_first_row_of_an_instance_has_sequence_one(journal: Journal) -> None:
    assert await journal.append([item("a", 2), item("b", 0), item("c", -1)]) == [CONFLICT, CONFLICT, CONFLICT]
    assert await journal.last("checkout", "a") is None


async def test_a_higher_generation_begins_at_sequence_one(journal: Journal) -> None:
    await store(journal, item("a", 1), item("a", 2, type=DELETED))
    assert await journal.append([item("a", 2, generation=101)]) == [CONFLICT]
    assert await journal.append([item("a", 3, generation=101)]) == [CONFLICT]
    assert await journal.append([item("a", 1, generation=101)]) == [STORED]
    assert [(stored.generation, stored.sequence) for stored in await journal.read("checkout", "a")] == [(100, 1), (100, 2), (101, 1)]


async def test_an_older_generation_takes_no_more_rows(journal: Journal) -> None:
    await store(journal, item("a", 1), item("a", 1, generation=101))
    assert await journal.append([item("a", 2)]) == [CONFLICT]
    assert await journal.append([item("a", 1, generation=99)]) == [CONFLICT]
    assert await journal.append([item("a", 2, generation=101)]) == [STORED]


async def test_equal_instances_of_two_components_are_two_instances(journal: Journal) -> None:
    assert await journal.append([item("a", 1), item("a", 1, component="cart")]) == [STORED, STORED]
    assert (await journal.read("cart", "a"))[0].component == "cart"


async def test_append_with_old_epoch_is_fenced(opened: Opened) -> None:
    await store(opened.journal, item("a", 1))
    await opened.leases.take()
    assert await opened.journal.append([item("a", 2)]) == [FENCED]
    assert await opened.journal.append([item("a", 2, epoch=2)]) == [STORED]
    # I2: the writer's epoch never falls along a journal.
    assert [stored.epoch for stored in await opened.journal.read("checkout", "a")] == [1, 2]


async def test_append_of_a_shard_that_is_not_ours_is_fenced(journal: Journal) -> None:
    assert await journal.append([item("a", shard=16), item("b", shard=-1), item("c", epoch=2), item("d", epoch=0)]) == [FENCED] * 4
    assert await journal.last("checkout", "a") is None


async def test_append_without_leases_is_fenced(untaken: Opened) -> None:
    assert await untaken.journal.append([item("a", epoch=0)]) == [FENCED]


async def test_append_after_release_is_fenced(opened: Opened) -> None:
    await opened.leases.release()
    assert await opened.journal.append([item("a")]) == [FENCED]


async def test_a_bad_item_fails_alone(journal: Journal) -> None:
    await store(journal, item("taken"))
    items = [item("good-1"), item("taken"), item("fenced", epoch=9), item("gap", 5), item("good-2", listing=Listing("Running")), item("taken-not", 1)]
    assert await journal.append(items) == [STORED, CONFLICT, FENCED, CONFLICT, STORED, STORED]
    assert [(await journal.last("checkout", name)) is not None for name in ("good-1", "fenced", "gap", "good-2", "taken-not")] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert [found.instance for found in (await journal.find(Query())).items] == ["good-2"]


@pytest.mark.parametrize("changes", [{"manifest": "lone \ud800"}, {"effect": 2**63}, {"type": "\udfff"}, {"at": -(2**63) - 1}], ids=str)
async def test_an_item_the_database_cannot_hold_fails_alone(journal: Journal, changes: dict[str, Any]) -> None:
    assert await journal.append([item("before"), item("bad", **changes), item("after")]) == [STORED, REFUSED, STORED]
    assert await journal.last("checkout", "bad") is None
    assert await journal.append([item("bad")]) == [STORED]


async def test_an_item_whose_listing_cannot_be_stored_is_not_stored_at_all(journal: Journal) -> None:
    bad = item("bad", listing=Listing("Failed", failure="lone \ud800"))
    assert await journal.append([item("good", listing=Listing("Running")), bad]) == [STORED, REFUSED]
    assert await journal.last("checkout", "bad") is None
    assert [found.instance for found in (await journal.find(Query())).items] == ["good"]


async def test_a_large_payload_is_stored(journal: Journal) -> None:
    large = row("a", payload=bytes(range(256)) * 16_384)
    await store(journal, Item(large))
    last = await journal.last("checkout", "a")
    assert last is not None
    assert last.row.payload == large.payload


@pytest.mark.parametrize("instance", ["a/b", "50%", "a b", "Ünï", "'; DROP TABLE journal; --", "x" * 512, chr(sys.maxunicode)])
async def test_any_id_is_kept_exactly(journal: Journal, instance: str) -> None:
    await store(journal, item(instance), item(instance.swapcase() + "!"))
    assert [stored.instance for stored in await journal.read("checkout", instance)] == [instance]


async def test_concurrent_appends_of_one_instance_are_stored_in_the_order_asked_for(journal: Journal) -> None:
    items = [item("a", sequence) for sequence in range(1, 101)]
    assert await asyncio.gather(*(journal.append([one]) for one in items)) == [[STORED]] * 100
    assert await journal.read("checkout", "a") == [one.row for one in items]


async def test_concurrent_appends_beyond_a_group_are_all_stored(journal: Journal) -> None:
    appends = [[item(f"{call}-{number}") for number in range(100)] for call in range(10)]
    assert await asyncio.gather(*map(journal.append, appends)) == [[STORED] * 100] * 10


async def test_a_failure_before_the_commit_leaves_nothing_and_a_retry_is_safe(
    open_with_faults: Callable[[str], Awaitable[Journal]], kind: str
) -> None:
    journal = await open_with_faults("commit.before:1=raise" if kind == "memory" else "commit.before:2=raise")
    one = item("a", listing=Listing("Running"))
    with pytest.raises(JournalUnavailable, match=r"commit\.before"):
        await journal.append([one])
    assert await journal.last("checkout", "a") is None
    assert (await journal.find(Query())).items == ()
    await store(journal, one)


async def test_a_failure_at_the_listing_leaves_no_row(open_with_faults: Callable[[str], Awaitable[Journal]]) -> None:
    journal = await open_with_faults("listing.before=raise")
    one = item("a", listing=Listing("Running"))
    with pytest.raises(JournalUnavailable, match=r"listing\.before"):
        await journal.append([one])
    assert await journal.last("checkout", "a") is None
    await store(journal, one)


# F55: the commit succeeded, but its answer was lost.
async def test_after_an_uncertain_commit_the_effect_tells_whether_the_row_is_there(
    open_with_faults: Callable[[str], Awaitable[Journal]], kind: str
) -> None:
    journal = await open_with_faults("commit.after:1=raise" if kind == "memory" else "commit.after:2=raise")
    one = item("a", listing=Listing("Running"))
    with pytest.raises(JournalUncertain, match="unknown"):
        await journal.append([one])
    last = await journal.last("checkout", "a")
    assert last is not None
    assert last.row.effect == one.row.effect
    assert await journal.append([one]) == [CONFLICT]
    await store(journal, item("a", 2))


async def test_a_closed_journal_answers_that_it_is_closed(opened: Opened) -> None:
    journal = opened.journal
    await store(journal, item("a"))
    await journal.close()
    await journal.close()
    with pytest.raises(JournalUnavailable, match="closed"):
        await journal.append([item("a", 2)])
    with pytest.raises(JournalUnavailable, match="closed"):
        await journal.last("checkout", "a")
    with pytest.raises(JournalUnavailable, match="closed"):
        await journal.find(Query())


async def test_close_finishes_what_was_begun(opened: Opened) -> None:
    appends = [asyncio.ensure_future(opened.journal.append([item(str(number))])) for number in range(50)]
    read = asyncio.ensure_future(opened.journal.last("checkout", "nobody"))
    await asyncio.sleep(0)
    await opened.journal.close()
    assert await asyncio.gather(*appends) == [[STORED]] * 50
    assert await read is None


async def test_a_caller_that_gives_up_disturbs_nobody(journal: Journal) -> None:
    given_up = asyncio.ensure_future(journal.append([item("a")]))
    kept = asyncio.ensure_future(journal.append([item("b")]))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await kept == [STORED]
    assert await journal.last("checkout", "a") is not None
