"""Everything around a workflow's machine, as a model: journal, process, callers, clock; it checks what it is asked for.

Checked with each action: one append and one load out, I1 sequences, I3 replies behind their effect, I7 one end per run,
one attempt at a time (W4, W5), no wake-up in the past, nothing left behind at passivation; I6 the record is the fold;
I4 a key has one effect, and whoever repeats it with the same input hears its reply.
"""

from collections import Counter

import msgspec
from ankka_sidecar.core import actions as act
from ankka_sidecar.core import events as facts
from ankka_sidecar.core import inputs
from ankka_sidecar.core.journalling import Phase
from ankka_sidecar.core.keyed import FINGERPRINT
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.records import WorkflowRecord, next_place
from ankka_sidecar.core.workflow import deadline, decide_deadline, evolve
from ankka_sidecar.core.workflow_instance import WorkflowInstance

from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Fingerprinted
from ankka.protocol.payload import Payload
from tests.unit.core.machine import CHECKOUT, ONE, T0, S, step, workflow

LIMITS = Limits(handler_timeout=10 * S, cancel_grace=5 * S, passivate_after=120 * S, max_mailbox=4)
SPEC = workflow(
    step("a", timeout=8 * S, retries=1, to="c"), step("b", timeout=20 * S, retries=2, backoff=3 * S), step("c", timeout=8 * S), timeout=90 * S
)


def record_of(action: act.Append) -> WorkflowRecord:
    """The record an append carries."""
    assert isinstance(action.record, WorkflowRecord)
    return action.record


def decoded(call: inputs.CallMade) -> bytes:
    """The fingerprint of a call's input once it is decoded; blanks mean nothing to it."""
    given = call.input
    return keys.fingerprint(call.handler, None if given is None else Payload(given.data.replace(b" ", b"")))


class World:
    """See the module."""

    def __init__(self) -> None:
        self.now = T0
        self.rows: list[act.Append] = []
        self.record = WorkflowRecord()
        self.state: Payload | None = None
        self.salt = 0
        self.waiting: dict[int, Payload | None] = {}
        """Calls that have no answer yet, with the reply that must not leave before its effect."""
        self.keyed: dict[int, inputs.CallMade] = {}
        """Calls with a key that have no answer yet."""
        self.promises: dict[int, int] = {}
        """The effect that a call's reply waits for."""
        self.dropped: set[int] = set()
        self.calls = 0
        self.running: dict[Token, int | None] = {}
        """What a process runs, and when it was told to stop."""
        self.sent: set[Token] = set()
        self.bases: dict[Token, int] = {}
        """The sequence of the state each attempt was sent with."""
        self.strays: dict[Token, int | None] = {}
        """What was said to be lost and runs all the same."""
        self.told: Counter[str] = Counter()
        self.restarts = 0
        self.excused = False
        """The machine may leave whatever is due: its shard is another node's, or its journal cannot be read."""
        self.incarnation = 0
        self.begin(foreign=False)

    # --- lives of the machine ---

    def begin(self, *, foreign: bool) -> None:
        """A new machine, as after a start (`foreign`) or a passivation."""
        self.salt += 1_000_000
        self.machine = WorkflowInstance(CHECKOUT, ONE, LIMITS, self.salt)
        if foreign:
            self.incarnation = self.salt
        self.appending: act.Append | None = None
        self.load_out = False
        self.asks: dict[int, act.AskHandler | act.AskMerge | act.AskFingerprint] = {}
        self.seeking: act.FindReply | None = None
        self.finding: Token | None = None
        self.reading: act.ReadState | None = None
        self.merged_onto = 0
        self.queued: act.RunStep | None = None
        self.wake: int | None = None
        self.gone = False
        self.perform(self.machine.start(self.now))

    def restart(self) -> None:
        """The sidecar dies: callers, questions and the machine are gone; the process runs on."""
        self.waiting.clear()
        self.keyed.clear()
        self.restarts += 1
        self.begin(foreign=True)

    def give(self, given: inputs.Input) -> None:
        """Feed the machine, as the node does."""
        if self.gone:
            self.begin(foreign=False)
        self.perform(self.machine.handle(given, self.now))
        machine = self.machine
        if machine.phase is Phase.READY:
            assert machine.record == self.record, "I6: the record is the fold of the journal"
            assert machine.state == self.state, "I6: the state is the journal's"

    # --- what the machine asks for ---

    def perform(self, asked: list[act.Action]) -> None:
        """Note what is asked for, and check it."""
        for action in asked:
            self.told[type(action).__name__] += 1
            match action:
                case act.Append():
                    self.appends(action)
                case act.Reply():
                    self.replies(action)
                case act.RunStep():
                    self.runs(action)
                case act.CancelStep():
                    self.cancels(action.token)
                case act.Load():
                    assert not self.load_out, "one load at a time"
                    self.load_out = True
                case act.AskHandler():
                    assert action.state == self.state, "W3: handlers see the last journalled state"
                    self.asks[action.ask] = action
                    assert len(self.turns()) <= 1, "W3: one command at a time"
                case act.AskMerge():
                    assert action.current == self.state, "W14: merged with the last journalled state"
                    self.asks[action.ask] = action
                    assert len(self.turns()) == 1, "no command while a merge is out"
                case act.AskFingerprint():
                    self.asks[action.ask] = action
                    assert len(self.turns()) == 1, "its turn is not over while its input is compared"
                case act.ReadState():
                    assert self.reading is None
                    self.reading = action
                case act.FindReply():
                    assert not self.turns(), "W15: it is looked up when it is its turn"
                    self.seeking = action
                case act.FindCalls():
                    self.finding = action.token
                case act.CancelAsk():
                    if self.seeking is not None and self.seeking.ask == action.ask:
                        self.seeking = None
                    else:
                        del self.asks[action.ask]
                case act.WakeAt():
                    assert action.at > self.now, "no wake-up in the past: that would be a hot loop"
                    self.wake = action.at
                case act.Passivate():
                    self.passivates()
                case _:
                    pass

    def turns(self) -> list[int]:
        """The commands and merges that are out."""
        return [number for number, ask in self.asks.items() if isinstance(ask, act.AskMerge) or not ask.call.read_only]

    def find_reply(self) -> None:
        """The journal answers what the key of the command whose turn it is left."""
        assert self.seeking is not None
        sought, self.seeking = self.seeking, None
        assert sought.generation == self.record.generation
        assert sought.reborn == (len({row.generation for row in self.rows}) > 1), "all lives are looked through where there were more"
        row = self.left_by(sought.key)
        if row is None:
            self.give(inputs.ReplyFound(sought.ask))
        else:
            self.give(inputs.ReplyFound(sought.ask, row.reply, row.fingerprint or b"", row.event.at, row.generation, row.sequence))

    def left_by(self, key: bytes | None) -> act.Append | None:
        """The row of a command with that key, of whichever life."""
        return next((row for row in self.rows if key is not None and row.key == keys.stored(key, row.generation)), None)

    def find_calls(self) -> None:
        """The journal answers which calls a visit had done: none of them."""
        assert self.finding is not None
        token, self.finding = self.finding, None
        self.give(inputs.CallsFound(token, ()))

    def fingerprint(self, ask: int, asked: act.AskFingerprint) -> None:
        """A process says which input it is: of this model's inputs it ignores blanks."""
        self.give(inputs.HandlerAnswered(ask, Fingerprinted(0, decoded(asked.call)), SPEC))

    def read_state(self) -> None:
        """The journal answers what an attempt was sent with."""
        assert self.reading is not None
        sequence, generation = self.reading.sequence, self.reading.generation
        self.reading = None
        states = [row.state for row in self.rows if (row.generation, row.sequence) == (generation, sequence)]
        self.give(inputs.StateRead(sequence, states[0] if states else None))

    def appends(self, action: act.Append) -> None:
        assert self.appending is None, "one append at a time"
        named = [row.key[:1] + row.key[9:] for row in (*self.rows, action) if row.key is not None]
        assert len(named) == len(set(named)), "I4: one key, one effect, whatever life"
        assert (action.key is None) == (action.fingerprint is None), "a keyed effect says what it was done for"
        assert not self.turns(), "nothing is decided while a handler is out"
        if getattr(action.event, "merged", ()):
            assert self.merged_onto == self.record.state_sequence, "W14: what commands set since the merge would be lost"
        assert (action.generation, action.sequence) == next_place(self.record, action.event.at), "I1: without gaps"
        assert not isinstance(action.event, facts.Persisted)
        record = record_of(action)
        assert record == evolve(self.record, action.event), "I6"
        listing = deadline(record) != deadline(self.record) or record.status != self.record.status
        assert action.listing_changed or not listing, "I9: every deadline has its row"
        self.appending = action

    def replies(self, action: act.Reply) -> None:
        assert action.call in self.waiting or action.call in self.dropped or self.restarts, "one reply per call"
        promised = self.waiting.pop(action.call, None)
        asked = self.keyed.pop(action.call, None)
        stored = None if asked is None else self.left_by(asked.key)
        if asked is not None and stored is not None and isinstance(action.result, Payload):
            assert action.result == stored.reply, "I4: one key, one reply"
            assert stored.fingerprint is not None
            assert stored.fingerprint[FINGERPRINT:] == decoded(asked), "W15: another input never gets it"
        if isinstance(action.result, Error) and action.result.code is ErrorCode.UNAVAILABLE:
            done = self.promises.get(action.call) in {row.effect for row in self.rows}
            assert not done, "UNAVAILABLE means certainly not done"
        if promised is not None and action.result == promised:
            last = self.rows[-1].effect if self.rows else 0
            assert last == self.promises[action.call], "I3: a reply leaves behind its effect"

    def runs(self, action: act.RunStep) -> None:
        assert self.queued is None, "one attempt at a time"
        for token, told in self.running.items():
            assert told is not None, f"W5: {action.token} begins while {token} runs and was not told to stop"
            assert self.now >= told + LIMITS.cancel_grace, f"W5: {action.token} begins before {token} had its time to stop"
        self.running.clear()
        assert action.token not in self.sent, f"W4: {action.token} is sent twice"
        assert action.token == self.record.token(CHECKOUT, ONE), "only the pending attempt is sent"
        assert action.base == self.record.state_sequence
        assert self.appending is None
        self.queued = action

    def cancels(self, token: Token) -> None:
        if self.queued is not None and self.queued.token == token:
            self.queued = None
        for places in (self.running, self.strays):
            if token in places and places[token] is None:
                places[token] = self.now

    def passivates(self) -> None:
        assert self.seeking is None
        under_way = (self.queued, self.appending, *self.asks)
        assert under_way == (None, None), "nothing under way is left behind"
        assert not [token for token, told in self.running.items() if told is None or self.now < told + LIMITS.cancel_grace]
        assert not (self.waiting.keys() - self.dropped), "no caller is left behind"
        assert self.excused or decide_deadline(self.record, self.now) is None, "nothing is left while something is due"
        self.gone, self.wake = True, None

    # --- what happens to the machine ---

    def send(self) -> None:
        """The queued attempt goes to the process."""
        assert self.queued is not None
        token, self.queued = self.queued.token, None
        self.sent.add(token)
        self.bases[token] = self.record.state_sequence
        self.running[token] = None
        self.give(inputs.StepSent(token, SPEC))

    def store(self) -> act.Append:
        """The append reaches the journal."""
        action = self.appending
        assert action is not None
        self.appending = None
        assert (action.generation, action.sequence) == next_place(self.record, action.event.at), "I1: the journal would refuse it"
        if self.record.status in ("Completed", "Failed"):
            following = isinstance(action.event, (facts.Started, facts.Updated, facts.Deleted))
            assert following, f"I7: {action.event} of a run that has ended"
        self.rows.append(action)
        self.record = record_of(action)
        encoded = msgspec.msgpack.encode(action.record)
        assert msgspec.msgpack.decode(encoded, type=WorkflowRecord) == action.record
        self.state = None if isinstance(action.event, facts.Deleted) else action.state or self.state
        return action

    def load(self) -> None:
        """The journal answers a load."""
        self.load_out = False
        if not self.rows:
            self.give(inputs.Loaded(None))
            return
        self.give(inputs.Loaded(self.record, self.state, self.rows[-1].effect, self.rows[-1].effect < self.incarnation))

    def fail_load(self) -> None:
        """The journal cannot be read now."""
        self.load_out = False
        self.excused = True
        self.give(inputs.LoadFailed(Error(ErrorCode.UNAVAILABLE, "no journal")))
        self.excused = False

    def sleep(self, duration: int) -> None:
        """Time passes; the timer wakes the machine when it asked for it."""
        until = self.now + duration
        woken = 0
        while self.wake is not None and self.wake <= until:
            self.now, self.wake = self.wake, None
            self.give(inputs.Woke())
            woken += 1
            assert woken < 100, "a hot loop"
        self.now = until
