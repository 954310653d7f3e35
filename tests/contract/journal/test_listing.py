"""The contract of listings: `find`, its filters and pages, `due`, and what reaches a listing lazily."""

import asyncio

import pytest
from ankka_sidecar.ports.journal import Found, InvalidQuery, Journal, Listing, Query

from tests.contract.journal.rows import item, store


async def names(journal: Journal, **filters: object) -> list[str]:
    """The instances a query finds."""
    page = await journal.find(Query(**filters))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    return [found.instance for found in page.items]


async def test_a_listing_comes_back_as_it_was_stored(journal: Journal) -> None:
    listing = Listing("Failed", deadline=17, step="charge", failure="step 'charge' failed", run=3)
    await store(journal, item("a", 1, listing=listing))
    assert await journal.find(Query()) == (await journal.find(Query(component="checkout")))
    assert (await journal.find(Query())).items == (Found("checkout", "a", 100, 1, 7, 1, listing),)


async def test_the_newest_listing_counts(journal: Journal) -> None:
    await store(
        journal, item("a", 1, listing=Listing("Running", deadline=5, step="x", failure="f", run=1)), item("a", 2, listing=Listing("Completed"))
    )
    assert (await journal.find(Query())).items == (Found("checkout", "a", 100, 2, 7, 2, Listing("Completed")),)


async def test_a_new_generation_takes_over_the_listing(journal: Journal) -> None:
    await store(journal, item("a", 1, type="deleted", listing=Listing("deleted")), item("a", 1, generation=101, listing=Listing("Running")))
    found = (await journal.find(Query())).items
    assert [(one.generation, one.listing.status) for one in found] == [(101, "Running")]


async def test_what_was_appended_without_a_listing_is_in_none(journal: Journal) -> None:
    await store(journal, item("a", 1, step="x"))
    assert (await journal.find(Query())).items == ()


async def test_step_and_instant_reach_the_listing_without_another_append(journal: Journal) -> None:
    await store(
        journal, item("a", 1, listing=Listing("Running", step="reserve", run=1)), item("a", 2, step="charge", at=50), item("a", 3, step="ship", at=60)
    )
    expected = Found("checkout", "a", 100, 3, 7, 60, Listing("Running", step="ship", run=1))
    deadline = asyncio.get_running_loop().time() + 10  # 1 s is promised; a machine under load is given more
    while (found := (await journal.find(Query())).items) != (expected,):
        assert asyncio.get_running_loop().time() < deadline, found
        await asyncio.sleep(0.01)  # nothing tells that it is there but the listing itself


async def test_filters_narrow_and_combine(journal: Journal) -> None:
    await store(
        journal,
        item("a", listing=Listing("Running", step="reserve"), at=10),
        item("b", listing=Listing("Paused", step="wait"), at=20),
        item("c", listing=Listing("Failed", step="charge", failure="payment declined"), at=30),
        item("d", component="cart", listing=Listing("active"), at=40),
    )
    assert await names(journal) == ["d", "a", "b", "c"]
    assert await names(journal, component="checkout") == ["a", "b", "c"]
    assert await names(journal, status="Running") == ["a"]
    assert await names(journal, status="Paused") == ["b"]
    assert await names(journal, status="Failed") == ["c"]
    assert await names(journal, status="running") == []
    assert await names(journal, step="wait") == ["b"]
    assert await names(journal, since=20) == ["d", "b", "c"]
    assert await names(journal, failure="declined") == ["c"]
    assert await names(journal, component="checkout", since=20, status="Paused") == ["b"]
    assert await names(journal, component="cart", status="Paused") == []


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("100%", ["a"]),
        ("%", ["a"]),
        ("_", ["b"]),
        ("ÜBERZOGEN", ["c"]),
        ("konto Über", ["c"]),
        ("\\", ["d"]),
        ("'", ["d"]),
        ("", ["a", "b", "c", "d"]),
        ("none of them", []),
    ],
)
async def test_the_failure_filter_takes_text_as_it_is_in_any_case(journal: Journal, part: str, found: list[str]) -> None:
    failures = {"a": "at 100% of the limit", "b": "snake_case", "c": "Konto überzogen", "d": "it's C:\\temp", "e": None}
    for name, failure in failures.items():
        await store(journal, item(name, listing=Listing("Failed", failure=failure)))
    assert await names(journal, failure=part) == found


async def test_pages_follow_each_other_ordered_by_component_and_instance(journal: Journal) -> None:
    ids = sorted(
        [("checkout", f"i-{number}") for number in range(7)]
        + [("cart", "z"), ("cart", "Z"), ("cart", "ä"), ("cart", "\U0001f986"), ("cart", "\ufffd")]
    )
    for component, instance in reversed(ids):
        await store(journal, item(instance, component=component, listing=Listing("Running")))
    for status in (None, "Running"):
        seen: list[tuple[str, str]] = []
        after: str | None = None
        pages = 0
        while True:
            page = await journal.find(Query(status=status, limit=5, after=after))
            seen.extend((found.component, found.instance) for found in page.items)
            pages += 1
            after = page.next
            if after is None:
                break
        assert seen == ids
        assert pages == 3


async def test_the_last_page_has_no_next_even_when_it_is_full(journal: Journal) -> None:
    await store(journal, item("a", listing=Listing("Running")), item("b", listing=Listing("Running")))
    assert (await journal.find(Query(limit=2))).next is None
    assert (await journal.find(Query(limit=1))).next is not None


@pytest.mark.parametrize("after", ["", "nonsense", "zz", b'["a"]'.hex(), b"[1, 2]".hex(), "\ud800", "00"])
async def test_a_foreign_cursor_is_refused(journal: Journal, after: str) -> None:
    with pytest.raises(InvalidQuery, match="pass a page's `next` unchanged"):
        await journal.find(Query(after=after))


@pytest.mark.parametrize("limit", [0, -1, 1_001])
async def test_a_limit_outside_its_bounds_is_refused(journal: Journal, limit: int) -> None:
    with pytest.raises(InvalidQuery, match=f"limit {limit}: expected 1 to 1000"):
        await journal.find(Query(limit=limit))


# I9
async def test_due_is_what_has_a_deadline_at_or_before_the_instant_overdue_first(journal: Journal) -> None:
    await store(
        journal,
        item("later", listing=Listing("Paused", deadline=101)),
        item("now", listing=Listing("Paused", deadline=100)),
        item("over", shard=3, listing=Listing("Running", deadline=5)),
        item("none", listing=Listing("Running")),
    )
    assert await journal.due(100, 10) == [("checkout", "over"), ("checkout", "now")]
    assert await journal.due(100, 1) == [("checkout", "over")]
    assert await journal.due(4, 10) == []
    await store(journal, item("over", 2, shard=3, listing=Listing("Completed")))
    assert await journal.due(200, 10) == [("checkout", "now"), ("checkout", "later")]
