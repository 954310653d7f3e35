"""The machine of an event sourced entity's instance: fold once, then every command brings the state after it.

On load the events behind the snapshot are folded by a process, in chunks, when the first command or query needs the
state. From then on each command carries the state's bytes and its answer brings the new ones, so nothing is folded
twice while the instance is resident.

A snapshot is a cache: the first fold proves that it can be read, and one that cannot is passed over with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Folded, Refused
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind, ComponentSpec
from ankka_sidecar.core import event_sourced as rules
from ankka_sidecar.core import lifecycle
from ankka_sidecar.core.actions import AskFold, Prune, PutSnapshot, Reply, Report
from ankka_sidecar.core.events import AnyEvent, Deleted, Persisted
from ankka_sidecar.core.inputs import CallMade, EndAsked, HandlerAnswered, Input, LifecycleAsked, Loaded, OperatorAsked
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.journalling import Appending, Phase
from ankka_sidecar.core.keyed import Asking
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.records import EntityRecord

FOLD_SIZE = 1024 * 1024
"""Bytes of events in one fold."""


class EntityInstance(Instance):
    """See the module."""

    __slots__ = ("_folding", "_sequences", "_snapshot_every", "_snapshot_sequence", "_snapshot_version", "_unfolded", "_unproven")

    kind = ComponentKind.EVENT_SOURCED_ENTITY
    record: EntityRecord
    _journals_state = False
    _effect_type = EntityCommandDone
    _record_type: ClassVar[type[EntityRecord]] = EntityRecord

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        super().__init__(component, instance, limits, salt)
        self.record = self._record_type()
        self._unfolded: tuple[Payload, ...] = ()
        self._sequences: tuple[int, ...] = ()
        self._unproven = False
        self._folding = 0
        self._snapshot_sequence = 0
        self._snapshot_every = 0
        self._snapshot_version = 0

    def _adopt(self, loaded: Loaded, now: int) -> bool:
        record = loaded.record if loaded.record is not None else self._record_type()
        if not isinstance(record, EntityRecord) or type(record) is not self._record_type:
            return False
        self.record = record
        self.state = loaded.state
        self._unfolded = loaded.events
        self._sequences = loaded.sequences
        self._snapshot_sequence = loaded.snapshot_sequence
        self._unproven = loaded.snapshot_sequence > 0 and not loaded.is_folded
        return True

    def kept(self) -> Loaded | None:
        """See `Journalled`."""
        if not self._was_ready or self._needs_fold:
            return None
        return Loaded(self.record, self.state, snapshot_sequence=self._snapshot_sequence, schema=self.schema, is_folded=True)

    # --- folding ---------------------------------------------------------------------------------------------------

    def _can_query(self) -> bool:
        return not self._needs_fold

    @property
    def _needs_fold(self) -> bool:
        return bool(self._unfolded) or self._unproven

    def _advance(self, now: int) -> None:
        free = self._asking is None and self._appending is None
        if free and now < self._held_until and rules.decide_deadline(self.record, now) is not None:
            return  # it has expired, and nothing begins on what is over before the journal takes that
        if self._needs_fold:
            if free and not self._decide(now) and (self._mailbox or self._early):
                self._fold(now)
            return
        super()._advance(now)

    def _fold(self, now: int) -> None:
        count, size = 0, 0
        for event in self._unfolded:
            if count and size + len(event.data) > FOLD_SIZE:
                break
            count += 1
            size += len(event.data)
        self._folding = count
        self._ask += 1
        self._asking = Asking(self._ask, None, now + self._limits.handler_timeout)
        self._out.append(AskFold(self._ask, self.state, self._unfolded[:count], self._sequences[:count]))

    def _on_folded(self, answer: Any, now: int) -> None:
        if isinstance(answer, Folded):
            self.state = answer.state
            self._unfolded = self._unfolded[self._folding :]
            self._sequences = self._sequences[self._folding :]
            self._unproven = False
            self._take_queries(now)
        elif isinstance(answer, Refused) and self._unproven:
            where = f"{self.component}/{self.instance} at {self._snapshot_sequence}"
            self._out.append(Report("warning", f"a snapshot cannot be read, the journal is replayed instead: {where}: {answer.error.message}"))
            self.phase = Phase.LOADING
            self._load(from_the_beginning=True)
        elif isinstance(answer, Refused):
            self._fold_lost(answer.error, now)
        else:
            self._fold_lost(Error(ErrorCode.INTERNAL, f"a fold answered {type(answer).__name__}"), now)

    def _take_queries(self, now: int) -> None:
        if not self._needs_fold:
            early, self._early = self._early or (), None
            for given in early:
                self._take(given, now)

    def _fold_lost(self, error: Error, now: int) -> None:
        self._fail_callers(error)

    # --- calls -----------------------------------------------------------------------------------------------------

    def _command_event(self, call: CallMade, answer: Any, spec: ComponentSpec, now: int) -> AnyEvent | None:
        assert isinstance(answer, EntityCommandDone), f"an entity command answered {type(answer).__name__}"
        return rules.decide_command(self.record, answer, call.handler, now)

    def _on_answered(self, given: HandlerAnswered, now: int) -> None:
        self._snapshot_every = given.spec.snapshot_every
        self._snapshot_version = given.spec.snapshot_version
        super()._on_answered(given, now)

    def _on_lifecycle_asked(self, asked: LifecycleAsked, now: int) -> None:
        if self.phase is not Phase.READY:
            self._keep(asked)
            return
        self._out.append(Reply(asked.call, lifecycle.as_payload(lifecycle.of_entity(self.record))))

    def _on_end_asked(self, asked: EndAsked, now: int) -> None:
        self._refuse(asked.call, ErrorCode.BAD_REQUEST, f"'{self.component}' is an entity: only a workflow has an end to await")

    # --- decisions -------------------------------------------------------------------------------------------------

    def _decide(self, now: int) -> bool:
        if self._operators:
            return self._decide_operator(self._next_operator(), now)
        event = rules.decide_deadline(self.record, now)
        if event is None:
            return False
        self._append(event, None, now)
        return True

    def _decide_operator(self, asked: OperatorAsked, now: int) -> bool:
        """W18: an entity can be deleted; there is no run of it to hold or cancel."""
        if asked.wanted != "delete":
            self._refuse(asked.call, ErrorCode.BAD_REQUEST, f"'{self.component}' is an entity: it has no run to hold, resume or cancel")
        elif not self.record.sequence:
            self._refuse(asked.call, ErrorCode.NOT_FOUND, f"there is no {self.component}/{self.instance} to delete")
        else:
            self._append(Deleted(now, asked.by, reason=asked.reason), None, now, operator=asked.call)
            return True
        return self._decide(now)

    def _dispatch(self, now: int) -> None:
        """Nothing of an entity runs by itself."""

    def _evolved(self, event: AnyEvent) -> EntityRecord:
        return rules.evolve(self.record, event)  # type: ignore[arg-type]  # an entity's machine appends entity events only

    def _listing(self, record: EntityRecord) -> object:
        return (record.sequence > 0, record.expires_at)

    def _settled(self, done: Appending, now: int) -> None:
        if isinstance(done.event, Deleted):
            self.state = None
            self._unfolded = ()
            self._unproven = False
            self._snapshot_sequence = 0
            self._out.append(Prune(done.record.generation))
            self._take_queries(now)
            return
        if isinstance(done.event, Persisted) and done.event.events and done.state is None and not self._unfolded:
            self._sequences = (done.record.sequence,) * len(done.event.events)
            self._unfolded = done.event.events  # the answer left the state after them out: fold it
        due = self._snapshot_every and self.record.sequence - self._snapshot_sequence >= self._snapshot_every
        if due and self.state is not None and not self._unfolded:
            self._snapshot_sequence = self.record.sequence
            self._out.append(PutSnapshot(self.record.generation, self.record.sequence, self.state, self._snapshot_version))

    def _next_instant(self, now: int) -> int | None:
        expires_at = self.record.expires_at
        return expires_at if expires_at is not None and expires_at > now else None

    _handlers: ClassVar[dict[type[Input], Callable[[Any, Any, int], None]]] = {
        **Instance._handlers,
        HandlerAnswered: _on_answered,
        LifecycleAsked: _on_lifecycle_asked,
        EndAsked: _on_end_asked,
    }
