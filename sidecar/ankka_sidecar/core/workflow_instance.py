"""The machine of a workflow instance: what its inputs lead to, who waits for its end, and what operators ask of it.

Its attempt is in `attempting`, the merge of its answer in `merging`. An answer of a later attempt waits until it is known
which calls the earlier ones had done: those it did not repeat are named in the event (W16).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import StepDone, StepFaulted, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import NOTHING, Payload
from ankka.protocol.spec import ComponentKind, ComponentSpec, RecoverySpec
from ankka_sidecar.core import lifecycle
from ankka_sidecar.core import workflow as rules
from ankka_sidecar.core.actions import FindCalls, Prune, Reply, Report
from ankka_sidecar.core.attempting import Attempting
from ankka_sidecar.core.durations import in_words
from ankka_sidecar.core.events import AnyEvent, Deleted, Ended, Failed, Held, Interrupted, Released, Retried
from ankka_sidecar.core.inputs import (
    AnswerWaited,
    AttemptAdopted,
    AttemptLost,
    CallDropped,
    CallMade,
    CallsFound,
    EndAsked,
    Input,
    LifecycleAsked,
    OperatorAsked,
    StateRead,
    StepAnswered,
    StepChosen,
    StepSent,
)
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.journalling import Appending, Phase
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.merging import Merging
from ankka_sidecar.core.records import WorkflowRecord
from ankka_sidecar.core.waiters import Waiter, answer_to, waiter_for

TIMEOUT_NAMES = frozenset(name for cls in TimeoutError.__mro__ for name in (cls.__name__, f"{cls.__module__}.{cls.__qualname__}"))
"""What `not_on` may call a step's timeout."""


class WorkflowInstance(Merging):
    """See the module."""

    __slots__ = ("_asked_calls", "_repeats", "_waiters")

    kind = ComponentKind.WORKFLOW
    _effect_type = WorkflowCommandDone

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        super().__init__(component, instance, limits, salt)
        self._waiters: tuple[Waiter, ...] = ()
        self._repeats: CallsFound | None = None
        """The calls the visit had done, once they were read for the answer that waits."""
        self._asked_calls = False

    # --- calls -----------------------------------------------------------------------------------------------------

    def _command_event(self, call: CallMade, answer: Any, spec: ComponentSpec, now: int) -> AnyEvent | None:
        assert isinstance(answer, WorkflowCommandDone), f"a workflow command answered {type(answer).__name__}"
        return rules.decide_command(self.record, answer, call.handler, spec.timeout, call.trace, now)

    def _on_lifecycle_asked(self, asked: LifecycleAsked, now: int) -> None:
        if self.phase is not Phase.READY:
            self._keep(asked)
            return
        view = lifecycle.of_workflow(self.record, self.waiting_for(now))
        self._out.append(Reply(asked.call, lifecycle.as_payload(view)))

    def _on_end_asked(self, asked: EndAsked, now: int) -> None:
        self._used_at = now
        if self.phase is not Phase.READY:
            self._keep(asked)
        else:
            self._waiters = (*self._waiters, waiter_for(asked.call, self.record))
            self._tell_waiters()

    def _tell_waiters(self) -> None:
        if not self._waiters:
            return
        waiting, self._waiters = self._waiters, ()
        for waiter in waiting:
            result = answer_to(waiter, f"{self.component}/{self.instance}", self.record, self.state)
            if result is None:
                self._waiters = (*self._waiters, waiter)
            else:
                self._out.append(Reply(waiter.call, result))

    def _on_dropped(self, dropped: CallDropped, now: int) -> None:
        self._waiters = tuple(waiter for waiter in self._waiters if waiter.call != dropped.call)
        super()._on_dropped(dropped, now)

    def _abandon(self, error: Error) -> None:
        for waiter in self._waiters:
            self._out.append(Reply(waiter.call, error))
        self._waiters = ()
        super()._abandon(error)

    def waiting_for(self, now: int) -> str | None:
        """Why nothing moves, in a sentence; `None` while a step runs or nothing should."""
        record, attempt = self.record, self._attempt
        if record.held and attempt is None:
            return "an operator to resume it"
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
            step = f"step '{pending.target.step}' of '{self.component}'"
            return f"a process that can read it: {self._unread}" if self._unread else f"a process that runs {step}"
        if pending.not_before is not None and pending.not_before > now:
            why = "next attempt, its process having died," if pending.deaths else "retry"
            return f"the {why} at {lifecycle.instant(pending.not_before):%Y-%m-%dT%H:%M:%SZ}"
        return None

    # --- decisions -------------------------------------------------------------------------------------------------

    def _decide(self, now: int) -> bool:
        record = self.record
        if self._operators:
            return self._decide_operator(self._next_operator(), now)
        # An attempt's clock stops when its answer arrives, so the budget is compared with that instant.
        event: AnyEvent | None = rules.decide_deadline(record, self._answered_at if self._answer is not None else now)
        if event is not None:
            self._append(event, None, now)
            return True
        if self._answer is not None:
            return self._decide_answer(self._answer, now)
        if self._chosen is not None:
            self._append(rules.decide_sent(record, now), None, now)
            return True
        if self._lost is not None:
            self._decide_lost(self._lost, now)
            return True
        attempt = self._attempt
        if attempt is not None and attempt.stop_by is None and attempt.times_out_at is not None and attempt.times_out_at <= now:
            recovery = self._recovery(attempt.spec)
            fault = rules.Fault(f"timed out after {in_words(attempt.timeout)}", TIMEOUT_NAMES.isdisjoint(recovery.not_on))
            self._fault(fault, recovery, attempt.token, None, now)
            return True
        return False

    def _decide_answer(self, given: StepAnswered, now: int) -> bool:
        answer = given.answer
        if isinstance(answer, StepDone):
            if self.record.changed and self._needs_merge(answer):
                return self._merge(answer, now)
            if answer.token.attempt > 1 and answer.calls is not None and self._repeats is None:
                self._find_calls(answer.token)
                return False
            event = rules.decide_step(self.record, answer, now, self._both, self._not_repeated(answer))
            self._append_within(event, answer.state, now, ack=answer.token)
        elif isinstance(answer, StepFaulted):
            fault = rules.Fault(answer.message, answer.retryable)
            self._fault(fault, self._recovery(given.spec), answer.token, answer.token, now)
        else:
            if answer.unreadable:
                self._unread = answer.reason
            interrupted = rules.decide_interrupted(self.record, answer.reason, now, began=not answer.unreadable)
            if isinstance(interrupted, rules.Fault):
                self._fault(interrupted, self._recovery(given.spec), answer.token, answer.token, now)
            else:
                self._append_within(interrupted, None, now, ack=answer.token, replaces=answer.token)
        return True

    def _decide_lost(self, lost: AttemptLost, now: int) -> None:
        interrupted = rules.decide_interrupted(self.record, lost.reason, now, death=lost.death, alone=lost.alone)
        if isinstance(interrupted, rules.Fault):
            self._fault(interrupted, self._recovery(lost.spec), lost.token, None, now)
        else:
            self._append_within(interrupted, None, now, replaces=lost.token)

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
        self._append_within(rules.decide_fault(self.record, fault, recovery, token, now), None, now, ack=ack, replaces=token)

    def _append_within(self, event: AnyEvent, state: Payload | None, now: int, *, ack: Token | None = None, replaces: Token | None = None) -> None:
        """Append what a step led to; where the journal is full, the run fails instead of growing for ever."""
        if self.is_full and not isinstance(event, (Ended, Failed)):
            step = self.record.pending.target.step if self.record.pending else None
            event, state = Failed(now, str(ErrorCode.RESOURCE_EXHAUSTED), self.full_text, step), None
        if isinstance(event, (Retried, Interrupted)):
            event = self._warn_of_forgotten(event, now)
        self._append(event, state, now, ack=ack, replaces=replaces)

    # --- calls of earlier attempts (W16) -----------------------------------------------------------------------------

    def _find_calls(self, token: Token) -> None:
        if not self._asked_calls:
            self._asked_calls = True
            self._out.append(FindCalls(token))

    def _on_calls_found(self, found: CallsFound, now: int) -> None:
        if self._answer is not None and self._answer.answer.token == found.token:
            self._repeats = found

    def _not_repeated(self, answer: StepDone) -> tuple[str, ...]:
        """What earlier attempts of the visit had done and this one did not ask for: its inputs were others."""
        if self._repeats is None or answer.calls is None:
            return ()
        made = set(answer.calls)
        calls = tuple(text for key, text in self._repeats.calls if key not in made)
        if calls:
            text = f"{answer.token} did not repeat calls that an earlier attempt had done (another input, or another way)"
            self._out.append(Report("warning", f"{text}: {', '.join(calls)}"))
        return calls

    def _warn_of_forgotten(self, event: Retried | Interrupted, now: int) -> Retried | Interrupted:
        """A visit that is older than replies are kept: what it had done first may be done again."""
        pending = self.record.pending
        assert pending is not None
        if max(now, event.not_before or 0) < pending.since + self._limits.step_call_retention:
            return event
        kept = in_words(self._limits.step_call_retention)
        text = f"step '{pending.target.step}' of {self.component}/{self.instance} runs again more than {kept} after it began"
        self._out.append(Report("warning", f"{text}: calls it made before that may be made again (step-call-retention)"))
        return msgspec.structs.replace(event, forgotten=True)

    # --- operators (W18) -------------------------------------------------------------------------------------------

    def _decide_operator(self, asked: OperatorAsked, now: int) -> bool:
        """True if an append was begun."""
        record = self.record
        event: AnyEvent | None = None
        if asked.wanted == "delete":
            event = Deleted(now, asked.by, reason=asked.reason) if record.sequence else None
            if event is None:
                self._refuse(asked.call, ErrorCode.NOT_FOUND, f"there is no {self.component}/{self.instance} to delete")
        elif not record.is_live:
            status = record.status
            self._refuse(asked.call, ErrorCode.CONFLICT, f"{self.component}/{self.instance} is {status}: there is no run to {_VERBS[asked.wanted]}")
        elif asked.wanted == "cancel" and record.pending is not None and record.pending.target.step == asked.cancel_to:
            # It is being cancelled already: the compensation that runs is not begun anew.
            self._out.append(Reply(asked.call, Payload(b"", NOTHING)))
        elif asked.wanted == "cancel":
            event = rules.decide_cancel(record, asked.cancel_to, asked.by, asked.reason, now)
        elif record.held == (asked.wanted == "hold"):
            self._out.append(Reply(asked.call, Payload(b"", NOTHING)))
        else:
            event = Held(now, asked.by, asked.reason) if asked.wanted == "hold" else Released(now, asked.by, asked.reason)
        if event is None:
            return self._decide(now)
        self._append(event, None, now, operator=asked.call)
        return True

    # --- after an append -------------------------------------------------------------------------------------------

    def _evolved(self, event: AnyEvent) -> WorkflowRecord:
        return rules.evolve(self.record, event)  # type: ignore[arg-type]  # a workflow's machine appends workflow events only

    def _listing(self, record: WorkflowRecord) -> object:
        return (record.status, rules.deadline(record), record.held, record.run)

    def _settled(self, done: Appending, now: int) -> None:
        if self._unread and not isinstance(done.event, Interrupted):
            self._unread = ""
        if done.ack is not None:
            self._acknowledge(done.ack)
        if isinstance(done.event, Deleted):
            self.state: Payload | None = None
            self._out.append(Prune(done.record.generation))

    def _reconcile(self, now: int) -> None:
        self._tell_waiters()
        super()._reconcile(now)
        if self._answer is None:
            self._forget_merge()
            self._repeats = None
            self._asked_calls = False

    def _unstorable(self, done: Appending, message: str, now: int) -> None:
        given = self._answer
        if given is not None and done.ack == given.answer.token and isinstance(given.answer, StepDone):
            fault = StepFaulted(given.answer.token, ("Unstorable",), f"its effect cannot be stored: {message}", retryable=False)
            self._answer = StepAnswered(fault, given.spec)

    def _is_idle(self) -> bool:
        return not self._waiters and super()._is_idle()

    _handlers: ClassVar[dict[type[Input], Callable[[Any, Any, int], None]]] = {
        **Instance._handlers,
        CallDropped: _on_dropped,
        LifecycleAsked: _on_lifecycle_asked,
        EndAsked: _on_end_asked,
        StateRead: Merging._on_state_read,
        CallsFound: _on_calls_found,
        StepChosen: Attempting._on_step_chosen,
        StepSent: Attempting._on_step_sent,
        StepAnswered: Attempting._on_step_answered,
        AnswerWaited: Attempting._on_answer_waited,
        AttemptAdopted: Attempting._on_adopted,
        AttemptLost: Attempting._on_attempt_lost,
    }


_VERBS = {"hold": "pause", "release": "resume", "cancel": "cancel"}
