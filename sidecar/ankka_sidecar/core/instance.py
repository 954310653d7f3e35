"""The instance machine: the volatile half of one instance, pure. One input goes in, actions come out.

What is durable is in the record; this machine holds what is under way, and loses nothing when it is dropped.

    Loading ──Loaded──► Ready ──idle, fenced──► Gone
       ▲                  │
       └──append uncertain or in conflict

Turns. At most one command handler (or fold) and one append are out. While an append is out nothing is decided; while a
handler is out, step answers and deadlines wait; after each command a waiting internal input goes first, so steady
commands cannot starve a step. Queries and the lifecycle wait for nothing but the load. Every deadline is checked
against the record when its turn comes, so a late wake-up does no harm.

Invariants: I1 sequences without gaps (`next_place`, and the journal refuses anything else). I3 a reply leaves only
after its effect is durable. I5 a refusal appends nothing. I8 only the pending attempt's answer is taken.

Neighbours: `workflow_instance`, `entity_instance` and `key_value_instance` fill in the kinds; `runtime.performer` does the actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Fingerprinted, Refused, Replied, WorkflowCommandDone
from ankka.protocol.payload import Payload
from ankka_sidecar.core.actions import Action, AskHandler, CancelAsk, Passivate, Reply, WakeAt
from ankka_sidecar.core.durations import in_words
from ankka_sidecar.core.inputs import (
    AppendConflicted,
    Appended,
    AppendFenced,
    AppendRefused,
    AppendUncertain,
    AskLost,
    CallDropped,
    CallMade,
    CallWithdrawn,
    EndAsked,
    HandlerAnswered,
    Input,
    LifecycleAsked,
    Loaded,
    LoadFailed,
    OperatorAsked,
    ReplyFound,
    RoomNeeded,
    Woke,
)
from ankka_sidecar.core.journalling import NO_ACTIONS, Journalled, Phase
from ankka_sidecar.core.keyed import Asking, Keyed, told
from ankka_sidecar.core.limits import Limits

STAYS_FOR = 3_000_000
"""µs: a machine that has something to do so soon stays, for the sweep that brings it back is not exact."""


class Instance(Keyed):
    """What workflows and entities have in common; see the module."""

    _effect_type: ClassVar[type[WorkflowCommandDone | EntityCommandDone]]

    __slots__ = ("_armed", "_operators", "_queries", "_used_at")

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        """`salt` is drawn at random by the runtime: effect ids of this machine count up from it."""
        super().__init__(component, instance, limits, salt)
        self._queries: dict[int, Asking] | None = None
        self._operators: tuple[OperatorAsked, ...] = ()
        self._armed: int | None = None
        self._used_at = 0

    # --- the one entry point ---------------------------------------------------------------------------------------

    def start(self, now: int) -> list[Action]:
        """The first actions of a new machine."""
        out = self._out = []
        self._used_at = now
        self._load()
        self._out = NO_ACTIONS
        return out

    def expect(self, now: int) -> None:
        """Instead of `start`: what is known of the instance comes as `Loaded` without being read."""
        self._used_at = now
        self._load_is_out = True

    def handle(self, given: Input, now: int) -> list[Action]:
        """Take one input, answer what is to be done, in order."""
        out = self._out = []
        if self.phase is Phase.GONE and isinstance(given, (CallMade, LifecycleAsked, EndAsked, OperatorAsked)):
            self._refuse(given.call, ErrorCode.UNAVAILABLE, f"{self.component}/{self.instance} has just left memory; nothing was done, try again")
            return out
        self._handlers[type(given)](self, given, now)
        if self.phase is Phase.READY:
            self._advance(now)
        self._arm(now)
        self._out = NO_ACTIONS
        return out

    def _take(self, given: Input, now: int) -> None:
        self._handlers[type(given)](self, given, now)

    def _advance(self, now: int) -> None:
        if self._appending is not None:
            return
        if self._asking is None and now >= self._held_until and self._decide(now):
            return
        self._dispatch(now)
        if self._asking is None:
            self._next_command(now)

    def _next_command(self, now: int) -> None:
        while self._mailbox:
            call = self._mailbox.popleft()
            if call.deadline > now:
                self._begin_command(call, now)
                return
            self._refuse(call.call, ErrorCode.TIMEOUT, f"'{call.handler}' had no turn within its time", {"outcome": "not done"})

    def _shed(self) -> None:
        """An idle machine keeps no empty containers: there may be a hundred thousand of them."""
        if not self._mailbox:
            self._mailbox = None
        if not self._queries:
            self._queries = None
        if not self._early:
            self._early = None

    def _arm(self, now: int) -> None:
        """Ask for the next wake-up, and leave when there is nothing to do."""
        if self.phase is Phase.GONE or (self._appending is not None and self._armed is not None and not self._queries):
            return  # gone, or what comes of the append is looked at when it has come; a query's time runs meanwhile
        if self._used_at + self._limits.passivate_after <= now and self._may_leave(now):
            self.phase = Phase.GONE
            self._out.append(Passivate())
            return
        if self._mailbox is not None or self._queries is not None or self._early is not None:
            self._shed()
        wake = self._next_wake(now)
        if self._armed is None or wake < self._armed:
            self._armed = wake
            self._out.append(WakeAt(wake))

    def _next_operator(self) -> OperatorAsked:
        first, *rest = self._operators
        self._operators = tuple(rest)
        return first

    def _may_leave(self, now: int) -> bool:
        if self.phase is not Phase.READY or self._held_until > now or not self._is_idle():
            return False
        instant = self._next_instant(now)
        return instant is None or instant - now > STAYS_FOR

    def _next_wake(self, now: int) -> int:
        """When to look again. Only what `armed` covers already, a handler's time, may lie before `now`."""
        wake = self._used_at + self._limits.passivate_after
        if wake <= now:
            wake = now + self._limits.passivate_after
        if self._asking is not None and self._asking.deadline < wake:
            wake = self._asking.deadline
        if self._queries:  # in order of their deadlines: the first is the earliest
            deadline = next(iter(self._queries.values())).deadline
            wake = min(wake, deadline)
        if self.phase is Phase.READY and self._appending is None:
            # While a handler is out a deadline that comes is decided after it; an attempt that waited may begin at once.
            instant = self._next_instant(now)
            if instant is not None and instant < wake:
                wake = instant
        if wake > self._held_until > now:
            wake = self._held_until
        return wake

    def _is_idle(self) -> bool:
        return not (self._mailbox or self._operators or self._asking or self._appending or self._queries or self._early or self._uncertain)

    # --- calls -----------------------------------------------------------------------------------------------------

    def _on_call(self, call: CallMade, now: int) -> None:
        self._used_at = now
        if call.read_only:
            if self.phase is Phase.READY and self._can_query():
                self._ask_query(call, now)
            else:
                self._keep(call)
        elif self._mailbox is not None and len(self._mailbox) >= self._limits.max_mailbox:
            text = f"{len(self._mailbox)} commands wait for {self.component}/{self.instance} already (max-mailbox {self._limits.max_mailbox})"
            self._refuse(call.call, ErrorCode.RESOURCE_EXHAUSTED, text, {"limit": self._limits.max_mailbox})
        else:
            self._mail().append(call)

    def _can_query(self) -> bool:
        return True

    def _ask_command(self, call: CallMade, now: int) -> None:
        self._put_out(call, now)
        self._out.append(AskHandler(self._ask, call, self.state, self.record.sequence))

    def _ask_query(self, call: CallMade, now: int) -> None:
        if call.deadline <= now:
            self._refuse(call.call, ErrorCode.TIMEOUT, f"'{call.handler}' had no turn within its time", {"outcome": "not done"})
            return
        self._ask += 1
        if self._queries is None:
            self._queries = {}
        self._queries[self._ask] = Asking(self._ask, call, now + self._limits.handler_timeout)
        self._out.append(AskHandler(self._ask, call, self.state, self.record.sequence))

    def _on_dropped(self, dropped: CallDropped, now: int) -> None:
        for call in self._mailbox or ():
            if call.call == dropped.call:
                self._mail().remove(call)
                return
        if self._early:
            self._early = [waiting for waiting in self._early if getattr(waiting, "call", None) != dropped.call]
        self._operators = tuple(waiting for waiting in self._operators if waiting.call != dropped.call)
        queries = self._queries or {}
        for ask, query in queries.items():
            if query.call is not None and query.call.call == dropped.call:
                del queries[ask]
                self._out.append(CancelAsk(ask))
                return

    def _on_withdrawn(self, withdrawn: CallWithdrawn, now: int) -> None:
        """As for a dropped call, but its caller is told; one whose handler is out goes on."""
        number = withdrawn.call
        waits = any(call.call == number for call in (*(self._mailbox or ()), *(self._early or ())) if isinstance(call, CallMade))
        if waits or any(query.call is not None and query.call.call == number for query in (self._queries or {}).values()):
            self._on_dropped(CallDropped(number), now)
            self._out.append(Reply(number, withdrawn.error))

    def _on_operator(self, asked: OperatorAsked, now: int) -> None:
        self._used_at = now
        if self.phase is not Phase.READY:
            self._keep(asked)
            return
        asking = self._asking
        if asked.wanted == "delete" and asking is not None:
            # A handler that hangs must not keep its instance from being removed (F48).
            self._asking = None
            self._out.append(CancelAsk(asking.ask))
            if asking.call is not None:
                self._refuse(asking.call.call, ErrorCode.UNAVAILABLE, f"{self.component}/{self.instance} is being deleted; nothing was done")
        self._operators = (*self._operators, asked)

    def _on_answered(self, given: HandlerAnswered, now: int) -> None:
        query = self._queries.pop(given.ask, None) if self._queries else None
        if query is not None:
            assert query.call is not None
            self._out.append(Reply(query.call.call, _read_only_result(given.answer)))
            return
        asking = self._asking
        if asking is None or asking.ask != given.ask:
            return  # a late answer: the caller was told of the timeout
        self._asking = None
        self._schema = given.spec.fingerprint
        if asking.call is None:
            self._on_folded(given.answer, now)
        else:
            self._on_command_answered(asking.call, given, now)

    def _on_folded(self, answer: Any, now: int) -> None:
        raise NotImplementedError

    def _on_command_answered(self, call: CallMade, given: HandlerAnswered, now: int) -> None:
        answer = given.answer
        if isinstance(answer, (Replied, Refused)):
            self._out.append(Reply(call.call, _read_only_result(answer)))
            return
        if isinstance(answer, Fingerprinted):
            self._on_fingerprinted(call, answer)
            return
        if not isinstance(answer, self._effect_type):
            text = f"'{call.handler}' of {self.component} answered {type(answer).__name__}, expected {self._effect_type.__name__}"
            self._refuse(call.call, ErrorCode.INTERNAL, text)
            return
        if self.is_full and not answer.delete:
            self._refuse(call.call, ErrorCode.RESOURCE_EXHAUSTED, f"{self.full_text}; delete it, or raise the limit", {"limit": self._max_events})
            return
        event = self._command_event(call, answer, given.spec, now)
        if event is None:
            self._out.append(Reply(call.call, answer.reply))
            return
        fingerprint = None if call.key is None else told(call, answer.fingerprint)
        self._append(event, answer.state, now, call=call, reply=answer.reply, fingerprint=fingerprint)

    def _on_ask_lost(self, lost: AskLost, now: int) -> None:
        query = self._queries.pop(lost.ask, None) if self._queries else None
        if query is not None and query.call is not None:
            self._out.append(Reply(query.call.call, lost.error))
        elif self._asking is not None and self._asking.ask == lost.ask:
            asking, self._asking = self._asking, None
            if asking.call is None:
                self._fold_lost(lost.error, now)
            else:
                self._out.append(Reply(asking.call.call, lost.error))

    def _fold_lost(self, error: Error, now: int) -> None:
        raise NotImplementedError

    # --- time ------------------------------------------------------------------------------------------------------

    def _on_woke(self, woke: Woke, now: int) -> None:
        self._armed = None
        queries = self._queries or {}
        for ask, query in list(queries.items()):
            if query.deadline > now:
                break
            assert query.call is not None
            del queries[ask]
            self._give_up(ask, query.call)
        asking = self._asking
        if asking is not None and asking.deadline <= now:
            self._asking = None
            if asking.call is None:
                self._fold_lost(Error(ErrorCode.TIMEOUT, f"folding the events of {self.component}/{self.instance} took too long"), now)
                self._out.append(CancelAsk(asking.ask))
            else:
                self._give_up(asking.ask, asking.call)
        if self.phase is Phase.LOADING:
            self._driven = True
            if not self._load_is_out and self._held_until <= now:
                self._load()

    def _on_room_needed(self, needed: RoomNeeded, now: int) -> None:
        if self._may_leave(now):
            self.phase = Phase.GONE
            self._out.append(Passivate())

    def _give_up(self, ask: int, call: CallMade) -> None:
        self._out.append(CancelAsk(ask))
        within = in_words(self._limits.handler_timeout)
        text = f"'{call.handler}' of {self.component}/{self.instance} did not answer within {within} (handler-timeout)"
        self._refuse(call.call, ErrorCode.TIMEOUT, text, {"outcome": "not done"})

    # --- the end ---------------------------------------------------------------------------------------------------

    def _abandon(self, error: Error) -> None:
        """Leave at once: whoever waits hears `error`."""
        asked = [*(self._queries or {}).values(), *([self._asking] if self._asking is not None else [])]
        for asking in asked:
            self._out.append(CancelAsk(asking.ask))
            if asking.call is not None:
                self._out.append(Reply(asking.call.call, error))
        for asked_for in self._operators:
            self._out.append(Reply(asked_for.call, error))
        self._queries = None
        self._operators = ()
        self._asking = None
        self._was_ready = False  # what this machine knows is not to be believed any more
        self._fail_callers(error)
        self.phase: Phase = Phase.GONE
        self._out.append(Passivate())

    # --- which method takes which input ----------------------------------------------------------------------------

    _handlers: ClassVar[dict[type[Input], Callable[[Any, Any, int], None]]] = {
        CallMade: _on_call,
        CallDropped: _on_dropped,
        CallWithdrawn: _on_withdrawn,
        OperatorAsked: _on_operator,
        HandlerAnswered: _on_answered,
        RoomNeeded: _on_room_needed,
        AskLost: _on_ask_lost,
        ReplyFound: Keyed._on_reply_found,
        Woke: _on_woke,
        Appended: Journalled._on_appended,
        AppendConflicted: Journalled._on_conflicted,
        AppendFenced: Journalled._on_fenced,
        AppendRefused: Journalled._on_append_refused,
        AppendUncertain: Journalled._on_append_uncertain,
        Loaded: Journalled._on_loaded,
        LoadFailed: Journalled._on_load_failed,
    }


def _read_only_result(answer: Any) -> Payload | Error:
    if isinstance(answer, Replied):
        return answer.reply
    if isinstance(answer, Refused):
        return answer.error
    return Error(ErrorCode.INTERNAL, "a query's handler answered with an effect; queries only reply")
