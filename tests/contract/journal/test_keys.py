"""The contract of idempotency keys: one row per key (I4), found by it, and forgotten when it is too old."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from ankka_sidecar.ports.journal import DELETED, MAX_ITEMS, Item, Journal, JournalUnavailable, Last, Listing, Outcome, Query, Row

from tests.contract.journal.conftest import Opened
from tests.contract.journal.rows import full_row, row, store

STORED, CONFLICT, FENCED, REFUSED = Outcome.STORED, Outcome.CONFLICT, Outcome.FENCED, Outcome.REFUSED
DELETION = Listing("deleted")


def keyed(key: bytes, instance: str = "a", sequence: int = 1, **changes: Any) -> Row:
    """A row with a key, its fingerprint and its reply."""
    return row(instance, sequence, key=key, fingerprint=b"print of " + key, reply=b"reply to " + key, **changes)


def without_key(stored: Row) -> Row:
    """What is left of a row whose key was forgotten."""
    return row(stored.instance, stored.sequence, effect=stored.effect, generation=stored.generation, at=stored.at, payload=stored.payload)


async def keys(journal: Journal, names: Sequence[bytes]) -> list[bytes]:
    """Those of the keys that are still there."""
    return [name for name in names if await journal.row_of(name) is not None]


# --- no two rows have the same key -------------------------------------------------------------------------------------


# I4
async def test_another_row_with_the_same_key_is_a_conflict(journal: Journal) -> None:
    first = keyed(b"k")
    await store(journal, Item(first))
    assert await journal.append([Item(keyed(b"k", "a", 2))]) == [CONFLICT]
    assert await journal.append([Item(keyed(b"k", "b"))]) == [CONFLICT]
    assert await journal.append([Item(keyed(b"k", "a", component="cart"))]) == [CONFLICT]
    assert await journal.read("checkout", "a") == [first]
    assert await journal.last("checkout", "b") is None
    assert await journal.row_of(b"k") == first
    await store(journal, Item(keyed(b"K", "a", 2)), Item(keyed(b"k\0", "b")))


# I4
async def test_a_key_is_unique_across_generations(journal: Journal) -> None:
    await store(journal, Item(keyed(b"k")), Item(row("a", 2, type=DELETED)))
    assert await journal.append([Item(keyed(b"k", generation=101))]) == [CONFLICT]
    await store(journal, Item(keyed(b"l", generation=101)))
    assert await journal.append([Item(keyed(b"k", "a", 2, generation=101))]) == [CONFLICT]


async def test_rows_without_a_key_are_as_many_as_there_are(journal: Journal) -> None:
    await store(journal, *(Item(row("a", sequence)) for sequence in (1, 2, 3)), Item(row("b")))


# I4
async def test_of_two_items_with_one_key_in_a_call_the_first_is_stored(journal: Journal) -> None:
    first, second = keyed(b"k", "a"), keyed(b"k", "b")
    assert await journal.append([Item(row("z")), Item(first), Item(second), Item(keyed(b"l", "c"))]) == [STORED, STORED, CONFLICT, STORED]
    assert await journal.row_of(b"k") == first
    assert await journal.last("checkout", "b") is None


# I4
async def test_of_concurrent_appends_with_one_key_the_first_is_stored(journal: Journal) -> None:
    outcomes = await asyncio.gather(*(journal.append([Item(keyed(b"k", f"i-{number}"))]) for number in range(100)))
    assert outcomes == [[STORED]] + [[CONFLICT]] * 99
    found = await journal.row_of(b"k")
    assert found is not None
    assert found.instance == "i-0"


async def test_an_item_whose_key_is_taken_fails_alone(journal: Journal) -> None:
    await store(journal, Item(keyed(b"taken", "before")))
    items = [Item(keyed(str(number).encode(), f"i-{number}"), Listing("Running")) for number in range(MAX_ITEMS)]
    items[100] = Item(keyed(b"taken", "i-100"), Listing("Running"))
    assert await journal.append(items) == [CONFLICT if number == 100 else STORED for number in range(MAX_ITEMS)]
    assert await journal.last("checkout", "i-100") is None
    assert len((await journal.find(Query(status="Running", limit=1_000))).items) == MAX_ITEMS - 1
    await store(journal, Item(keyed(b"free", "i-100")))


async def test_every_other_bad_item_is_told_apart_from_one_whose_key_is_taken(journal: Journal) -> None:
    await store(journal, Item(keyed(b"k", "before")))
    items = [
        Item(keyed(b"1", "fenced", epoch=9)),
        Item(keyed(b"2", "refused", manifest="lone \ud800")),
        Item(keyed(b"3", "gap", 5)),
        Item(keyed(b"k", "taken")),
        Item(keyed(b"4", "good")),
    ]
    assert await journal.append(items) == [FENCED, REFUSED, CONFLICT, CONFLICT, STORED]
    # The key of an item that was not stored is free.
    assert await keys(journal, [b"1", b"2", b"3", b"4"]) == [b"4"]
    await store(journal, *(Item(keyed(key, "next", number)) for number, key in enumerate((b"1", b"2", b"3"), 1)))


# --- forgets -----------------------------------------------------------------------------------------------------------


async def test_forgets_takes_the_key_off_the_row_that_has_it(journal: Journal) -> None:
    old = keyed(b"k", payload=b"state")
    new = keyed(b"k", "a", 2)
    await store(journal, Item(old), Item(new, forgets=True))
    assert await journal.row_of(b"k") == new
    assert await journal.read("checkout", "a") == [without_key(old), new]
    assert await journal.last("checkout", "a") == Last(new, without_key(old))
    assert await journal.append([Item(keyed(b"k", "a", 3))]) == [CONFLICT]


async def test_forgets_reaches_a_deleted_generation_and_another_instance(journal: Journal) -> None:
    await store(journal, Item(keyed(b"k")), Item(row("a", 2, type=DELETED)), Item(keyed(b"l", "b")))
    again, other = keyed(b"k", generation=101), keyed(b"l", "c")
    assert await journal.append([Item(again, forgets=True), Item(other, forgets=True)]) == [STORED, STORED]
    assert [await journal.row_of(b"k"), await journal.row_of(b"l")] == [again, other]
    assert [stored.key for stored in await journal.read("checkout", "a")] == [None, None, b"k"]


async def test_forgets_where_no_row_has_the_key_any_more_is_stored_all_the_same(journal: Journal) -> None:
    new = keyed(b"k")
    assert await journal.append([Item(new, forgets=True), Item(row("b"), forgets=True)]) == [STORED, STORED]
    assert await journal.row_of(b"k") == new


@pytest.mark.parametrize(("bad", "outcome"), [({"sequence": 5}, CONFLICT), ({"epoch": 9}, FENCED), ({"manifest": "\ud800"}, REFUSED)], ids=str)
async def test_what_an_item_that_is_not_stored_would_have_forgotten_stays(journal: Journal, bad: dict[str, Any], outcome: Outcome) -> None:
    old = keyed(b"k")
    await store(journal, Item(old))
    stored = keyed(b"l", "b")
    assert await journal.append([Item(keyed(b"k", "c", **bad), Listing("Running"), forgets=True), Item(stored)]) == [outcome, STORED]
    assert await journal.row_of(b"k") == old
    assert await journal.read("checkout", "a") == [old]
    assert await journal.row_of(b"l") == stored


async def test_one_that_forgets_and_one_that_does_not_are_taken_in_order(journal: Journal) -> None:
    await store(journal, Item(keyed(b"k", "old")))
    forgetting, plain = keyed(b"k", "forgetting"), keyed(b"k", "plain")
    assert await journal.append([Item(plain), Item(forgetting, forgets=True)]) == [CONFLICT, STORED]
    assert await journal.row_of(b"k") == forgetting
    other, late = keyed(b"l", "other"), keyed(b"l", "late")
    assert await journal.append([Item(other, forgets=True), Item(late)]) == [STORED, CONFLICT]
    assert await journal.row_of(b"l") == other


async def test_a_failed_commit_forgets_nothing(open_with_faults: Callable[[str], Awaitable[Journal]], kind: str) -> None:
    journal = await open_with_faults("commit.before:2=raise" if kind == "memory" else "commit.before:3=raise")
    old, new = keyed(b"k"), keyed(b"k", "a", 2)
    await store(journal, Item(old))
    with pytest.raises(JournalUnavailable, match=r"commit\.before"):
        await journal.append([Item(new, forgets=True)])
    assert await journal.row_of(b"k") == old
    await store(journal, Item(new, forgets=True))
    assert await journal.row_of(b"k") == new


# --- row_of ------------------------------------------------------------------------------------------------------------


# I4
async def test_row_of_a_key_is_the_whole_row(journal: Journal) -> None:
    wanted = full_row("a", 2, key=b"k")
    await store(journal, Item(row("a", 1)), Item(wanted), Item(row("a", 3)), Item(row("b")))
    assert await journal.row_of(b"k") == wanted
    assert await journal.row_of(b"K") is None
    assert await journal.row_of(b"k\0") is None
    assert await journal.row_of(b"") is None


# W10: stored replies outlive deletion.
async def test_row_of_a_key_is_found_in_a_deleted_generation_after_it_was_pruned(journal: Journal) -> None:
    old = keyed(b"k")
    await store(journal, Item(old), Item(row("a", 2)), Item(row("a", 3, type=DELETED), DELETION))
    assert await journal.prune("checkout", "a", 100, 1_000) == 1
    assert await journal.row_of(b"k") == old
    await store(journal, Item(row("a", generation=101), Listing("Running")))
    assert await journal.row_of(b"k") == old


async def test_row_of_a_deletion_that_had_a_key_is_found(journal: Journal) -> None:
    deletion = keyed(b"k", "a", 2, type=DELETED)
    await store(journal, Item(row("a")), Item(deletion, DELETION))
    assert await journal.prune("checkout", "a", 100, 1_000) == 1
    assert await journal.row_of(b"k") == deletion


async def test_many_keys_asked_for_at_once_each_get_their_own(journal: Journal) -> None:
    rows = [keyed(str(number).encode(), f"i-{number}") for number in range(300)]
    for begin in (0, 150):
        assert await journal.append(list(map(Item, rows[begin : begin + 150]))) == [STORED] * 150
    found = await asyncio.gather(*(journal.row_of(str(number).encode()) for number in range(301)), journal.row_of(b"7"))
    assert found == [*rows, None, rows[7]]


async def test_rows_with_keys_are_in_the_order_of_the_keys(journal: Journal) -> None:
    first, second = keyed(b"s1", "a"), keyed(b"s2", "b")
    await store(journal, Item(first), Item(second))
    assert await journal.rows_with([b"s2", b"nothing", b"s1", b"s2"]) == [second, None, first, second]
    assert await journal.rows_with([]) == []
    assert await journal.rows_with([b"s1", *(b"n%d" % number for number in range(MAX_ITEMS - 1))]) == [first, *[None] * (MAX_ITEMS - 1)]


async def test_a_row_that_was_stored_is_found_by_its_key_at_once(journal: Journal) -> None:
    for number in range(50):
        one = keyed(str(number).encode(), f"i-{number}")
        await store(journal, Item(one))
        assert await journal.row_of(one.key or b"") == one


# --- rows_of -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        (b"s", [b"s", b"s\0", b"s\x01", b"s\xfe", b"s\xff", b"s\xff\xff", b"s\xff\xffz"]),
        (b"s\xff", [b"s\xff", b"s\xff\xff", b"s\xff\xffz"]),
        (b"s\xff\xff", [b"s\xff\xff", b"s\xff\xffz"]),
        (b"s\xff\xff\xff", []),
        (b"s\xfe", [b"s\xfe"]),
        (b"\xff", [b"\xff", b"\xff\xff\x01"]),
        (b"\xff\xff", [b"\xff\xff\x01"]),
        (b"t", [b"t"]),
        (b"u", []),
        (b"r", [b"r\xff"]),
        (b"", [b"r\xff", b"s", b"s\0", b"s\x01", b"s\xfe", b"s\xff", b"s\xff\xff", b"s\xff\xffz", b"t", b"\xff", b"\xff\xff\x01"]),
    ],
)
async def test_rows_of_a_prefix_are_those_whose_key_begins_with_it_by_key(journal: Journal, prefix: bytes, found: list[bytes]) -> None:
    names = [b"\xff\xff\x01", b"s\xff\xffz", b"t", b"s", b"s\x01", b"r\xff", b"\xff", b"s\0", b"s\xfe", b"s\xff\xff", b"s\xff"]
    rows = {name: keyed(name, name.hex()) for name in names}
    assert await journal.append([*map(Item, rows.values()), Item(row("without"))]) == [STORED] * (len(names) + 1)
    assert await journal.rows_of(prefix, 100) == [rows[name] for name in found]


async def test_rows_of_a_prefix_stop_at_their_limit(journal: Journal) -> None:
    rows = [keyed(b"s" + bytes([number]), f"i-{number}") for number in range(7)]
    await store(journal, *map(Item, reversed(rows)))
    assert await journal.rows_of(b"s", 3) == rows[:3]
    assert await journal.rows_of(b"s", 7) == rows


# --- forget_keys -------------------------------------------------------------------------------------------------------


async def test_forget_keys_takes_key_fingerprint_and_reply_off_older_rows_only(journal: Journal) -> None:
    rows = {name: keyed(name, name.decode(), at=at) for name, at in ((b"s1", 10), (b"s2", 99), (b"s3", 100), (b"s4", 5))}
    other = keyed(b"t1", "t1", at=10)
    await store(journal, *map(Item, rows.values()), Item(other))
    assert await journal.forget_keys(b"s", 100, b"", 10) is None
    assert await keys(journal, [*rows, b"t1"]) == [b"s3", b"t1"]
    assert await journal.read("checkout", "s1") == [without_key(rows[b"s1"])]
    assert await journal.read("checkout", "s3") == [rows[b"s3"]]
    assert await journal.rows_of(b"", 10) == [rows[b"s3"], other]
    # What was forgotten is free.
    await store(journal, Item(keyed(b"s1", "s1", 2)))


async def test_forget_keys_goes_page_by_page_in_order_of_keys(journal: Journal) -> None:
    """Of ten keys every third is old: each page looks at four, whatever it forgets."""
    names = [b"s" + bytes([number]) for number in (0, 1, 2, 127, 128, 200, 253, 254, 255)] + [b"s\xff\xff"]
    rows = [keyed(name, name.hex(), at=1 if number % 3 == 0 else 500) for number, name in enumerate(names)]
    await store(journal, *map(Item, reversed(rows)), Item(keyed(b"r", "before", at=1)), Item(keyed(b"t", "behind", at=1)))
    assert await journal.forget_keys(b"s", 100, b"", 4) == names[3]
    assert await keys(journal, names) == [name for number, name in enumerate(names) if number not in (0, 3)]
    assert await journal.forget_keys(b"s", 100, names[3], 4) == names[7]
    assert await journal.forget_keys(b"s", 100, names[7], 4) is None
    assert await keys(journal, [*names, b"r", b"t"]) == [*(name for number, name in enumerate(names) if number % 3), b"r", b"t"]
    assert await journal.forget_keys(b"s", 100, b"", 100) is None


async def test_forget_keys_says_that_there_are_no_more_with_a_full_last_page(journal: Journal) -> None:
    await store(journal, *(Item(keyed(b"s" + bytes([number]), str(number))) for number in range(4)))
    assert await journal.forget_keys(b"s", 0, b"", 2) == b"s\x01"
    assert await journal.forget_keys(b"s", 0, b"s\x01", 2) is None
    assert await journal.forget_keys(b"s", 0, b"s\x03", 2) is None
    assert await journal.forget_keys(b"s", 0, b"t", 2) is None
    assert await journal.forget_keys(b"x", 0, b"", 2) is None


async def test_forget_keys_begins_at_the_prefix_wherever_it_is_told_to_begin_before(journal: Journal) -> None:
    await store(journal, Item(keyed(b"r", "r", at=1)), Item(keyed(b"s", "s", at=1)))
    assert await journal.forget_keys(b"s", 100, b"a", 10) is None
    assert await keys(journal, [b"r", b"s"]) == [b"r"]


async def test_forget_keys_of_the_last_prefix_there_can_be(journal: Journal) -> None:
    await store(journal, Item(keyed(b"\xfe", "a", at=1)), Item(keyed(b"\xff\xff", "b", at=1)))
    assert await journal.forget_keys(b"\xff", 100, b"", 10) is None
    assert await keys(journal, [b"\xfe", b"\xff\xff"]) == [b"\xfe"]


async def test_forget_keys_leaves_the_row_that_set_the_state_its_state(journal: Journal) -> None:
    one = keyed(b"s", payload=b"state", at=1)
    await store(journal, Item(one), Item(row("a", 2)))
    await journal.forget_keys(b"s", 100, b"", 10)
    last = await journal.last("checkout", "a")
    assert last is not None
    assert last.state == without_key(one)


# W10: keyed rows stay until their retention, then they go as all others.
async def test_a_deleted_instance_goes_when_its_keys_were_forgotten(journal: Journal) -> None:
    deletion = row("a", 4, type=DELETED, at=20)
    kept = keyed(b"s1", "a", 2, at=10)
    await store(journal, Item(row("a", at=5)), Item(kept), Item(row("a", 3, at=15)), Item(deletion, DELETION))
    assert await journal.prune_leftovers(10) == 2
    assert await journal.forget(1_000, 10) == 0
    assert await journal.read("checkout", "a") == [kept, deletion]
    assert await journal.row_of(b"s1") == kept

    assert await journal.forget_keys(b"s", 10, b"", 10) is None, "10 is not older than 10"
    assert await journal.prune_leftovers(10) == 0
    assert await journal.forget_keys(b"s", 11, b"", 10) is None
    assert await journal.row_of(b"s1") is None
    assert await journal.prune_leftovers(10) == 1
    assert await journal.read("checkout", "a") == [deletion]
    assert await journal.forget(1_000, 10) == 1
    assert await journal.last("checkout", "a") is None


async def test_a_deletion_that_had_a_key_is_forgotten_after_its_key(journal: Journal) -> None:
    await store(journal, Item(row("a")), Item(keyed(b"s1", "a", 2, type=DELETED, at=20), DELETION))
    assert await journal.forget(1_000, 10) == 0
    await journal.forget_keys(b"", 1_000, b"", 10)
    assert await journal.forget(1_000, 10) == 1


async def test_a_key_in_an_older_generation_keeps_a_deleted_instance(journal: Journal) -> None:
    await store(journal, Item(keyed(b"s1")), Item(row("a", 2, type=DELETED), DELETION))
    await store(journal, Item(row("a", generation=101)), Item(row("a", 2, generation=101, type=DELETED), DELETION))
    assert await journal.forget(1_000, 10) == 0
    await journal.forget_keys(b"s", 1_000, b"", 10)
    assert await journal.forget(1_000, 10) == 1
    assert await journal.read("checkout", "a") == []


async def test_rows_of_a_generation_that_another_has_followed_go_with_their_keys(journal: Journal) -> None:
    deletion = keyed(b"s3", "a", 3, type=DELETED)
    await store(journal, Item(keyed(b"s1")), Item(keyed(b"s2", "a", 2)), Item(deletion, DELETION))
    living = [keyed(b"s4", "a", generation=101), keyed(b"s5", "a", 2, generation=101, at=99_999)]
    await store(journal, *(Item(one, Listing("active")) for one in living))
    await journal.forget_keys(b"s", 1_000, b"", 10)
    left = await journal.read("checkout", "a")
    assert [(one.generation, one.sequence, one.key) for one in left] == [(100, 3, None), (101, 1, None), (101, 2, b"s5")]
    assert await journal.last("checkout", "a") == Last(living[1], None)


async def test_forgetting_is_not_the_owners_alone(opened: Opened) -> None:
    """A key's age counts whoever wrote it: rows of an earlier start are forgotten like the others."""
    await store(opened.journal, Item(keyed(b"s1", at=1)))
    await opened.leases.take()
    assert await opened.journal.forget_keys(b"s", 100, b"", 10) is None
    assert await opened.journal.row_of(b"s1") is None
