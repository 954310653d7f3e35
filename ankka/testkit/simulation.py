"""One instance on the engine's own rules: its machine from the sidecar's core, a journal in memory, a clock that a test moves.

What the machine asks for is done at once, as the sidecar's performer does it; handlers run by the SDK's own dispatch. Nothing
happens between two calls of a kit. Within one, everything goes on that can at the present instant (`settle`), and time
passes only from one instant at which something is due to the next (`pass_time`).

Neighbours: `workflow_simulation` adds steps; `loop_thread` is where user code runs.
"""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from ankka_sidecar.core import actions
from ankka_sidecar.core.events import Failed, FailedOver, Interrupted, Retried
from ankka_sidecar.core.inputs import Appended, AskLost, CallMade, HandlerAnswered, Input, LifecycleAsked, Loaded, ReplyFound, StateRead, Woke
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.timeline import items_of

from ankka.client import ComponentClient
from ankka.process.dispatch import CommandAnswer
from ankka.process.requests import answer_to, origin_of
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, WorkflowCommandDone
from ankka.protocol.journal_entry import JournalEntry
from ankka.protocol.keys import stored
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentSpec
from ankka.testkit.limits import LIMITS, NEVER, UNBOUNDED
from ankka.testkit.loop_thread import LoopThread
from ankka.testkit.requests import command_or_query, handled, question
from ankka.testkit.scripted_link import ScriptedLink
from ankka.testkit.simulated_loop import SimulatedClock, SimulatedLoop
from ankka.testkit.tested import Tested

log: logging.Logger = logging.getLogger("ankka.testkit")

CALL_TIME = 30_000_000
"""µs a kit's own call may take, as a client's outside."""

Effect = WorkflowCommandDone | EntityCommandDone


@dataclass(frozen=True, slots=True)
class Called:
    """What a command or a query came to: its result, the effect the handler gave, and its place in the journal."""

    result: Payload | Error
    effect: Effect | None = None
    row: actions.Append | None = None


@dataclass(slots=True)
class _Asked:
    """A handler that is out."""

    ask: int
    call: int
    task: "asyncio.Task[CommandAnswer]"
    link: ScriptedLink


@dataclass(slots=True)
class _Calls:
    """What is known of the kit's own calls, by their numbers."""

    results: dict[int, Payload | Error] = field(default_factory=dict[int, Payload | Error])
    effects: dict[int, Effect] = field(default_factory=dict[int, Effect])
    asks: dict[int, int] = field(default_factory=dict[int, int])
    """Whose effect the answer to a question is."""
    rows: dict[int, actions.Append] = field(default_factory=dict[int, actions.Append])
    prepared: dict[int, Effect] = field(default_factory=dict[int, Effect])
    """Effects that no handler has to be asked for: the kit itself does something."""


class Simulation:
    """See the module."""

    def __init__(self, tested: Tested, machine: Instance, began: int) -> None:
        self.tested = tested
        self.spec: ComponentSpec = tested.definition.spec()
        self.clock: SimulatedClock = SimulatedClock(began)
        self.rows: list[actions.Append] = []
        """The journal, also of lives that were deleted."""
        self._machine = machine
        self._thread: LoopThread | None = None
        self.patience: float | None = None
        self._numbers = itertools.count(1)
        self._wake: int | None = None
        self._calls = _Calls()
        self._asked: dict[int, _Asked] = {}
        self._inbox: deque[Input] = deque()
        self._given: Input | None = None
        self._is_feeding = False
        self._perform_all(machine.start(began))

    @property
    def loop(self) -> SimulatedLoop:
        """The loop of handlers and steps; it and its thread are made when they are first needed."""
        if self._thread is None:
            self._thread = LoopThread(self.clock)
            self._thread.patience = self.patience
        return self._thread.loop

    def wait_for(self, patience: float | None) -> None:
        """How many seconds of real time user code may take at one instant."""
        self.patience = patience
        if self._thread is not None:
            self._thread.patience = patience

    def entries(self) -> list[JournalEntry]:
        """The timeline, as `ankka:journal` shows it."""
        entries: list[JournalEntry] = []
        before = None
        for row in self.rows:
            entries += [JournalEntry(**item) for item in items_of(row.generation, row.sequence, row.event, row.record, before)]
            before = row.record
        return entries

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(self, handler: str, payload: Payload | None, metadata: Mapping[str, str], key: bytes | None = None) -> Called:
        """Call a command or query and wait for its reply; time passes only if the handler itself waits."""
        known = self.tested.definition.handlers.get(handler)
        number = next(self._numbers)
        until = self.clock.now + CALL_TIME
        self.feed(CallMade(number, handler, payload, known is not None and known.read_only, until, dict(metadata), key=key))
        return self._result(number)

    def give(self, by: str, effect: Effect) -> Called:
        """Journal an effect as if a command named `by` had given it."""
        number = next(self._numbers)
        self._calls.prepared[number] = effect
        self.feed(CallMade(number, by, None, read_only=False, deadline=self.clock.now + CALL_TIME))
        return self._result(number)

    def lifecycle(self) -> bytes:
        """The engine's own view, encoded."""
        number = next(self._numbers)
        self.feed(LifecycleAsked(number))
        result = self._calls.results.pop(number)
        assert isinstance(result, Payload)
        return result.data

    def _result(self, number: int) -> Called:
        results = self._calls.results
        if number not in results:
            self.settle()
        while number not in results:
            moved = self.pass_time()
            assert moved, "a handler that is out has a deadline"
        return Called(results.pop(number), self._calls.effects.pop(number, None), self._calls.rows.pop(number, None))

    # --- time ------------------------------------------------------------------------------------------------------

    def settle(self, until: int | None = None) -> None:
        """Let everything go on that can at the present instant.

        A thread at work is waited for, as long (in real time) as it is to the next of the engine's deadlines, or to `until`.
        """
        while self._thread is not None and not self._thread.loop.is_at_rest:
            instants = [instant for instant in (self._wake, until) if instant is not None]
            self._thread.settle(max(0, min(instants) - self.clock.now) / 1_000_000 if instants else None)
            if not self.collect():
                return

    def pass_time(self, until: int | None = None) -> bool:
        """Move to the next instant at which something is due, and do it; false if that is after `until`, or never."""
        timer = self._thread.loop.next_instant if self._thread is not None else None
        instants = [instant for instant in (self._wake, timer) if instant is not None]
        if not instants or min(instants) >= NEVER or (until is not None and min(instants) > until):
            return False
        self.move_to(min(instants))
        return True

    def move_to(self, instant: int) -> None:
        """It is `instant` now. The engine's deadlines come first, so that a timeout wins a tie."""
        self.clock.now = max(self.clock.now, instant)
        if self._wake is not None and self._wake <= self.clock.now:
            self._wake = None
            self.feed(Woke())
        self.settle()

    def collect(self) -> bool:
        """Take the answers that are there; false if there were none."""
        ended = [asked for asked in self._asked.values() if asked.task.done()]
        for asked in ended:
            del self._asked[asked.ask]
            if asked.link.problem is not None:
                self.feed(AskLost(asked.ask, Error(ErrorCode.INTERNAL, str(asked.link.problem))))
                raise asked.link.problem
            self._answered(asked.ask, asked.call, asked.task.result())
        return bool(ended)

    # --- the machine -----------------------------------------------------------------------------------------------

    def feed(self, given: Input) -> None:
        """Give the machine an input, and do what it asks for."""
        self._inbox.append(given)
        if self._is_feeding:
            return
        self._is_feeding = True
        try:
            while self._inbox:
                self._given = self._inbox.popleft()
                self._perform_all(self._machine.handle(self._given, self.clock.now))
        finally:
            self._is_feeding = False

    def _perform_all(self, asked: list[actions.Action]) -> None:
        for action in asked:
            self.perform(action)

    def perform(self, action: actions.Action) -> None:
        """Do one action."""
        match action:
            case actions.AskHandler():
                self._ask_handler(action)
            case actions.AskFold() | actions.AskMerge() | actions.AskFingerprint():
                asked = question(action, self.spec.component, self._machine.instance)
                self.feed(HandlerAnswered(action.ask, answer_to(asked, self.tested.definition, self.tested.create, None, None), self.spec))
            case actions.Append():
                self._append(action)
            case actions.Reply():
                self._calls.results[action.call] = action.result
            case actions.WakeAt():
                self._wake = action.at
            case actions.CancelAsk():
                self._cancel_ask(action.ask)
            case actions.Load():
                self.feed(Loaded(None))
            case actions.ReadState():
                states = [row.state for row in self.rows if (row.generation, row.sequence) == (action.generation, action.sequence)]
                self.feed(StateRead(action.sequence, states[0] if states else None))
            case actions.FindReply():
                self.feed(self._left_by(action))
            case actions.Report():
                log.log(logging.ERROR if action.level == "error" else logging.WARNING, "%s", action.message)
            case _:
                assert isinstance(action, (actions.PutSnapshot, actions.Prune, actions.Trim, actions.AckStep)), f"a kit does not know {action}"

    def _append(self, action: actions.Append) -> None:
        event = action.event
        if action.replaces is not None and isinstance(event, (Retried, FailedOver, Interrupted, Failed)):
            event = msgspec.structs.replace(event, unknown=self.unanswered(action.replaces))
        row = msgspec.structs.replace(action, event=event)
        self.rows.append(row)
        if isinstance(self._given, HandlerAnswered) and self._given.ask in self._calls.asks:
            self._calls.rows[self._calls.asks.pop(self._given.ask)] = row
        self.feed(Appended(action.effect))

    def unanswered(self, token: Token) -> tuple[str, ...]:
        """The calls an attempt has under way, in words."""
        return ()

    def _left_by(self, action: actions.FindReply) -> ReplyFound:
        for row in reversed(self.rows):
            if row.key == stored(action.key, row.generation):
                return ReplyFound(action.ask, row.reply, row.fingerprint or b"", row.event.at, row.generation, row.sequence)
        return ReplyFound(action.ask)

    # --- handlers --------------------------------------------------------------------------------------------------

    def _ask_handler(self, action: actions.AskHandler) -> None:
        call = action.call
        prepared = self._calls.prepared.pop(call.call, None)
        if prepared is not None:
            self._answered(action.ask, call.call, prepared)
            return
        left = min(LIMITS.handler_timeout, max(0, call.deadline - self.clock.now))
        link = self.link(left)
        frame = command_or_query(action, self.spec.component, self._machine.instance, left)
        client = ComponentClient.inside(link, origin_of(frame, UNBOUNDED))
        task = self.loop.create_task(handled(self.tested, frame, client), name=f"'{call.handler}' of {frame.component}/{frame.instance}")
        self._asked[action.ask] = _Asked(action.ask, call.call, task, link)

    def link(self, time_left: int, thread: Token | None = None) -> ScriptedLink:
        """The link of a handler or step that has so many µs."""
        return ScriptedLink(self.tested.script, self.loop, self.loop.time() + time_left / 1_000_000, thread)

    def _answered(self, ask: int, call: int, answer: CommandAnswer) -> None:
        if isinstance(answer, (WorkflowCommandDone, EntityCommandDone)):
            self._calls.effects[call] = answer
            self._calls.asks[ask] = call
        self.feed(HandlerAnswered(ask, answer, self.spec))

    def _cancel_ask(self, ask: int) -> None:
        asked = self._asked.pop(ask, None)
        if asked is not None:
            asked.task.cancel()
            asked.link.withdraw()
