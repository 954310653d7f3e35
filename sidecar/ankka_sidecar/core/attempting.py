"""A workflow machine's one attempt: sent, adopted, lost, answered, replaced.

    no attempt ──RunStep──► queued ──StepSent──► running ──answer, lost, timed out──► no attempt
                              │                     │ replaced (timeout, redirect, delete)
                              └─withdrawn           └──CancelStep──► stopping ──stopped, or cancel_grace──► no attempt

After a load that another incarnation's row ended, a pending attempt is *suspect*: it is taken as having been sent, and
nothing runs until the runtime says that it was adopted (its process came back with it) or lost (W11). One that was
replaced meanwhile, and one a process comes back with that had been replaced before, has `cancel_grace` like any other
(W5 applies across a restart).

An attempt of a step that may run once only is chosen first, journalled as sent, and only then sent; its successor never
starts while it may still live.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentSpec
from ankka_sidecar.core import workflow as rules
from ankka_sidecar.core.actions import AbandonStep, AckStep, CancelStep, Report, RunStep
from ankka_sidecar.core.durations import in_words
from ankka_sidecar.core.inputs import AnswerWaited, AttemptAdopted, AttemptLost, Loaded, StepAnswered, StepChosen, StepSent
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.journalling import Phase
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.records import WorkflowRecord

NEVER = 1 << 62
"""An instant that does not come: a step that may run once only is never given up."""


class Attempt(msgspec.Struct):
    """The attempt that is out.

    `sent_at` is `None` while it waits for a process; `stop_by` is set once it was replaced. `base` is the sequence of
    the state it was sent with, `base_state` that state.
    """

    token: Token
    spec: ComponentSpec | None = None
    sent_at: int | None = None
    times_out_at: int | None = None
    timeout: int = 0
    once: bool = False
    stop_by: int | None = None
    is_suspect: bool = False
    base: int | None = None
    base_state: Payload | None = None


class Attempting(Instance):
    """See the module; `workflow_instance.WorkflowInstance` decides what an answer, a loss or a timeout leads to."""

    __slots__ = ("_answer", "_answered_at", "_attempt", "_chosen", "_lost", "_suspect", "_token", "_token_record", "_unread")

    record: WorkflowRecord

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        super().__init__(component, instance, limits, salt)
        self.record = WorkflowRecord()
        self._attempt: Attempt | None = None
        self._answer: StepAnswered | None = None
        self._answered_at = 0
        self._chosen: Token | None = None
        self._lost: AttemptLost | None = None
        self._suspect: Token | None = None
        self._token: Token | None = None
        self._token_record: WorkflowRecord | None = None
        self._unread: str = ""
        """Why the last process that got the pending step could not run it: what it declares holds neither state nor input."""

    def _adopt(self, loaded: Loaded, now: int) -> bool:
        record = loaded.record if loaded.record is not None else WorkflowRecord()
        if not isinstance(record, WorkflowRecord):
            return False
        self.record = record
        self.state: Payload | None = loaded.state
        # A machine that was ready before knows what it has sent, whoever wrote the last row. A run that is held now may
        # have been sent before.
        if not self._was_ready and loaded.foreign and rules.due(msgspec.structs.replace(record, held=False), now) is not None:
            self._suspect = self._pending_token()
        return True

    def _pending_token(self) -> Token | None:
        if self._token_record is not self.record:
            self._token_record = self.record
            self._token = self.record.token(self.component, self.instance)
        return self._token

    def kept(self) -> Loaded | None:
        """See `Journalled`."""
        return Loaded(self.record, self.state, schema=self.schema) if self._was_ready else None

    # --- what the runtime asks -------------------------------------------------------------------------------------

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

    # --- sent, adopted, lost ---------------------------------------------------------------------------------------

    def _dispatch(self, now: int) -> None:
        attempt = self._attempt
        if attempt is not None and attempt.stop_by is not None and attempt.stop_by <= now:
            self._out.append(AbandonStep(attempt.token))
            self._out.append(Report("warning", f"attempt abandoned, it did not stop within {in_words(self._limits.cancel_grace)}: {attempt.token}"))
            attempt = self._attempt = None
        if attempt is not None or self._chosen or self._suspect is not None or self._answer is not None or self._lost is not None:
            return
        pending = rules.due(self.record, now)
        token = self._pending_token()
        if pending is None or token is None or rules.decide_deadline(self.record, now) is not None:
            return
        self._attempt = Attempt(token)
        target, record = pending.target, self.record
        alone = rules.runs_alone(pending)
        self._out.append(
            RunStep(
                token, target.step, target.input, self.state, record.state_sequence, record.sequence, record.trace, pending.since, alone, pending.sent
            )
        )

    def _on_step_chosen(self, chosen: StepChosen, now: int) -> None:
        attempt = self._attempt
        if attempt is not None and attempt.token == chosen.token and attempt.sent_at is None:
            self._attempt = None
            self._chosen = chosen.token

    def _on_step_sent(self, sent: StepSent, now: int) -> None:
        attempt = self._attempt
        if attempt is not None and attempt.token == sent.token:
            attempt.base = self.record.state_sequence
            attempt.base_state = self.state
            self._unread = ""
            self._begin(attempt, sent.spec, now)

    def _begin(self, attempt: Attempt, spec: ComponentSpec, sent_at: int) -> None:
        step = rules.step_of(spec, self.record.pending.target.step if self.record.pending else "")
        attempt.spec = spec
        attempt.sent_at = sent_at
        if step is not None:
            attempt.timeout = step.timeout
            attempt.times_out_at = sent_at + step.timeout
            attempt.once = step.once

    def _on_adopted(self, adopted: AttemptAdopted, now: int) -> None:
        if self.phase is not Phase.READY:
            self._keep(adopted)
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
            self._keep(lost)
            return
        if self._suspect == lost.token:
            self._suspect = None
            self._lost = lost
        attempt = self._attempt
        if attempt is not None and attempt.token == lost.token:
            self._attempt = None
            if attempt.stop_by is None and self._answer is None:
                self._lost = lost

    # --- answered --------------------------------------------------------------------------------------------------

    def _on_step_answered(self, given: StepAnswered, now: int) -> None:
        self._used_at = now
        if self.phase is Phase.READY:
            self._take_answer(given, now)
        else:
            self._keep(AnswerWaited(given, now))

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

    # --- after an append -------------------------------------------------------------------------------------------

    def _acknowledge(self, token: Token) -> None:
        """The attempt's answer is durable."""
        self._out.append(AckStep(token, stale=False))
        if self._attempt is not None and self._attempt.token == token:
            self._attempt = None
        if self._answer is not None and self._answer.answer.token == token:
            self._answer = None

    def _reconcile(self, now: int) -> None:
        """Hold what is under way against what is pending: W5, the replaced attempt is told to stop."""
        token = self._pending_token()
        pending = self.record.pending
        if self._chosen is not None and (self._chosen != token or (pending is not None and pending.sent)):
            self._chosen = None
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
            attempt.stop_by = NEVER if attempt.once else now + self._limits.cancel_grace

    def _next_instant(self, now: int) -> int | None:
        record, attempt = self.record, self._attempt
        pause, pending = record.pause, record.pending
        earliest: int | None = None
        for instant in (
            record.until,
            pause.until if pause is not None and not record.held else None,
            pending.not_before if pending is not None else None,
            None if attempt is None else attempt.times_out_at if attempt.stop_by is None else attempt.stop_by,
        ):
            if instant is not None and instant > now and (earliest is None or instant < earliest):
                earliest = instant
        return earliest

    def _is_idle(self) -> bool:
        busy: Any = self._attempt or self._answer or self._chosen or self._lost or self._suspect
        return not busy and super()._is_idle()
