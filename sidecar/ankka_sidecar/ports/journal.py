"""The journal: where every effect is, durably, before anyone hears of it.

One row is one effect of one instance; (component, instance, generation, sequence) names it, without gaps (I1).
Instants are µs since the epoch, UTC.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol

import msgspec

DELETED: Final = "deleted"
"""The `type` of a row that ends its generation: the instance was deleted."""

MAX_ITEMS: Final = 256
"""Items of one append at most."""

MAX_PAGE: Final = 1_000
"""Instances on one page of a listing at most."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """One effect in the journal, as it is stored.

    `event` is the encoded event (for an entity: the effect with its events), `type` its name for people. `record` is
    the instance's record after it. `payload` is the state the effect set, if it set one, as the process encoded it,
    with its content type and manifest; `schema` the fingerprint of the schema that wrote it. `effect` is unique per
    effect: after an uncertain commit it tells whether the row is ours. `key`, `fingerprint` and `reply` belong to a
    command with an idempotency key; no two rows have the same key (I4). Numbers fit in 64 bits with sign. A deletion's `type` is `DELETED`.
    """

    component: str
    instance: str
    generation: int
    sequence: int
    effect: int
    at: int
    shard: int
    epoch: int
    type: str
    event: bytes
    record: bytes
    payload: bytes | None = None
    content_type: str = ""
    manifest: str = ""
    schema: str = ""
    trace: str | None = None
    key: bytes | None = None
    fingerprint: bytes | None = None
    reply: bytes | None = None


class Listing(msgspec.Struct, frozen=True, gc=False):
    """What lists and finds an instance: its row in `instance`, a cache that the journal can rebuild.

    `status` is a workflow's (`Running`, …), `active` or `deleted` for an entity. `deadline` is the earliest instant at
    which something is due. `step`, `failure` and `run` are for people and filters.
    """

    status: str
    deadline: int | None = None
    step: str | None = None
    failure: str | None = None
    run: int = 0


class Item(msgspec.Struct, frozen=True, gc=False):
    """One effect to append. `listing` is given where status or deadline changed, else `None`.

    `step` is the pending step after it: without a listing, it and the instant reach the listing lazily (within 1 s),
    because an upsert with every effect would halve the throughput. `forgets` says that the row with this key, if there
    still is one, is too old to count: its key, fingerprint and reply go in the same transaction.
    """

    row: Row
    listing: Listing | None = None
    step: str | None = None
    forgets: bool = False


class Outcome(Enum):
    """What became of one item of an append."""

    STORED = "stored"
    CONFLICT = "conflict"
    """Right epoch, but the row's sequence is not the next one, or another row has its key."""
    FENCED = "fenced"
    """The shard has another epoch, or this node does not own it."""
    REFUSED = "refused"
    """The database cannot hold the item (text that is not Unicode, too large): storing it again fails again."""


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """A cache of a fold: an entity's state after `sequence`, always deletable."""

    component: str
    instance: str
    generation: int
    sequence: int
    shard: int
    epoch: int
    payload: bytes
    content_type: str
    manifest: str
    version: int


class Last(msgspec.Struct, frozen=True):
    """The end of an instance's journal: its newest row, and the row that last set the state (may be the same).

    For a deleted instance the newest row is the deletion; `state` is then `None`.
    """

    row: Row
    state: Row | None


class Found(msgspec.Struct, frozen=True):
    """One instance in a listing."""

    component: str
    instance: str
    generation: int
    sequence: int
    shard: int
    updated_at: int
    listing: Listing


class Query(msgspec.Struct, frozen=True):
    """A filter over instances; what is `None` does not filter, but deleted ones are only found by their status.

    `failure` is a part of the text, any case. `since` is an instant: only what was updated at or after it. `after`
    continues behind a page's `next`.
    """

    component: str | None = None
    status: str | None = None
    step: str | None = None
    since: int | None = None
    failure: str | None = None
    limit: int = 100
    after: str | None = None


class Page(msgspec.Struct, frozen=True):
    """A page of a listing, ordered by component and instance; `next` is `None` on the last one."""

    items: tuple[Found, ...]
    next: str | None = None


class InvalidQuery(ValueError):
    """A query's limit or cursor cannot be; the message shows it."""


class CannotOpen(Exception):
    """The journal cannot be opened: path, file or version. The message says why and what to do; nothing was changed."""


class JournalLocked(CannotOpen):
    """Another sidecar has the journal open. `pid` and `http` are that sidecar's, as far as they are known."""

    def __init__(self, message: str, pid: int | None = None, http: str | None = None) -> None:
        """`http` is the URL the holder serves, `None` while it starts."""
        super().__init__(message)
        self.pid = pid
        self.http = http


class JournalUnavailable(Exception):
    """The journal did not do it: nothing was written, a retry is safe."""


class JournalUncertain(Exception):
    """The journal may or may not have done it: reload and look for the effect id before anything else."""


class Journal(Protocol):
    """The port every journal adapter implements. All methods may raise `JournalUnavailable`."""

    async def append(self, items: Sequence[Item]) -> list[Outcome]:
        """Store each item atomically (its row and its listing), in order, and say per item what became of it.

        Durable when it returns. One bad item fails alone. An item is the next one if it follows its instance's newest
        row: the next sequence of that row's generation, or sequence 1 of a higher generation. At most `MAX_ITEMS`
        items and one item per instance in a call, else `ValueError`. Raises `JournalUncertain` when a commit's fate
        is unknown.
        """
        ...

    async def last(self, component: str, instance: str) -> Last | None:
        """The end of an instance's journal, of its newest generation; `None` if there never was a row."""
        ...

    async def ends(self, instances: Sequence[tuple[str, str]]) -> list[Last | None]:
        """`last` of many (component, instance) at once, in their order; at most `MAX_ITEMS`."""
        ...

    async def read(self, component: str, instance: str, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[Row]:
        """Rows behind (generation, sequence), in order, over all generations still there."""
        ...

    async def generations(self, component: str, instance: str) -> list[int]:
        """The generations of an instance of which rows are still there, the newest first."""
        ...

    async def snapshot_of(self, component: str, instance: str, generation: int) -> Snapshot | None:
        """The newest snapshot of that generation."""
        ...

    async def put_snapshot(self, snapshot: Snapshot) -> bool:
        """Store a snapshot; never replaces a higher sequence, never with an old epoch. False: it was not stored.

        The newest of each generation is kept; it goes when the generation is pruned.
        """
        ...

    async def find(self, query: Query) -> Page:
        """Instances by filter, deleted ones too. `InvalidQuery` for a limit outside 1..`MAX_PAGE` or a foreign cursor."""
        ...

    async def due(self, before: int, limit: int) -> list[tuple[str, str]]:
        """(component, instance) of those whose deadline is at or before that instant, overdue first."""
        ...

    async def row_of(self, key: bytes) -> Row | None:
        """The row a command with that key left, of any generation, deleted ones too."""
        ...

    async def rows_with(self, keys: Sequence[bytes]) -> list[Row | None]:
        """`row_of` of many at once, in their order; at most `MAX_ITEMS`."""
        ...

    async def rows_of(self, prefix: bytes, limit: int) -> list[Row]:
        """The rows, at most `limit`, whose key begins with `prefix`, by key."""
        ...

    async def forget_keys(self, prefix: bytes, before: int, after: bytes, limit: int) -> bytes | None:
        """Take key, fingerprint and reply off rows whose key begins with `prefix` and that are older than `before`.

        Looks at the next `limit` keys behind `after`, in order of keys; answers the last one looked at, or `None` when
        there are no more. The rows themselves stay, and one of a deleted generation can then be pruned; only of a
        generation that another has followed they go, for nobody prunes that any more (its deletion stays).
        """
        ...

    async def see_schemas(self, schemas: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Note (component, fingerprint) pairs, durably, behind those seen before; all there are, in the order first seen."""
        ...

    async def prune(self, component: str, instance: str, generation: int, limit: int) -> int:
        """Remove rows (never the last one, nor keyed ones) of a deleted generation; returns how many went.

        The oldest go first, `limit` at most; 0 when none is left, or the generation lives. Its snapshot goes too.
        """
        ...

    async def trim(self, component: str, instance: str, generation: int, after: int, limit: int) -> int:
        """Remove rows of a living generation that come before the sequence `after`, oldest first; returns how many went.

        Never the first row, nor the last one, nor the one that set the state, nor keyed ones; 0 when none is left.
        """
        ...

    async def prune_leftovers(self, limit: int) -> int:
        """`prune` for every deleted instance at once, at most `limit` rows: what a crash kept from being pruned."""
        ...

    async def forget(self, before: int, limit: int) -> int:
        """Remove deleted instances, at most `limit`, whose deletion is older than `before` and of which no keyed row is left.

        What a crash kept `prune` from removing goes with them. Returns how many instances went.
        """
        ...

    async def close(self) -> None:
        """Finish what was begun, then release every file and connection; a second time does nothing.

        Whatever is asked afterwards raises `JournalUnavailable`.
        """
        ...
