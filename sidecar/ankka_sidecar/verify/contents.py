"""What is verified: a journal as one consistent moment shows it, in the order of its instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from ankka_sidecar.ports.journal import Found, Row, Snapshot


class Unreadable(Exception):
    """The journal's contents cannot be read on from here; the message says why and what to do."""


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """A row, and the sequence its journal notes as that of the last state (`UNSET` where the journal notes none).

    Of the payload only whether it is there is looked at, so a reader may put `b""` for any value.
    """

    row: Row
    state_sequence: int | msgspec.UnsetType | None = msgspec.UNSET


class KeyPlace(msgspec.Struct, frozen=True, gc=False):
    """Where a row with an idempotency key is."""

    component: str
    instance: str
    generation: int
    sequence: int


class Contents(Protocol):
    """A journal at one moment. What iterates goes by component and instance, in the order of their bytes in UTF-8."""

    @property
    def shards(self) -> int:
        """How many shards the journal was made with."""
        ...

    @property
    def epochs(self) -> Mapping[int, int]:
        """The present epoch of each shard; empty where it is not known."""
        ...

    @property
    def schemas(self) -> Mapping[str, frozenset[str]]:
        """The schema fingerprints seen of each component; a component that is missing is not checked."""
        ...

    def rows(self) -> Iterator[StoredRow]:
        """All rows: of an instance by generation and sequence, twice what is there twice. May raise `Unreadable`."""
        ...

    def listings(self) -> Iterator[Found]:
        """All listings, of deleted instances too. May raise `Unreadable`."""
        ...

    def snapshots(self) -> Iterator[Snapshot]:
        """All snapshots; their payload may be left out. May raise `Unreadable`."""
        ...

    def shared_keys(self) -> Iterator[tuple[bytes, Sequence[KeyPlace]]]:
        """Each idempotency key that more than one row has, with their places in order. May raise `Unreadable`."""
        ...


class Given:
    """Contents from lists, in whatever order: for journals in memory, and for tests."""

    def __init__(
        self, rows: Iterable[Row | StoredRow], listings: Iterable[Found], shards: int, *, snapshots: Iterable[Snapshot] = (),
        epochs: Mapping[int, int] | None = None, schemas: Mapping[str, Iterable[str]] | None = None,
    ) -> None:  # fmt: skip
        """Plain rows have no noted `state_sequence`."""
        stored = [row if isinstance(row, StoredRow) else StoredRow(row) for row in rows]
        self._rows = sorted(stored, key=lambda one: (one.row.component, one.row.instance, one.row.generation, one.row.sequence))
        self._listings = sorted(listings, key=lambda one: (one.component, one.instance))
        self._snapshots = sorted(snapshots, key=lambda one: (one.component, one.instance, one.generation))
        self._shards = shards
        self._epochs = epochs or {}
        self._schemas = {component: frozenset(known) for component, known in (schemas or {}).items()}

    @property
    def shards(self) -> int:
        return self._shards

    @property
    def epochs(self) -> Mapping[int, int]:
        return self._epochs

    @property
    def schemas(self) -> Mapping[str, frozenset[str]]:
        return self._schemas

    def rows(self) -> Iterator[StoredRow]:
        return iter(self._rows)

    def listings(self) -> Iterator[Found]:
        return iter(self._listings)

    def snapshots(self) -> Iterator[Snapshot]:
        return iter(self._snapshots)

    def shared_keys(self) -> Iterator[tuple[bytes, Sequence[KeyPlace]]]:
        places: dict[bytes, list[KeyPlace]] = {}
        for row in (stored.row for stored in self._rows):
            if row.key is not None:
                places.setdefault(row.key, []).append(KeyPlace(row.component, row.instance, row.generation, row.sequence))
        return ((key, of_key) for key, of_key in sorted(places.items()) if len(of_key) > 1)


class Scene(msgspec.Struct, frozen=True, gc=False):
    """An instance that is about to be checked, and what is stored of it beside its rows."""

    component: str
    instance: str
    listing: Found | None
    snapshots: Sequence[Snapshot]
