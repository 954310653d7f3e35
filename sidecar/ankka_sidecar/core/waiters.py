"""Who waits for the end of a run, and what they hear: an await pins one run of one life."""

from __future__ import annotations

import msgspec

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import NOTHING, Payload
from ankka_sidecar.core.records import WorkflowRecord


class Waiter(msgspec.Struct, frozen=True, gc=False):
    """A caller, and the run whose end it awaits; `generation` is `None` where no life had begun."""

    call: int
    generation: int | None
    run: int


def waiter_for(call: int, record: WorkflowRecord) -> Waiter:
    """A waiter for the present run, or for the next one if none has begun."""
    begun = record.status is not LifecycleStatus.NOT_STARTED
    return Waiter(call, record.generation if record.sequence else None, record.run if begun else record.run + 1)


def answer_to(waiter: Waiter, where: str, record: WorkflowRecord, state: Payload | None) -> Payload | Error | None:
    """What the waiter hears now that the record is this one; `None` while its run has not ended."""
    if waiter.generation is not None and (record.sequence == 0 or record.generation != waiter.generation):
        return Error(ErrorCode.NOT_FOUND, f"{where} was deleted while its end was awaited")
    if record.run < waiter.run or (record.run == waiter.run and record.is_live):
        return None
    if record.run > waiter.run:
        return Error(ErrorCode.CONFLICT, f"run {waiter.run} of {where} has ended and run {record.run} begun: how it ended is in the journal")
    return end_of(record, state)


def end_of(record: WorkflowRecord, state: Payload | None) -> Payload | Error:
    """What an await of an ended run answers: the state, or why it failed."""
    failure = record.failure
    if failure is not None:
        return Error(ErrorCode.WORKFLOW_FAILED, failure.message, {"code": failure.code, "run": record.run})
    return state or Payload(b"", NOTHING)
