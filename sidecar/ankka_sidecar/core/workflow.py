"""The rules of a workflow (W1-W10, W13, W17), pure.

`evolve(record, event)` folds; `decide_…` says which event an input leads to; `due(record, now)` says what should be
going on. Nothing else changes a record, so recovery asks the same questions as the hot path.

    NotStarted ──Started──► Running ──Paused──► Paused
                              ▲  ▲ │              │
                     Started  │  └─┼─Transitioned─┘   (also Resumed, at the pause's deadline)
                              │    ├─Ended──► Completed
                              │    └─Failed─► Failed
                              └────────────────┘ a transition out of an end starts the next run

Invariants: I7 at most one end per run, nothing of that run after it. I9 `deadline` is what the journal's listing
carries. I10 attempts never exceed what recovery allows, interruptions aside.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import ErrorCode, clean_text
from ankka.protocol.frames import StepDone, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.outcome import EndRun, FailRun, GoTo, PauseFor
from ankka.protocol.payload import StepTarget
from ankka.protocol.spec import ComponentSpec, RecoverySpec, StepSpec
from ankka_sidecar.core.durations import in_words, later
from ankka_sidecar.core.events import (
    Deleted,
    Ended,
    Failed,
    FailedOver,
    Held,
    Interrupted,
    Paused,
    Released,
    Resumed,
    Retried,
    Sent,
    Started,
    Transitioned,
    Updated,
    WorkflowEvent,
)
from ankka_sidecar.core.records import Failure, Pause, Pending, WorkflowRecord, has_lived_before, next_place
from ankka_sidecar.core.retry import delay

RUNNING = LifecycleStatus.RUNNING
PAUSED = LifecycleStatus.PAUSED

replace = msgspec.structs.replace

SECOND = 1_000_000
LONGEST_WAIT = 60 * SECOND
DEATHS_BEFORE_WAIT = 2
DEATHS_BEFORE_ALONE = 3
DEATHS_ALONE = 5
CANCELLED = "CANCELLED"


class Fault(msgspec.Struct, frozen=True):
    """What went wrong in an attempt: a text for people, and whether a retry may be tried at all."""

    message: str
    retryable: bool = True


# --- what is folded ----------------------------------------------------------------------------------------------


def evolve(record: WorkflowRecord, event: WorkflowEvent) -> WorkflowRecord:
    """The record after `event`."""
    generation, sequence = next_place(record, event.at)
    match event:
        case Started():
            return _started(record, event, generation, sequence)
        case Transitioned():
            return _transitioned(record, event, sequence)
        case Updated():
            during = (*record.changed, sequence) if record.pending is not None else ()
            return replace(
                record, generation=generation, sequence=sequence, updated_at=event.at, state_sequence=sequence, changed=during,
                reborn=has_lived_before(record),
            )  # fmt: skip
        case Paused():
            state_sequence = sequence if event.changed else record.state_sequence
            return replace(
                record, sequence=sequence, status=PAUSED, updated_at=event.at, pending=None, pause=Pause(event.until, event.on_timeout),
                failovers=(), cause=None, state_sequence=state_sequence, changed=(),
            )  # fmt: skip
        case Resumed():
            return replace(
                record, sequence=sequence, status=RUNNING, updated_at=event.at, pending=Pending(event.target, sequence, event.at), pause=None
            )
        case Retried() | Interrupted() | Sent():
            return _again(record, event, sequence)
        case Held() | Released():
            return replace(record, sequence=sequence, updated_at=event.at, held=isinstance(event, Held))
        case FailedOver():
            return replace(
                record, sequence=sequence, updated_at=event.at, pending=Pending(event.target, sequence, event.at),
                failovers=(*record.failovers, event.target.step), cause=event.error, changed=(),
            )  # fmt: skip
        case Ended() | Failed():
            return _over(record, event, sequence)
        case Deleted():
            return WorkflowRecord(generation=generation, reborn=record.reborn)
        case _:
            assert_never(event)


def _started(record: WorkflowRecord, event: Started, generation: int, sequence: int) -> WorkflowRecord:
    return WorkflowRecord(
        generation=generation, sequence=sequence, status=RUNNING, run=event.run, started_at=event.at, updated_at=event.at,
        until=event.until, budget=event.budget, pending=Pending(event.target, sequence, event.at),
        state_sequence=sequence if event.changed else record.state_sequence, trace=event.trace, reborn=has_lived_before(record),
    )  # fmt: skip


def _transitioned(record: WorkflowRecord, event: Transitioned, sequence: int) -> WorkflowRecord:
    return WorkflowRecord(
        generation=record.generation, sequence=sequence, status=RUNNING, run=record.run, started_at=record.started_at,
        updated_at=event.at, until=record.until, budget=record.budget, pending=Pending(event.target, sequence, event.at), retries=record.retries,
        failovers=record.failovers if event.redirected else (), cause=record.cause if event.redirected else None,
        held=record.held and not event.cancelled,
        state_sequence=sequence if event.changed else record.state_sequence,
        trace=event.trace if event.redirected and event.trace is not None else record.trace, reborn=record.reborn,
    )  # fmt: skip


def _again(record: WorkflowRecord, event: Retried | Interrupted | Sent, sequence: int) -> WorkflowRecord:
    pending = record.pending
    assert pending is not None, f"I8: {event} without a pending step"
    if isinstance(event, Sent):
        return replace(record, sequence=sequence, updated_at=event.at, pending=replace(pending, sent=True))
    if isinstance(event, Interrupted):
        again = replace(
            pending, attempt=event.attempt, not_before=event.not_before, sent=False, deaths=pending.deaths + event.death,
            alone=pending.alone + (event.death and event.alone),
        )  # fmt: skip
        return replace(record, sequence=sequence, updated_at=event.at, pending=again)
    total = {**record.retries, event.step: record.retries.get(event.step, 0) + 1}
    again = replace(pending, attempt=event.attempt, retries=pending.retries + 1, not_before=event.not_before, sent=False)
    return replace(record, sequence=sequence, updated_at=event.at, pending=again, retries=total)


def _over(record: WorkflowRecord, event: Ended | Failed, sequence: int) -> WorkflowRecord:
    assert record.is_live, f"I7: {event} of a run that is {record.status}"
    failure = Failure(event.code, event.message) if isinstance(event, Failed) else None
    return replace(
        record, sequence=sequence, status=LifecycleStatus.FAILED if failure else LifecycleStatus.COMPLETED, updated_at=event.at,
        until=None, pending=None, pause=None, failovers=(), cause=None, failure=failure, held=False,
        state_sequence=sequence if event.changed else record.state_sequence, changed=(),
    )  # fmt: skip


# --- what an input leads to --------------------------------------------------------------------------------------


def decide_command(
    record: WorkflowRecord, done: WorkflowCommandDone, handler: str, timeout: int | None, trace: str | None, now: int
) -> WorkflowEvent | None:
    """W1: the event of a command's effect; `None` where nothing is to be journalled."""
    if done.delete:
        # Nothing to discard: an id that never lived gets no row by being deleted.
        return Deleted(now, handler) if record.sequence else None
    changed = done.state is not None
    if done.transition is None:
        return Updated(now, handler) if changed else None
    if record.is_live:
        return Transitioned(now, done.transition, handler, redirected=True, changed=changed, trace=trace)
    until = None if timeout is None else later(now, timeout)
    return Started(now, record.run + 1, done.transition, handler, until, timeout, changed, trace)


def unseen(record: WorkflowRecord, base: int) -> tuple[int, ...]:
    """The command updates since the pending visit began that a state made from sequence `base` does not know (W14)."""
    return tuple(sequence for sequence in record.changed if sequence > base)


def decide_step(record: WorkflowRecord, done: StepDone, now: int, both: tuple[str, ...] = (), unrepeated: tuple[str, ...] = ()) -> WorkflowEvent:
    """The event of a step's effect, for the pending attempt.

    Where commands have changed the state meanwhile, `done` carries the merged one, and `both` the fields that both
    sides had changed. `unrepeated` are the calls of earlier attempts that this one did not make (W16).
    """
    assert record.pending is not None
    by = record.pending.target.step
    changed = done.state is not None
    merged = unseen(record, done.base) if changed else ()
    match done.outcome:
        case GoTo(target):
            return Transitioned(now, target, by, changed=changed, merged=merged, both=both, unrepeated=unrepeated)
        case PauseFor(after, on_timeout):
            return Paused(now, by, None if after is None else later(now, after), on_timeout, changed, merged, both, unrepeated)
        case EndRun():
            return Ended(now, by, changed, merged, both, unrepeated)
        case FailRun(error):
            text = clean_text(error.message)
            return Failed(now, str(error.code), text, by, changed=changed, merged=merged, both=both, unrepeated=unrepeated)
        case _:
            assert_never(done.outcome)


def decide_fault(record: WorkflowRecord, fault: Fault, recovery: RecoverySpec, token: Token, now: int) -> WorkflowEvent:
    """W6: retry, else fail over (each step at most once since one succeeded), else fail."""
    pending = record.pending
    assert pending is not None
    step = pending.target.step
    error = f"step '{step}' failed: {clean_text(fault.message)}"
    if fault.retryable and pending.retries < recovery.max_retries:
        backoff = recovery.backoff
        not_before = None if backoff is None else later(now, delay(backoff, pending.retries + 1, token))
        return Retried(now, step, pending.attempt + 1, error, not_before)
    if recovery.failover_to is not None and recovery.failover_to not in record.failovers:
        return FailedOver(now, step, error, StepTarget(recovery.failover_to))
    message = error if record.cause is None else f"{error} (after: {record.cause})"
    return Failed(now, str(ErrorCode.INTERNAL), message, step)


def decide_interrupted(
    record: WorkflowRecord, reason: str, now: int, *, death: bool = False, alone: bool = False, began: bool = True
) -> Interrupted | Fault:
    """W11: the next attempt of the same visit; no retry is used.

    Only deaths of the process count: from the second on the next attempt waits, and the fifth while nothing else ran
    there is a fault. An attempt that may run once only and was sent is a fault at once, if it `began`.
    """
    pending = record.pending
    assert pending is not None
    if pending.sent and began:
        return Fault(f"it was interrupted ({reason}) and may run once only")
    if death and alone and pending.alone + 1 >= DEATHS_ALONE:
        return Fault(f"its process died {pending.deaths + 1} times, {pending.alone + 1} of them while nothing else ran in it")
    deaths = pending.deaths + death
    not_before = None
    if death and deaths >= DEATHS_BEFORE_WAIT:
        not_before = now + min(SECOND << (deaths - DEATHS_BEFORE_WAIT), LONGEST_WAIT)
    return Interrupted(now, pending.target.step, pending.attempt + 1, reason, death, alone, not_before)


def runs_alone(pending: Pending) -> bool:
    """W11: from the third death on the attempt gets a process in which no other step runs."""
    return pending.deaths >= DEATHS_BEFORE_ALONE


def decide_sent(record: WorkflowRecord, now: int) -> Sent:
    """W11: an attempt that may run once only is journalled before it is sent."""
    pending = record.pending
    assert pending is not None
    return Sent(now, pending.target.step, pending.attempt)


def decide_cancel(record: WorkflowRecord, cancel_to: str | None, by: str, reason: str, now: int) -> WorkflowEvent:
    """W18: the run fails, or goes to the step that the workflow names for it."""
    if cancel_to is not None:
        return Transitioned(now, StepTarget(cancel_to), by, redirected=True, cancelled=True, reason=reason)
    message = f"cancelled: {reason}" if reason else "cancelled"
    step = record.pending.target.step if record.pending else None
    return Failed(now, CANCELLED, message, step, by)


def decide_deadline(record: WorkflowRecord, now: int) -> WorkflowEvent | None:
    """W8, W9: what has become due by `now`; the run's budget first, so that it wins a tie."""
    if not record.is_live:
        return None
    if record.until is not None and record.until <= now:
        step = record.pending.target.step if record.pending else None
        return Failed(now, str(ErrorCode.TIMEOUT), f"workflow timed out after {in_words(record.budget or 0)}", step)
    pause = record.pause
    if record.held or pause is None or pause.until is None or pause.until > now:
        return None
    if pause.on_timeout is None:
        return Failed(now, str(ErrorCode.TIMEOUT), "the pause timed out and names no step to go to (on_timeout)")
    return Resumed(now, pause.on_timeout)


# --- what should be going on -------------------------------------------------------------------------------------


def due(record: WorkflowRecord, now: int) -> Pending | None:
    """The attempt that should be running at `now`, derived, never remembered."""
    pending = record.pending
    if record.status is not RUNNING or record.held or pending is None:
        return None
    return pending if pending.not_before is None or pending.not_before <= now else None


def deadline(record: WorkflowRecord) -> int | None:
    """The earliest instant at which something becomes due: budget, pause, back-off (I9)."""
    if not record.is_live:
        return None
    pause, pending = record.pause, record.pending
    instants = (record.until, pause.until if pause is not None else None, pending.not_before if pending is not None else None)
    return min((instant for instant in instants if instant is not None), default=None)


def step_of(spec: ComponentSpec, name: str) -> StepSpec | None:
    """The declared step of that name or alias."""
    for step in spec.steps:
        if step.name == name or name in step.aliases:
            return step
    return None
