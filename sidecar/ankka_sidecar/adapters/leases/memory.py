"""Leases of a journal in memory: one node owns everything, as with SQLite."""

import secrets
from collections.abc import Callable
from typing import Protocol

from ankka_sidecar.ports.leases import AttachedProcess, Ownership


class Owned(Protocol):
    """What the leases need of the journal they fence: `MemoryJournal` has it."""

    def own(self, incarnation: str) -> tuple[dict[int, int], tuple[AttachedProcess, ...]]:
        """Give everything to `incarnation`."""
        ...

    def note(self, incarnation: str, processes: tuple[AttachedProcess, ...]) -> None:
        """Note its processes."""
        ...

    def disown(self, incarnation: str) -> None:
        """Take everything back."""
        ...


def random_incarnation() -> str:
    """A name no other start of a node has."""
    return secrets.token_hex(8)


class MemoryLeases:
    """The lease port of one node over a `MemoryJournal`; the next node of the journal makes its own.

    `incarnation` names each `take`; a simulation passes a source of its own, so that its seed fixes the names too.
    """

    def __init__(self, journal: Owned, incarnation: Callable[[], str] = random_incarnation) -> None:
        self._journal = journal
        self._new_incarnation = incarnation
        self._incarnation = ""

    async def take(self) -> Ownership:
        self._incarnation = self._new_incarnation()
        epochs, processes = self._journal.own(self._incarnation)
        return Ownership(self._incarnation, epochs, processes)

    async def note_processes(self, processes: tuple[AttachedProcess, ...]) -> None:
        self._journal.note(self._incarnation, processes)

    async def release(self) -> None:
        self._journal.disown(self._incarnation)
