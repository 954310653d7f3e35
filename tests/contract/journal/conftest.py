"""The journals that have to hold the contract, each new, with all shards taken under epoch 1."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from ankka_sidecar.adapters.faults import FaultAt, NoFaults
from ankka_sidecar.adapters.journal.memory import MemoryJournal
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.adapters.leases.memory import MemoryLeases
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import Journal
from ankka_sidecar.ports.leases import Leases


@dataclass
class Opened:
    """A journal, its leases, and how a second node would see the leases."""

    journal: Journal
    leases: Leases
    next_leases: Callable[[], Leases]


async def _open(kind: str, folder: Path, faults: Faults) -> Opened:
    if kind == "memory":
        memory = MemoryJournal(shards=16, faults=faults)
        return Opened(memory, MemoryLeases(memory), lambda: MemoryLeases(memory))
    sqlite = await SqliteJournal.open(folder / "journal.db", shards=16, faults=faults)
    return Opened(sqlite, sqlite.leases(), sqlite.leases)


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """The adapter under test."""
    return str(request.param)


@pytest.fixture
async def untaken(kind: str, tmp_path: Path) -> AsyncIterator[Opened]:
    """A journal whose leases nobody has taken."""
    opened = await _open(kind, tmp_path, NoFaults())
    yield opened
    await opened.journal.close()


@pytest.fixture
async def opened(untaken: Opened) -> Opened:
    """A journal whose shards are owned under epoch 1."""
    await untaken.leases.take()
    return untaken


@pytest.fixture
def journal(opened: Opened) -> Journal:
    """The journal of `opened`."""
    return opened.journal


@pytest.fixture
async def open_with_faults(kind: str, tmp_path: Path) -> AsyncIterator[Callable[[str], Awaitable[Journal]]]:
    """Opens a journal, owned under epoch 1, that fails where a fault specification says."""
    journals: list[Journal] = []

    async def open_journal(spec: str) -> Journal:
        opened = await _open(kind, tmp_path, FaultAt.parse(spec))
        journals.append(opened.journal)
        await opened.leases.take()
        return opened.journal

    yield open_journal
    for journal in journals:
        await journal.close()
