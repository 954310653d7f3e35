"""Reads instances from the journal into what their machines take; whatever queued up is asked for at once."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from sys import intern

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentSpec
from ankka_sidecar.core.events import Deleted, Persisted, decode_event
from ankka_sidecar.core.inputs import Input, Loaded, LoadFailed
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.records import EntityRecord, KeyValueRecord, WorkflowRecord, decode_record
from ankka_sidecar.ports.journal import MAX_ITEMS, Journal, JournalUnavailable, Last, Row

PAGE = 1_000
NO_VERSION = -1
"""No snapshot is of this version: none is used."""

log = logging.getLogger("ankka.sidecar.journal")


class Loader:
    """Answers `Load`. `loaded` is told of each machine that was: the recovery looks whether its attempt is suspect."""

    def __init__(self, journal: Journal, feed: Callable[[Instance, Input], None], spec_of: Callable[[str], ComponentSpec | None]) -> None:
        self._journal = journal
        self._feed = feed
        self._spec_of = spec_of
        self._queue: deque[Instance] = deque()
        self._whole: set[Instance] = set()
        self.unreadable: dict[tuple[str, str], int] = {}
        """Instances with rows that this version cannot read, and how often that was found."""
        self._wake = asyncio.Event()
        self._folding: set[asyncio.Task[None]] = set()
        self.broken: dict[tuple[str, str], int] = {}
        """Instances whose machine broke, and how often: what it had sent, the next one does not know."""
        self.epochs: dict[int, int] = {}
        self.loaded: Callable[[Instance], None] | None = None

    async def run(self) -> None:
        """Load, for ever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                machines = [self._queue.popleft() for _ in range(min(MAX_ITEMS, len(self._queue)))]
                await self._load(machines)

    def put(self, machine: Instance, *, from_the_beginning: bool = False) -> None:
        """Load this machine's instance; from the beginning if its snapshot cannot be read."""
        if from_the_beginning:
            self._whole.add(machine)
        self._queue.append(machine)
        self._wake.set()

    async def _load(self, machines: list[Instance]) -> None:
        try:
            ends = await self._journal.ends([(machine.component, machine.instance) for machine in machines])
        except JournalUnavailable as error:
            log.error("%d instances cannot be read: %s", len(machines), error)
            for machine in machines:
                self._failed(machine, error)
            return
        for machine, last in zip(machines, ends, strict=True):
            self._take(machine, last)

    def _take(self, machine: Instance, last: Last | None) -> None:
        if last is None:
            self._give(machine, Loaded(None))
            return
        foreign = last.row.epoch != self.epochs[machine.shard] or (machine.component, machine.instance) in self.broken
        try:
            record = decode_record(last.row.record)
        except ValueError as error:
            self._unreadable(machine, error)
            return
        if isinstance(record, (WorkflowRecord, KeyValueRecord)):
            schema = intern(last.state.schema) if last.state is not None else ""
            self._give(machine, Loaded(record, state_of(last.state), last.row.effect, foreign, schema=schema))
        else:
            task = asyncio.get_running_loop().create_task(self._load_entity(machine, record, last.row, foreign))
            self._folding.add(task)
            task.add_done_callback(self._folding.discard)

    async def _load_entity(self, machine: Instance, record: EntityRecord, last: Row, foreign: bool) -> None:
        try:
            whole = machine in self._whole
            self._whole.discard(machine)
            spec = self._spec_of(machine.component)
            version = spec.snapshot_version if spec is not None else None
            loaded = await _read_entity(self._journal, record, last, foreign, NO_VERSION if whole else version)
        except JournalUnavailable as error:
            self._failed(machine, error)
        except ValueError as error:
            self._unreadable(machine, error)
        else:
            self._give(machine, loaded)

    def _give(self, machine: Instance, loaded: Loaded) -> None:
        self._feed(machine, loaded)
        if self.loaded is not None:
            self.loaded(machine)

    def _failed(self, machine: Instance, error: JournalUnavailable) -> None:
        text = f"the journal of {machine.component}/{machine.instance} cannot be read now: {error}"
        self._feed(machine, LoadFailed(Error(ErrorCode.UNAVAILABLE, text)))

    def _unreadable(self, machine: Instance, error: ValueError) -> None:
        """A row that this version cannot decode stops this instance, and nothing else."""
        key = (machine.component, machine.instance)
        self.unreadable[key] = self.unreadable.get(key, 0) + 1
        log.error("the journal of %s/%s cannot be decoded: %s", machine.component, machine.instance, error)
        text = f"the journal of {machine.component}/{machine.instance} holds a row this version cannot read: {error}"
        self._feed(machine, LoadFailed(Error(ErrorCode.INTERNAL, text)))


def state_of(row: Row | None) -> Payload | None:
    """The state a row carries."""
    if row is None or row.payload is None:
        return None
    # The same few words with every row: one copy of each is enough.
    return Payload(row.payload, intern(row.content_type), intern(row.manifest))


async def _read_entity(journal: Journal, record: EntityRecord, last: Row, foreign: bool, version: int | None) -> Loaded:
    component, instance = last.component, last.instance
    if record.sequence == 0:
        return Loaded(record, None, last.effect, foreign)
    snapshot = await journal.snapshot_of(component, instance, record.generation)
    state: Payload | None = None
    sequence = 0
    if snapshot is not None and version not in (None, snapshot.version):
        snapshot = None  # of another version of the code: the journal is replayed
    if snapshot is not None:
        state = Payload(snapshot.payload, snapshot.content_type, snapshot.manifest)
        sequence = snapshot.sequence
    events: list[Payload] = []
    sequences: list[int] = []
    after = (record.generation, sequence)
    while True:
        rows = await journal.read(component, instance, after, PAGE)
        for row in rows:
            event = decode_event(row.event)
            if isinstance(event, (Persisted, Deleted)):
                events.extend(event.events)
                sequences.extend([row.sequence] * len(event.events))
        if len(rows) < PAGE:
            break
        after = (rows[-1].generation, rows[-1].sequence)
    return Loaded(record, state, last.effect, foreign, tuple(events), tuple(sequences), sequence, intern(last.schema))
