"""The contract of leases: epochs that only rise, incarnations never seen before, and who ran here before."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from ankka_sidecar.adapters.journal.memory import MemoryJournal
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.adapters.leases.memory import MemoryLeases
from ankka_sidecar.ports.leases import AttachedProcess, Leases

PROCESSES = (AttachedProcess("boot-1", "here", 4_711, "17.5"), AttachedProcess("boot-2", "here", 4_712, "18.5"))

NewNode = Callable[[], Leases]


@pytest.fixture(params=["memory", "sqlite"])
async def new_node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[NewNode]:
    """Makes the leases as the next node of the same journal has them."""
    if request.param == "memory":
        memory = MemoryJournal(shards=16)
        yield lambda: MemoryLeases(memory)
    else:
        sqlite = await SqliteJournal.open(tmp_path / "journal.db", shards=16)
        yield sqlite.leases
        await sqlite.close()


async def test_take_owns_all_shards_under_the_first_epoch(new_node: NewNode) -> None:
    assert (await new_node().take()).epochs == dict.fromkeys(range(16), 1)


async def test_each_take_is_a_new_incarnation_under_a_higher_epoch(new_node: NewNode) -> None:
    leases = new_node()
    taken = [await leases.take(), await new_node().take(), await leases.take()]
    assert [ownership.epochs[5] for ownership in taken] == [1, 2, 3]
    assert len({ownership.incarnation for ownership in taken}) == 3
    assert all(len(ownership.incarnation) >= 16 for ownership in taken)


async def test_take_answers_the_processes_the_last_owner_noted(new_node: NewNode) -> None:
    first = new_node()
    assert (await first.take()).processes == ()
    await first.note_processes(PROCESSES[:1])
    await first.note_processes(PROCESSES)
    second = new_node()
    assert (await second.take()).processes == PROCESSES
    await second.note_processes(())
    assert (await new_node().take()).processes == ()


# A node that dies before it has noted any process must not hide those that still run steps.
async def test_what_the_last_owner_noted_outlives_an_owner_that_noted_nothing(new_node: NewNode) -> None:
    first = new_node()
    await first.take()
    await first.note_processes(PROCESSES)
    assert (await new_node().take()).processes == PROCESSES
    assert (await new_node().take()).processes == PROCESSES


async def test_release_keeps_what_was_noted_and_the_epoch(new_node: NewNode) -> None:
    first = new_node()
    await first.take()
    await first.note_processes(PROCESSES)
    await first.release()
    ownership = await new_node().take()
    assert ownership.processes == PROCESSES
    assert ownership.epochs[0] == 2


async def test_an_earlier_owner_changes_nothing_any_more(new_node: NewNode) -> None:
    first, second = new_node(), new_node()
    await first.take()
    await second.take()
    await second.note_processes(PROCESSES)
    await first.note_processes(())
    await first.release()
    assert (await new_node().take()).processes == PROCESSES
