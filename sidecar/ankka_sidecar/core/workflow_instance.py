"""The machine of a workflow instance: its one attempt, the answers that wait for their turn, and who waits for the end.

    no attempt ──RunStep──► queued ──StepSent──► running ──answer, lost, timed out──► no attempt
                              │                     │ replaced (timeout, redirect, delete)
                              └─withdrawn           └──CancelStep──► stopping ──stopped, or cancel_grace──► no attempt

After a load that another incarnation's row ended, a pending attempt is *suspect*: it is taken as having been sent, and
nothing runs until the runtime says that it was adopted (its process came back with it) or lost (W11). One that was
replaced meanwhile, and one a process comes back with that had been replaced before, has `cancel_grace` like any other
(W5 applies across a restart).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error
from ankka.protocol.frames import StepDone, StepFaulted, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.spec import ComponentSpec, RecoverySpec
from ankka_sidecar.core import lifecycle
from ankka_sidecar.core import workflow as rules
from ankka_sidecar.core.actions import AckStep, CancelStep, Prune, Reply, Report, RunStep
from ankka_sidecar.core.durations import in_words
from ankka_sidecar.core.events import AnyEvent, Deleted
from ankka_sidecar.core.inputs import (
    AnswerWaited,
    AttemptAdopted,
    AttemptLost,
    CallDropped,
    CallMade,
    EndAsked,
    Input,
    LifecycleAsked,
    Loaded,
    StepAnswered,
    StepSent,
)
from ankka_sidecar.core.instance import Instance, Limits
from ankka_sidecar.core.journalling import Appending, Phase
from ankka_sidecar.core.records import WorkflowRecord
from ankka_sidecar.core.waiters import Waiter, answer_to, waiter_for

TIMEOUT_NAMES = frozenset(name for cls in TimeoutError.__mro__ for name in (cls.__name__, f"{cls.__module__}.{cls.__qualname__}"))
"""What `not_on` may call a step's timeout."""


class Attempt(msgspec.Struct):
    """The attempt that is out. `sent_at` is `None` while it waits for a process; `stop_by` is set once it was replaced.

    `is_suspect`: it was replaced before anybody knew whether it runs.
    """

    token: Token
    spec: ComponentSpec | None = None
    sent_at: int | None = None
    times_out_at: int | None = None
    timeout: int = 0
    stop_by: int | None = None
    is_suspect: bool = False


class WorkflowInstance(Instance):
    """See the module."""

    __slots__ = ("_answer", "_answered_at", "_attempt", "_lost", "_suspect", "_waiters")

    record: WorkflowRecord
    _effect_type = WorkflowCommandDone

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        super().__init__(component, instance, limits, salt)
        self.record = WorkflowRecord()
        self._attempt: Attempt | None = None
        self._answer: StepAnswered | None = None
        self._answered_at = 0
        self._lost: AttemptLost | None = None
        self._suspect: Token | None = None
        self._waiters: list[Waiter] = []

    # --- loading ---------------------------------------------------------------------------------------------------

    def _adopt(self, loaded: Loaded, now: int) -> bool:
        record = loaded.record if loaded.record is not None else WorkflowRecord()
        if not isinstance(record, WorkflowRecord):
            return False
        self.record = record
        self.state = loaded.state
        # A machine that was ready before knows what it has sent, whoever wrote the last row.
        if not self._was_ready and loaded.foreign and rules.due(record, now) is not None:
            self._suspect = self._pending_token()
        return True

    def _pending_token(self) -> Token | None:
        return self.record.token(self.component, self.instance)

    # --- calls -----------------------------------------------------------------------------------------------------

    def _command_event(self, call: CallMade, answer: Any, spec: ComponentSpec, now: int) -> AnyEvent | None:
        assert isinstance(answer, WorkflowCommandDone), f"a workflow command answered {type(answer).__name__}"
        return rules.decide_command(self.record, answer, call.handler, spec.timeout, call.trace, now)

    def _on_lifecycle_asked(self, asked: LifecycleAsked, now: int) -> None:
        if self.phase is not Phase.READY:
            self._early.append(asked)
            return
        view = lifecycle.of_workflow(self.record, self.waiting_for(now))
        self._out.append(Reply(asked.call, lifecycle.as_payload(view)))

    def _on_end_asked(self, asked: EndAsked, now: int) -> None:
        self._used_at = now
        if self.phase is not Phase.READY:
            self._early.append(asked)
        else:
            self._waiters.append(waiter_for(asked.call, self.record))
            self._tell_waiters()

    def _tell_waiters(self) -> None:
        waiting, self._waiters = self._waiters, []
        for waiter in waiting:
            result = answer_to(waiter, f"{self.component}/{self.instance}", self.record, self.state)
            if result is None:
                self._waiters.append(waiter)
            else:
                self._out.append(Reply(waiter.call, result))

    def _on_dropped(self, dropped: CallDropped, now: int) -> None:
        self._waiters = [waiter for waiter in self._waiters if waiter.call != dropped.call]
        super()._on_dropped(dropped, now)

    def _abandon(self, error: Error) -> None:
        for waiter in self._waiters:
            self._out.append(Reply(waiter.call, error))
        self._waiters = []
        super()._abandon(error)

    def waiting_for(self, now: int) -> str | None:
        """Why nothing moves, in a sentence; `None` while a step runs or nothing should."""
        record, attempt = self.record, self._attempt
        if record.status is LifecycleStatus.PAUSED:
            if record.pause is None or record.pause.until is None:
                return "a command to transition it"
            return f"a command, or until {lifecycle.instant(record.pause.until):%Y-%m-%dT%H:%M:%SZ}"
        pending = record.pending
        if pending is None:
            return None
        if self._suspect is not None:
            return f"the process that ran step '{pending.target.step}' before this sidecar started"
        if attempt is not None and attempt.stop_by is not None:
            return "the attempt before this one to stop"
        if attempt is not None and attempt.sent_at is None:
            return f"a process that runs step '{pending.target.step}' of '{self.component}'"
        if pending.not_before is not None and pending.not_before > now:
            return f"the retry at {lifecycle.instant(pending.not_before):%Y-%m-%dT%H:%M:%SZ}"
        return None

    @property
    def suspect(self) -> Token | None:
        """The attempt that may be under way somewhere since before this incarnation."""
        attempt = self._attempt
        if attempt is not None and attempt.is_suspect:
            return attempt.token
        return self._suspect

    def may_call(self, token: Token) -> bool:
        """Whether calls of that attempt still count (I12): not once it was replaced, nor once it has answered."""
        attempt = self._attempt
        return attempt is not None and attempt.token == token and attempt.stop_by is None and self._answer is None

    def up_to_date(self, action: RunStep) -> RunStep:
        """`action` on the state as it is now: commands may have changed it while the attempt waited for a process."""
        if action.base == self.record.state_sequence or action.token != self._pending_token():
            return action
        return msgspec.structs.replace(action, state=self.state, base=self.record.state_sequence, sequence=self.record.sequence)

    # --- the attempt -----------------------------------------------------------------------------------------------

    def _on_step_sent(self, sent: StepSent, now: int) -> None:
        attempt = self._attempt
        if attempt is not None and attempt.token == sent.token:
            self._begin(attempt, sent.spec, now)

    def _begin(self, attempt: Attempt, spec: ComponentSpec, sent_at: int) -> None:
        step = rules.step_of(spec, self.record.pending.target.step if self.record.pending else "")
        attempt.spec = spec
        attempt.sent_at = sent_at
        if step is not None:
            attempt.timeout = step.timeout
            attempt.times_out_at = sent_at + step.timeout

    def _on_adopted(self, adopted: AttemptAdopted, now: int) -> None:
        if self.phase is not Phase.READY:
            self._early.append(adopted)
            return
        token, attempt = adopted.token, self._attempt
        if token != self._pending_token():
            self._out.append(CancelStep(token))
            if attempt is None:
                self._attempt = Attempt(token, sent_at=now - adopted.elapsed, stop_by=now + self._limits.cancel_grace)
            elif attempt.token == token:
                attempt.is_suspect = False
        elif self._answer is None and (attempt is None or attempt.stop_by is not None):
            # If its loss is being journalled just now, it is told to stop when that is done.
            self._suspect = None
            self._lost = None
            self._attempt = Attempt(token)
            self._begin(self._attempt, adopted.spec, now - adopted.elapsed)

    def _on_attempt_lost(self, lost: AttemptLost, now: int) -> None:
        if self.phase is not Phase.READY:
            self._early.append(lost)
            return
        if self._suspect == lost.token:
            self._suspect = None
            self._lost = lost
        attempt = self._attempt
        if attempt is not None and attempt.token == lost.token:
            self._attempt = None
            if attempt.stop_by is None and self._answer is None:
                self._lost = lost

    def _on_step_answered(self, given: StepAnswered, now: int) -> None:
        self._used_at = now
        if self.phase is Phase.READY:
            self._take_answer(given, now)
        else:
            self._early.append(AnswerWaited(given, now))

    def _on_answer_waited(self, waited: AnswerWaited, now: int) -> None:
        self._take_answer(waited.given, waited.at)

    def _take_answer(self, given: StepAnswered, at: int) -> None:
        token = given.answer.token
        if token != self._pending_token():
            self._out.append(AckStep(token, stale=True))
            if self._attempt is not None and self._attempt.token == token:
                self._attempt = None  # a replaced attempt has stopped: its successor may start
        elif self._answer is None:  # else: the same answer again, acknowledged when the first is durable (F02)
            self._answer = given
            self._answered_at = at
            self._schema = given.spec.fingerprint
            self._suspect = None
            self._lost = None

    # --- decisions -------------------------------------------------------------------------------------------------

    def _decide(self, now: int) -> bool:
        record = self.record
        # An attempt's clock stops when its answer arrives, so the budget is compared with that instant.
        event: AnyEvent | None = rules.decide_deadline(record, self._answered_at if self._answer is not None else now)
        if event is not None:
            self._append(event, None, now)
            return True
        if self._answer is not None:
            self._decide_answer(self._answer, now)
            return True
        if self._lost is not None:
            self._append(rules.decide_interrupted(record, self._lost.reason, now), None, now)
            return True
        attempt = self._attempt
        if attempt is not None and attempt.stop_by is None and attempt.times_out_at is not None and attempt.times_out_at <= now:
            recovery = self._recovery(attempt.spec)
            fault = rules.Fault(f"timed out after {in_words(attempt.timeout)}", TIMEOUT_NAMES.isdisjoint(recovery.not_on))
            self._fault(fault, recovery, attempt.token, None, now)
            return True
        return False

    def _decide_answer(self, given: StepAnswered, now: int) -> None:
        answer = given.answer
        if isinstance(answer, StepDone):
            self._append(rules.decide_step(self.record, answer, now), answer.state, now, ack=answer.token)
        elif isinstance(answer, StepFaulted):
            fault = rules.Fault(answer.message, answer.retryable)
            self._fault(fault, self._recovery(given.spec), answer.token, answer.token, now)
        else:
            self._append(rules.decide_interrupted(self.record, answer.reason, now), None, now, ack=answer.token)

    def _recovery(self, spec: ComponentSpec | None) -> RecoverySpec:
        pending = self.record.pending
        step = rules.step_of(spec, pending.target.step) if spec is not None and pending is not None else None
        return step.recovery if step is not None else RecoverySpec()

    def _fault(self, fault: rules.Fault, recovery: RecoverySpec, token: Token, ack: Token | None, now: int) -> None:
        sent_at = self._attempt.sent_at if self._attempt is not None else None
        elapsed = in_words(now - sent_at) if sent_at is not None else "unknown"
        pending = self.record.pending
        step = pending.target.step if pending else "?"
        where = f"component={self.component} instance={self.instance} step={step} attempt={token.attempt} elapsed={elapsed}"
        self._out.append(Report("warning", f"step fault: {where}: {fault.message}"))
        self._append(rules.decide_fault(self.record, fault, recovery, token, now), None, now, ack=ack)

    # --- after an append -------------------------------------------------------------------------------------------

    def _evolved(self, event: AnyEvent) -> WorkflowRecord:
        return rules.evolve(self.record, event)  # type: ignore[arg-type]  # a workflow's machine appends workflow events only

    def _listing(self, record: WorkflowRecord) -> object:
        return (record.status, rules.deadline(record), record.held, record.run)

    def _settled(self, done: Appending, now: int) -> None:
        if done.ack is not None:
            self._out.append(AckStep(done.ack, stale=False))
            if self._attempt is not None and self._attempt.token == done.ack:
                self._attempt = None
            if self._answer is not None and self._answer.answer.token == done.ack:
                self._answer = None
        if isinstance(done.event, Deleted):
            self.state = None
            self._out.append(Prune(done.record.generation))

    def _unstorable(self, done: Appending, message: str, now: int) -> None:
        given = self._answer
        if given is not None and done.ack == given.answer.token and isinstance(given.answer, StepDone):
            fault = StepFaulted(given.answer.token, ("Unstorable",), f"its effect cannot be stored: {message}", retryable=False)
            self._answer = StepAnswered(fault, given.spec)

    def _reconcile(self, now: int) -> None:
        """Hold what is under way against what is pending: W5, the replaced attempt is told to stop."""
        token = self._pending_token()
        self._tell_waiters()
        if self._lost is not None and self._lost.token != token:
            self._lost = None
        if self._answer is not None and self._answer.answer.token != token:
            answered, self._answer = self._answer.answer.token, None
            self._out.append(AckStep(answered, stale=True))
            if self._attempt is not None and self._attempt.token == answered:
                self._attempt = None
        if self._suspect is not None and self._suspect != token:
            # It may run somewhere still: its process is told when it comes back with it.
            if self._attempt is None:
                self._attempt = Attempt(self._suspect, sent_at=now, stop_by=now + self._limits.cancel_grace, is_suspect=True)
            self._suspect = None
        attempt = self._attempt
        if attempt is None or attempt.token == token or attempt.stop_by is not None:
            return
        self._out.append(CancelStep(attempt.token))
        if attempt.sent_at is None:
            self._attempt = None
        else:
            attempt.stop_by = now + self._limits.cancel_grace

    def _dispatch(self, now: int) -> None:
        attempt = self._attempt
        if attempt is not None and attempt.stop_by is not None and attempt.stop_by <= now:
            self._out.append(Report("warning", f"attempt abandoned, it did not stop within {in_words(self._limits.cancel_grace)}: {attempt.token}"))
            attempt = self._attempt = None
        if attempt is not None or self._suspect is not None or self._answer is not None or self._lost is not None:
            return
        pending = rules.due(self.record, now)
        token = self._pending_token()
        if pending is None or token is None or rules.decide_deadline(self.record, now) is not None:
            return
        self._attempt = Attempt(token)
        target, record = pending.target, self.record
        self._out.append(RunStep(token, target.step, target.input, self.state, record.state_sequence, record.sequence, record.trace))

    def _next_instant(self, now: int) -> int | None:
        instants: list[int | None] = [self.record.until]
        pause, pending, attempt = self.record.pause, self.record.pending, self._attempt
        if pause is not None and not self.record.held:
            instants.append(pause.until)
        if pending is not None:
            instants.append(pending.not_before)
        if attempt is not None:
            instants.append(attempt.stop_by if attempt.stop_by is not None else attempt.times_out_at)
        return min((instant for instant in instants if instant is not None and instant > now), default=None)

    def _is_idle(self) -> bool:
        busy = self._attempt or self._answer or self._lost or self._suspect or self._waiters
        return not busy and super()._is_idle()

    _handlers: ClassVar[dict[type[Input], Callable[[Any, Any, int], None]]] = {
        **Instance._handlers,
        CallDropped: _on_dropped,
        LifecycleAsked: _on_lifecycle_asked,
        EndAsked: _on_end_asked,
        StepSent: _on_step_sent,
        StepAnswered: _on_step_answered,
        AnswerWaited: _on_answer_waited,
        AttemptAdopted: _on_adopted,
        AttemptLost: _on_attempt_lost,
    }
