"""A journal in memory, for kits and simulations: every promise of the port except that it outlives its process.

It takes and answers at once, so a test that wants delay or loss wraps it or uses its fault points. It survives the
restart of a node inside one process: the new node takes the leases of the same journal again, and the old one's appends
are fenced.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ankka_sidecar.adapters.journal.memory.keys import KeyedRows
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import (
    DELETED,
    MAX_ITEMS,
    Found,
    Item,
    JournalUnavailable,
    JournalUncertain,
    Last,
    Outcome,
    Page,
    Query,
    Row,
    Snapshot,
)
from ankka_sidecar.ports.leases import AttachedProcess
from ankka_sidecar.ports.paging import page_of, position_of

_INTEGERS: Final = range(-(2**63), 2**63)


class MemoryJournal:
    """The journal port over dictionaries.

    >>> import asyncio
    >>> journal = MemoryJournal(shards=16)
    >>> asyncio.run(journal.last("checkout", "c-1")) is None
    True
    """

    def __init__(self, shards: int = 256, faults: Faults | None = None) -> None:
        self.shards = shards
        self._schemas: dict[tuple[str, str], int] = {}
        self._faults = faults
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self._keyed = KeyedRows()
        self._states: dict[tuple[str, str], Row | None] = {}
        self._found: dict[tuple[str, str], Found] = {}
        self._snapshots: dict[tuple[str, str, int], Snapshot] = {}
        self._epoch = 0
        self._owner: str | None = None
        self._processes: tuple[AttachedProcess, ...] = ()
        self._closed = False

    # --- ownership, for the leases of this journal -----------------------------------------------------------------

    def own(self, incarnation: str) -> tuple[dict[int, int], tuple[AttachedProcess, ...]]:
        """Give all shards to `incarnation` under the next epoch; answers the epochs and the processes noted last."""
        self._check_open()
        self._epoch += 1
        self._owner = incarnation
        return dict.fromkeys(range(self.shards), self._epoch), self._processes

    def note(self, incarnation: str, processes: tuple[AttachedProcess, ...]) -> None:
        """Note the processes of `incarnation`; nothing if it is no longer the owner."""
        self._check_open()
        if self._owner == incarnation:
            self._processes = processes

    def disown(self, incarnation: str) -> None:
        """Take the shards back from `incarnation`; nothing if it is no longer the owner."""
        if self._owner == incarnation:
            self._owner = None

    # --- the port --------------------------------------------------------------------------------------------------

    async def append(self, items: Sequence[Item]) -> list[Outcome]:
        if len(items) > MAX_ITEMS or len({(item.row.component, item.row.instance) for item in items}) < len(items):
            raise ValueError(f"an append of {len(items)} items: expected at most {MAX_ITEMS}, each of another instance")
        self._check_open()
        outcomes = self._outcomes_of(items)
        stored = [item for item, outcome in zip(items, outcomes, strict=True) if outcome is Outcome.STORED]
        try:
            if any(item.listing is not None for item in stored):
                self._point("listing.before")
            self._point("commit.before")
        except Exception as error:  # a fault point raises what it likes; the port knows two outcomes
            raise JournalUnavailable(f"nothing was written: {error}") from error
        for item in stored:
            self._store(item)
        try:
            self._point("commit.after")
        except Exception as error:
            raise JournalUncertain(f"the fate of {len(items)} items is unknown: {error}") from error
        return outcomes

    async def last(self, component: str, instance: str) -> Last | None:
        self._check_open()
        rows = self._rows.get((component, instance))
        if rows is None:
            return None
        return Last(rows[-1], self._states[component, instance])

    async def ends(self, instances: Sequence[tuple[str, str]]) -> list[Last | None]:
        return [await self.last(component, instance) for component, instance in instances]

    async def read(self, component: str, instance: str, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[Row]:
        self._check_open()
        rows = self._rows.get((component, instance), [])
        return [row for row in rows if (row.generation, row.sequence) > after][:limit]

    async def generations(self, component: str, instance: str) -> list[int]:
        self._check_open()
        return sorted({row.generation for row in self._rows.get((component, instance), ())}, reverse=True)

    async def snapshot_of(self, component: str, instance: str, generation: int) -> Snapshot | None:
        self._check_open()
        return self._snapshots.get((component, instance, generation))

    async def put_snapshot(self, snapshot: Snapshot) -> bool:
        self._check_open()
        key = (snapshot.component, snapshot.instance, snapshot.generation)
        there = self._snapshots.get(key)
        if not self._owned(snapshot.shard, snapshot.epoch) or (there is not None and there.sequence > snapshot.sequence):
            return False
        self._snapshots[key] = snapshot
        return True

    async def find(self, query: Query) -> Page:
        position = position_of(query)
        self._check_open()
        found = [
            self._found[key]
            for key in sorted(self._found)  # code points sort as their UTF-8 does, which is how databases sort ids
            if (position is None or key > position) and _matches(self._found[key], query)
        ]
        return page_of(found[: query.limit + 1], query.limit)

    async def due(self, before: int, limit: int) -> list[tuple[str, str]]:
        self._check_open()
        due = [
            (found.listing.deadline, *key)
            for key, found in self._found.items()
            if found.listing.deadline is not None and found.listing.deadline <= before
        ]
        return [(component, instance) for _, component, instance in sorted(due)[:limit]]

    async def row_of(self, key: bytes) -> Row | None:
        self._check_open()
        return self._keyed.get(key)

    async def rows_with(self, keys: Sequence[bytes]) -> list[Row | None]:
        self._check_open()
        return [self._keyed.get(key) for key in keys]

    async def rows_of(self, prefix: bytes, limit: int) -> list[Row]:
        self._check_open()
        return self._keyed.behind(prefix, None, limit)

    async def forget_keys(self, prefix: bytes, before: int, after: bytes, limit: int) -> bytes | None:
        self._check_open()
        rows = self._keyed.behind(prefix, after, limit + 1)
        seen = rows[:limit]
        for row in seen:
            if row.at < before:
                self._forget_key(row)
                place = (row.component, row.instance)
                if row.type != DELETED and row.generation < self._rows[place][-1].generation:
                    self._rows[place] = [one for one in self._rows[place] if (one.generation, one.sequence) != (row.generation, row.sequence)]
        return seen[-1].key if len(rows) > limit else None

    async def see_schemas(self, schemas: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        self._check_open()
        for schema in schemas:
            self._schemas.setdefault(schema, len(self._schemas) + 1)
        return dict(self._schemas)

    async def prune(self, component: str, instance: str, generation: int, limit: int) -> int:
        self._check_open()
        rows = self._rows.get((component, instance), [])
        of_generation = [row for row in rows if row.generation == generation]
        if not of_generation or of_generation[-1].type != DELETED:
            return 0
        gone = [row.sequence for row in of_generation[:-1] if row.key is None][:limit]
        self._rows[component, instance] = [row for row in rows if row.generation != generation or row.sequence not in gone]
        self._snapshots.pop((component, instance, generation), None)
        return len(gone)

    async def trim(self, component: str, instance: str, generation: int, after: int, limit: int) -> int:
        self._check_open()
        rows = self._rows.get((component, instance), [])
        state = self._states.get((component, instance))
        old = [
            row.sequence
            for row in rows
            if row.generation == generation and 1 < row.sequence < min(after, rows[-1].sequence) and row.key is None and row is not state
        ][:limit]
        self._rows[component, instance] = [row for row in rows if row.generation != generation or row.sequence not in old]
        return len(old)

    async def prune_leftovers(self, limit: int) -> int:
        gone = 0
        for (component, instance), found in self._found.items():
            if found.listing.status == DELETED and gone < limit:
                gone += await self.prune(component, instance, found.generation, limit - gone)
        return gone

    async def forget(self, before: int, limit: int) -> int:
        self._check_open()
        old = [key for key, found in self._found.items() if found.listing.status == DELETED and found.updated_at < before]
        gone = [key for key in old if all(row.key is None for row in self._rows[key])][:limit]
        for key in gone:
            del self._rows[key], self._states[key], self._found[key]
        return len(gone)

    async def close(self) -> None:
        self._closed = True

    # --- beneath ---------------------------------------------------------------------------------------------------

    def _outcomes_of(self, items: Sequence[Item]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        new: set[bytes] = set()
        for item in items:
            outcome, key = self._outcome_of(item), item.row.key
            if outcome is Outcome.STORED and key is not None:
                if not item.forgets and (key in new or self._keyed.get(key) is not None):
                    outcome = Outcome.CONFLICT
                else:
                    new.add(key)
            outcomes.append(outcome)
        return outcomes

    def _outcome_of(self, item: Item) -> Outcome:
        """What becomes of it, its key aside."""
        row = item.row
        if not self._owned(row.shard, row.epoch):
            return Outcome.FENCED
        if not (_storable(row) and (item.listing is None or _storable(item.listing))):
            return Outcome.REFUSED
        rows = self._rows.get((row.component, row.instance))
        if row.sequence == 1:
            follows = rows is None or rows[-1].generation < row.generation
        else:
            follows = rows is not None and (rows[-1].generation, rows[-1].sequence) == (row.generation, row.sequence - 1)
        return Outcome.STORED if follows else Outcome.CONFLICT

    def _store(self, item: Item) -> None:
        row = item.row
        key = (row.component, row.instance)
        too_old = self._keyed.get(row.key) if item.forgets else None
        if too_old is not None:
            self._forget_key(too_old)
        self._rows.setdefault(key, []).append(row)
        self._keyed.add(row)
        if row.type == DELETED or (row.payload is None and row.sequence == 1):
            self._states[key] = None
        elif row.payload is not None:
            self._states[key] = row
        there = self._found.get(key)
        if item.listing is not None:
            listing = item.listing
        elif there is not None:
            listing = msgspec.structs.replace(there.listing, step=item.step)
        else:
            return
        self._found[key] = Found(*key, row.generation, row.sequence, row.shard, row.at, listing)

    def _forget_key(self, row: Row) -> None:
        if row.key is None:
            return
        self._keyed.remove(row.key)
        place = (row.component, row.instance)
        without = msgspec.structs.replace(row, key=None, fingerprint=None, reply=None)
        self._rows[place] = [without if one is row else one for one in self._rows[place]]
        if self._states[place] is row:
            self._states[place] = without

    def _owned(self, shard: int, epoch: int) -> bool:
        return self._owner is not None and epoch == self._epoch and 0 <= shard < self.shards

    def _point(self, name: str) -> None:
        if self._faults is not None:
            self._faults.point(name)

    def _check_open(self) -> None:
        if self._closed:
            raise JournalUnavailable("the journal in memory is closed")


def _storable(struct: msgspec.Struct) -> bool:
    """Whether a database could hold it: the kits must refuse what production would."""
    for value in msgspec.structs.astuple(struct):
        if isinstance(value, int) and value not in _INTEGERS:
            return False
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                return False
    return True


def _matches(found: Found, query: Query) -> bool:
    listing = found.listing
    return (
        (query.component is None or found.component == query.component)
        and (listing.status != DELETED if query.status is None else listing.status == query.status)
        and (query.step is None or listing.step == query.step)
        and (query.since is None or found.updated_at >= query.since)
        and (query.failure is None or (listing.failure is not None and query.failure.casefold() in listing.failure.casefold()))
    )
