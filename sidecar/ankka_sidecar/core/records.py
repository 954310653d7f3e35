"""What is known of an instance after its last event, folded from its journal; stored with each of its rows."""

from __future__ import annotations

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import StepTarget
from ankka.protocol.spec import ComponentKind


class Pending(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The step that is to run: visit `visit` (the sequence that led to it, at `since`), attempt `attempt`.

    `retries` of it are used so far. `deaths` counts processes that died while they ran it, `alone` those that ran
    nothing else. `sent` is true once the attempt of a step that may run once only is on its way.
    """

    target: StepTarget
    visit: int
    since: int
    attempt: int = 1
    retries: int = 0
    not_before: int | None = None
    deaths: int = 0
    alone: int = 0
    sent: bool = False


class Pause(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a paused run waits for."""

    until: int | None = None
    on_timeout: StepTarget | None = None


class Failure(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Why a run failed."""

    code: str
    message: str


class WorkflowRecord(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="workflow"):
    """A workflow instance as its journal says.

    `sequence` 0 means that there is no life: never begun, or deleted (then `generation` is the dead one). `until` is
    the run's budget as an instant, `budget` its length. `failovers` are the steps entered by failover since a step
    last succeeded and `cause` the error that led there. `state_sequence` is where the state was last set and
    `changed` where commands set it since the pending visit began.
    """

    generation: int = 0
    sequence: int = 0
    status: LifecycleStatus = LifecycleStatus.NOT_STARTED
    run: int = 0
    started_at: int | None = None
    updated_at: int | None = None
    until: int | None = None
    budget: int | None = None
    pending: Pending | None = None
    pause: Pause | None = None
    retries: dict[str, int] = {}
    failovers: tuple[str, ...] = ()
    cause: str | None = None
    failure: Failure | None = None
    held: bool = False
    state_sequence: int = 0
    changed: tuple[int, ...] = ()
    trace: str | None = None
    reborn: bool = False
    """There was a life before this one: commands that were carried out in it may be asked for again (W15)."""

    @property
    def is_live(self) -> bool:
        """A run is under way."""
        return self.status is LifecycleStatus.RUNNING or self.status is LifecycleStatus.PAUSED

    def token(self, component: str, instance: str) -> Token | None:
        """The name of the pending attempt."""
        pending = self.pending
        if pending is None:
            return None
        return Token(component, instance, self.generation, self.run, pending.visit, pending.attempt)


class EntityRecord(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="entity"):
    """An event sourced entity's instance as its journal says; `sequence` 0 as for a workflow."""

    generation: int = 0
    sequence: int = 0
    updated_at: int | None = None
    expires_at: int | None = None
    reborn: bool = False


class KeyValueRecord(EntityRecord, frozen=True, array_like=True, gc=False, tag="key-value"):
    """A key value entity's instance: the same, under a tag of its own, so that a row tells its component's kind."""


def next_place(record: WorkflowRecord | EntityRecord, now: int) -> tuple[int, int]:
    """(generation, sequence) of the next row: a generation is the instant of its first event, above any earlier one."""
    if record.sequence == 0:
        return max(now, record.generation + 1), 1
    return record.generation, record.sequence + 1


def has_lived_before(record: WorkflowRecord | EntityRecord) -> bool:
    """Whether the life of the next row is not the instance's first: it goes on in one that was not, or follows a deletion."""
    return record.reborn or (record.sequence == 0 and record.generation > 0)


AnyRecord = WorkflowRecord | EntityRecord | KeyValueRecord

decode_record = msgspec.msgpack.Decoder(AnyRecord).decode


def kind_of(record: AnyRecord) -> ComponentKind:
    """The kind of component whose instance the record is of."""
    if isinstance(record, WorkflowRecord):
        return ComponentKind.WORKFLOW
    return ComponentKind.KEY_VALUE_ENTITY if isinstance(record, KeyValueRecord) else ComponentKind.EVENT_SOURCED_ENTITY
