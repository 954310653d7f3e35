"""An instance machine's dealings with the journal: load, append, and what to do when either goes wrong.

Everything a machine decides leaves it as one `Append`; its reply and its consequences follow when that is durable (I3).
A refused append loses nothing: a caller is told, anything else is decided again a little later. A conflict means that
the record is stale, an uncertain commit that nobody knows: both read the journal again before anything else, one read
at a time, so that no answer is older than its question. A machine that has been ready never leaves over a journal that
cannot be read now: what it holds is not in the journal.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Any, ClassVar

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.keys import stored
from ankka.protocol.payload import NOTHING, Payload
from ankka.protocol.spec import ComponentKind, ComponentSpec
from ankka_sidecar.core.actions import Action, Append, Load, Reply, Report
from ankka_sidecar.core.events import AnyEvent
from ankka_sidecar.core.inputs import (
    AppendConflicted,
    Appended,
    AppendFenced,
    AppendRefused,
    AppendUncertain,
    CallMade,
    EndAsked,
    Input,
    LifecycleAsked,
    Loaded,
    LoadFailed,
    OperatorAsked,
)
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord, next_place

RETRY_JOURNAL = 1_000_000
"""µs until an append or a load that the journal refused is tried again."""


NO_ACTIONS: list[Action] = []
"""What a machine collects into while it takes no input: nothing may be added."""


class Phase(Enum):
    """Where a machine is."""

    LOADING = "loading"
    """The journal is being read; calls wait. Next: Ready, or Gone when it cannot be read and nobody needs it."""
    READY = "ready"
    """The record is that of the journal. Next: Gone when idle, Loading when an append's fate must be looked up."""
    GONE = "gone"
    """Dropped: whoever comes next makes a new machine."""


class Appending(msgspec.Struct, frozen=True, gc=False):
    """An effect on its way to the journal, and who hears of it."""

    effect: int
    event: AnyEvent
    record: WorkflowRecord | EntityRecord
    state: Payload | None
    call: CallMade | None = None
    reply: Payload | None = None
    ack: Token | None = None
    operator: int | None = None
    schema: str = ""

    @property
    def caller(self) -> int | None:
        """The call that hears of it."""
        return self.call.call if self.call is not None else self.operator


class Journalled:
    """The part of an instance machine that appends and loads; `instance.Instance` is the rest."""

    __slots__ = (
        "_appending",
        "_driven",
        "_early",
        "_effect",
        "_held_until",
        "_load_is_out",
        "_mailbox",
        "_max_events",
        "_out",
        "_schema",
        "_second_try",
        "_uncertain",
        "_was_ready",
        "component",
        "instance",
        "phase",
        "record",
        "schema",
        "shard",
        "state",
    )

    kind: ClassVar[ComponentKind]
    record: Any
    _journals_state: ClassVar[bool] = True
    """Whether a row carries the state its effect set; an event sourced entity's is in its events, and in snapshots."""
    _needs_all_rows: ClassVar[bool] = True
    """Whether what an instance is depends on all its rows, so that there may be only so many."""

    def __init__(self, component: str, instance: str, salt: int, max_events: int) -> None:
        self.component: str = component
        self.instance: str = instance
        self.shard: int = 0
        """The instance's shard; the runtime sets it, and the core does not look at it."""
        self.phase: Phase = Phase.LOADING
        self.state: Payload | None = None
        self.schema: str = ""
        """The fingerprint of the schema that wrote the state: an older process does not get it while a newer is there."""
        self._effect = salt
        self._max_events = max_events
        self._mailbox: deque[CallMade] | None = None
        self._early: list[Input] | None = None
        self._appending: Appending | None = None
        self._uncertain: Appending | None = None
        self._second_try: int | None = None
        self._held_until = 0
        self._load_is_out = False
        self._was_ready = False
        self._driven = False
        self._schema = ""
        self._out: list[Action] = NO_ACTIONS

    # --- what the kinds fill in ------------------------------------------------------------------------------------

    def _take(self, given: Input, now: int) -> None:
        """Take an input that came before the machine was ready."""
        raise NotImplementedError

    def _adopt(self, loaded: Loaded, now: int) -> bool:
        """Take the record and state that were read; false if they are another kind's."""
        raise NotImplementedError

    def _evolved(self, event: AnyEvent) -> Any:
        """The record after `event`."""
        raise NotImplementedError

    def _settled(self, done: Appending, now: int) -> None:
        """`done` is durable and its record is this machine's."""
        raise NotImplementedError

    def _unstorable(self, done: Appending, message: str, now: int) -> None:
        """The journal will never store `done`."""

    def _reconcile(self, now: int) -> None:
        """Hold what is under way against the record, which may have changed."""

    def _command_event(self, call: CallMade, answer: Any, spec: ComponentSpec, now: int) -> AnyEvent | None:
        """What a command's answer leads to."""
        raise NotImplementedError

    def _decide(self, now: int) -> bool:
        """Decide a waiting internal input; true if an append was begun."""
        raise NotImplementedError

    def _dispatch(self, now: int) -> None:
        """Begin what should be going on and is not."""
        raise NotImplementedError

    def _next_instant(self, now: int) -> int | None:
        """The next instant behind `now` at which `_decide` or `_dispatch` may have something to do."""
        raise NotImplementedError

    def _listing(self, record: Any) -> object:
        """What of the record its listing shows as status and deadline."""
        raise NotImplementedError

    # --- the journal -----------------------------------------------------------------------------------------------

    def _append(
        self, event: AnyEvent, state: Payload | None, now: int, *, call: CallMade | None = None, reply: Payload | None = None,
        ack: Token | None = None, operator: int | None = None, replaces: Token | None = None, fingerprint: bytes | None = None,
    ) -> None:  # fmt: skip
        record = self._evolved(event)
        generation, sequence = next_place(self.record, event.at)
        self._effect += 1
        self._appending = Appending(self._effect, event, record, state, call, reply, ack, operator, self._schema)
        changed = self.record.sequence == 0 or record.sequence == 0 or self._listing(record) != self._listing(self.record)
        trace = call.trace if call is not None else None
        if self._needs_all_rows and sequence == self._max_events * 4 // 5:
            text = f"the journal of {self.component}/{self.instance} has {sequence:,} effects; from {self._max_events:,} on it takes no more"
            self._out.append(Report("warning", f"{text} (max-journal-events)"))
        kept = state if self._journals_state else None
        if call is None or call.key is None:
            self._out.append(Append(self._effect, generation, sequence, event, record, kept, changed, self._schema, trace, replaces))
            return
        self._out.append(
            Append(
                self._effect, generation, sequence, event, record, kept, changed, self._schema, trace, replaces,
                stored(call.key, generation), fingerprint, reply, call.forgets,
            )
        )  # fmt: skip

    def _on_appended(self, given: Appended, now: int) -> None:
        done = self._appending
        if done is None or done.effect != given.effect:
            return
        self._appending = None
        self.record = done.record
        if done.state is not None:
            self.state = done.state
        self._is_durable(done, now)
        self._reconcile(now)

    def _is_durable(self, done: Appending, now: int) -> None:
        self._second_try = None
        if done.state is not None:
            self.schema = done.schema
        if done.operator is not None:
            self._out.append(Reply(done.operator, Payload(b"", NOTHING)))
        if done.call is not None and done.reply is not None:
            self._out.append(Reply(done.call.call, done.reply))
        self._settled(done, now)

    def _on_conflicted(self, given: AppendConflicted, now: int) -> None:
        """The record was stale: read again, decide once more; the second time it is a bug of ours."""
        done = self._take_appending(given.effect)
        if done is None:
            return
        again = self._second_try is None
        self._out.append(Report("error", f"append to {self.component}/{self.instance} at sequence {self.record.sequence + 1} met another row"))
        if done.call is not None and again:
            self._mail().appendleft(msgspec.structs.replace(done.call, fresh=False, forgets=False))
        elif done.call is not None:
            text = f"the journal of {self.component}/{self.instance} is not as this node knows it; please report it"
            self._refuse(done.call.call, ErrorCode.INTERNAL, text)
        elif done.operator is not None:
            self._refuse(done.operator, ErrorCode.UNAVAILABLE, f"{self.component}/{self.instance} has changed meanwhile, nothing was done; try again")
        self._second_try = done.effect
        self._reload(now if again else now + RETRY_JOURNAL, now)

    def _on_fenced(self, given: AppendFenced, now: int) -> None:
        done = self._take_appending(given.effect)
        text = f"{self.component}/{self.instance} has moved to another node; try again"
        if done is not None and done.caller is not None:
            self._refuse(done.caller, ErrorCode.UNAVAILABLE, text)
        self._abandon(Error(ErrorCode.UNAVAILABLE, text))

    def _on_append_refused(self, given: AppendRefused, now: int) -> None:
        done = self._take_appending(given.effect)
        if done is None:
            return
        if done.caller is not None:
            code = ErrorCode.INTERNAL if given.permanent else ErrorCode.UNAVAILABLE
            self._refuse(done.caller, code, f"the journal refused the effect, nothing was done: {given.message}")
        else:
            self._held_until = now + RETRY_JOURNAL  # what led here is still there, and is decided again
            if given.permanent:
                self._unstorable(done, given.message, now)

    def _on_append_uncertain(self, given: AppendUncertain, now: int) -> None:
        done = self._take_appending(given.effect)
        if done is not None:
            self._uncertain = done
            self._reload(now, now)

    def kept(self) -> Loaded | None:
        """What a new machine may begin with instead of reading the journal; `None` where this one does not know."""
        return None

    @property
    def is_full(self) -> bool:
        """The journal has as many effects as one instance may have."""
        sequence: int = self.record.sequence
        return self._needs_all_rows and sequence >= self._max_events

    @property
    def full_text(self) -> str:
        """What whoever wants more is told."""
        where = f"{self.component}/{self.instance}"
        return f"the journal of {where} has {self.record.sequence:,} effects and takes no more (max-journal-events {self._max_events:,})"

    def _mail(self) -> deque[CallMade]:
        """The commands that wait, to add one or take one out."""
        if self._mailbox is None:
            self._mailbox = deque()
        return self._mailbox

    def _keep(self, given: Input) -> None:
        """Take it when the machine is ready."""
        if self._early is None:
            self._early = []
        self._early.append(given)

    def _take_appending(self, effect: int) -> Appending | None:
        done = self._appending
        if done is None or done.effect != effect:
            return None
        self._appending = None
        return done

    def _reload(self, at: int, now: int) -> None:
        self.phase = Phase.LOADING
        self._held_until = at
        if at <= now:
            self._load()

    def _load(self, *, from_the_beginning: bool = False) -> None:
        self._load_is_out = True
        self._out.append(Load(from_the_beginning))

    def _on_loaded(self, loaded: Loaded, now: int) -> None:
        if self.phase is not Phase.LOADING or not self._load_is_out:
            return
        self._load_is_out = False
        if not self._adopt(loaded, now):
            text = f"the journal of {self.component}/{self.instance} is that of another kind of component: give this one another component_id"
            self._abandon(Error(ErrorCode.INTERNAL, text))
            return
        self.phase = Phase.READY
        self.schema = loaded.schema
        self._was_ready = True
        self._held_until = 0
        uncertain, self._uncertain = self._uncertain, None
        if uncertain is not None and uncertain.effect == loaded.effect:
            self._is_durable(uncertain, now)
        elif uncertain is not None and uncertain.caller is not None:
            self._refuse(uncertain.caller, ErrorCode.UNAVAILABLE, "the journal lost the effect, nothing was done; try again")
        self._reconcile(now)
        early, self._early = self._early or (), None
        for given in early:
            self._take(given, now)

    def _on_load_failed(self, failed: LoadFailed, now: int) -> None:
        if self.phase is not Phase.LOADING or not self._load_is_out:
            return
        self._load_is_out = False
        keep = [given for given in self._early or () if not isinstance(given, (CallMade, LifecycleAsked, EndAsked, OperatorAsked))]
        uncertain = self._uncertain
        if uncertain is not None and uncertain.caller is not None:
            self._refuse(uncertain.caller, ErrorCode.TIMEOUT, f"the effect's fate is unknown: {failed.error.message}", {"outcome": "unknown"})
            self._uncertain = msgspec.structs.replace(uncertain, call=None, operator=None)
        if failed.error.code is ErrorCode.INTERNAL or not (keep or self._driven or self._was_ready):
            self._abandon(failed.error)  # rows that cannot be read, or nobody who needs them now
            return
        self._fail_callers(failed.error)
        self._early = keep
        self._held_until = now + RETRY_JOURNAL

    def _abandon(self, error: Error) -> None:
        """Leave at once: whoever waits hears `error`."""
        raise NotImplementedError

    def _fail_callers(self, error: Error) -> None:
        for given in (*(self._mailbox or ()), *(self._early or ())):
            if isinstance(given, (CallMade, LifecycleAsked, EndAsked, OperatorAsked)):
                self._out.append(Reply(given.call, error))
        self._mailbox = None
        self._early = None

    def _refuse(self, call: int, code: ErrorCode, message: str, details: dict[str, Any] | None = None) -> None:
        self._out.append(Reply(call, Error(code, message, details or {})))
