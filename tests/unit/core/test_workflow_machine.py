"""A workflow's machine under inputs in any order (Hypothesis): the world checks each action; in the end all comes to rest."""

from typing import Any

from ankka_sidecar.core import inputs
from ankka_sidecar.core.actions import AskFingerprint, AskMerge
from ankka_sidecar.core.journalling import Phase
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Merged, Refused, Replied, StepDone, StepFaulted, StepStopped, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.outcome import EndRun, FailRun, GoTo, PauseFor
from ankka.protocol.payload import Payload, StepTarget
from tests.unit.core.machine import S
from tests.unit.core.workflow_world import SPEC, World, decoded

STEPS = st.sampled_from(["a", "b", "c"])
TARGETS = st.builds(StepTarget, STEPS)
STATES = st.none() | st.sampled_from([Payload(b"x"), Payload(b"y"), Payload(b"z")])
OUTCOMES = st.one_of(
    st.builds(GoTo, TARGETS),
    st.builds(PauseFor, st.none() | st.integers(1, 40 * S), st.none() | TARGETS),
    st.just(EndRun()),
    st.just(FailRun(Error(ErrorCode.CONFLICT, "no"))),
)
KEYS = st.sampled_from([None, None, b"u1", b"u2"])
INPUTS = st.sampled_from([Payload(b"[1]"), Payload(b"[ 1 ]"), Payload(b"[2]")])
EFFECTS = st.tuples(STATES, st.none() | TARGETS, st.integers(0, 9).map(lambda number: number == 0))


class WorkflowMachine(RuleBasedStateMachine):
    """Random inputs; see `workflow_world` for what is checked."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.history: list[Token] = []
        self.old_asks: list[int] = []
        self.disturbed = 0

    def disturb(self) -> None:
        """Count a disturbance: too many of them, and nothing ever gets far enough to be disturbed."""
        self.disturbed += 1

    def may_disturb(self) -> bool:
        return self.disturbed < 12

    # --- callers ---

    def number(self) -> int:
        self.world.calls += 1
        self.world.waiting[self.world.calls] = None
        return self.world.calls

    @rule(read_only=st.booleans(), patience=st.sampled_from([1, 5 * S, 60 * S]), key=KEYS, given=INPUTS)
    def call(self, read_only: bool, patience: int, key: bytes | None, given: Payload) -> None:
        call = inputs.CallMade(self.number(), "go", given, read_only, self.world.now + patience, key=key)
        if key is not None and not read_only:
            self.world.keyed[call.call] = call
        self.world.give(call)

    @precondition(lambda self: self.may_disturb())
    @rule(await_end=st.booleans())
    def look(self, await_end: bool) -> None:
        self.disturb()
        self.world.give(inputs.EndAsked(self.number()) if await_end else inputs.LifecycleAsked(self.number()))

    @precondition(lambda self: self.world.waiting and self.may_disturb())
    @rule(data=st.data())
    def drop(self, data: Any) -> None:
        self.disturb()
        call = data.draw(st.sampled_from(sorted(self.world.waiting)))
        self.world.dropped.add(call)
        self.world.waiting.pop(call)
        if not self.world.gone:
            self.world.give(inputs.CallDropped(call))

    # --- handlers ---

    @precondition(lambda self: self.world.asks)
    @rule(data=st.data(), how=st.sampled_from(["effect", "effect", "replied", "refused", "lost"]), effect=EFFECTS)
    def answer_handler(self, data: Any, how: str, effect: tuple[Payload | None, StepTarget | None, bool]) -> None:
        world = self.world
        ask = data.draw(st.sampled_from(sorted(world.asks)))
        asked = world.asks.pop(ask)
        self.old_asks.append(ask)
        if isinstance(asked, AskMerge):
            self.merge(ask, how, effect[0])
        elif isinstance(asked, AskFingerprint) and how in ("effect", "replied"):
            world.fingerprint(ask, asked)
        elif how == "lost":
            world.give(inputs.AskLost(ask, Error(ErrorCode.UNAVAILABLE, "gone")))
        elif how == "refused":
            world.give(inputs.HandlerAnswered(ask, Refused(0, Error(ErrorCode.CONFLICT, "no")), SPEC))
        elif how == "replied" or asked.call.read_only:
            world.give(inputs.HandlerAnswered(ask, Replied(0, Payload(b"r")), SPEC))
        else:
            state, target, delete = effect
            call = asked.call.call
            promised = Payload(b"done %d" % call)
            journalled = world.record.sequence > 0 if delete else state is not None or target is not None
            if call in world.waiting:
                world.waiting[call] = promised if journalled else None
                world.promises[call] = -1
            world.give(inputs.HandlerAnswered(ask, WorkflowCommandDone(0, promised, state, target, delete, decoded(asked.call)), SPEC))
            if world.appending is not None and call in world.promises:
                world.promises[call] = world.appending.effect

    def merge(self, ask: int, how: str, state: Payload | None) -> None:
        world = self.world
        if how == "lost":
            world.give(inputs.AskLost(ask, Error(ErrorCode.UNAVAILABLE, "gone")))
        elif how == "refused":
            world.give(inputs.HandlerAnswered(ask, Refused(0, Error(ErrorCode.INTERNAL, "no")), SPEC))
        else:
            world.merged_onto = world.record.state_sequence
            world.give(inputs.HandlerAnswered(ask, Merged(0, state or Payload(b"merged"), ("field",)), SPEC))

    @precondition(lambda self: self.world.reading is not None)
    @rule()
    def read_state(self) -> None:
        self.world.read_state()

    @precondition(lambda self: self.world.seeking is not None)
    @rule(works=st.sampled_from([True, True, True, False]))
    def find_reply(self, works: bool) -> None:
        world = self.world
        if works or not self.may_disturb():
            world.find_reply()
            return
        self.disturb()
        assert world.seeking is not None
        ask, world.seeking = world.seeking.ask, None
        world.give(inputs.AskLost(ask, Error(ErrorCode.UNAVAILABLE, "no journal")))

    @precondition(lambda self: self.world.finding is not None)
    @rule()
    def find_calls(self) -> None:
        self.world.find_calls()

    @precondition(lambda self: self.old_asks and self.may_disturb())
    @rule(data=st.data())
    def answer_late(self, data: Any) -> None:
        self.disturb()
        if not self.world.gone:
            ask = data.draw(st.sampled_from(self.old_asks))
            if ask not in self.world.asks:  # numbers begin anew with each machine
                self.world.give(inputs.HandlerAnswered(ask, WorkflowCommandDone(0, Payload(b"late"), Payload(b"late")), SPEC))

    # --- attempts ---

    @precondition(lambda self: self.world.queued is not None)
    @rule()
    def send(self) -> None:
        assert self.world.queued is not None
        self.history.append(self.world.queued.token)
        self.world.send()

    @precondition(lambda self: self.world.running or self.world.strays)
    @rule(data=st.data(), how=st.sampled_from(["done", "done", "done", "faulted", "stopped"]), outcome=OUTCOMES, state=STATES, retry=st.booleans())
    def answer_step(self, data: Any, how: str, outcome: Any, state: Payload | None, retry: bool) -> None:
        world = self.world
        token = data.draw(st.sampled_from([*world.running, *world.strays]))
        world.running.pop(token, None)
        world.strays.pop(token, None)
        self.say(token, how, outcome, state, retry)

    @precondition(lambda self: self.history and self.may_disturb())
    @rule(data=st.data(), outcome=OUTCOMES)
    def answer_again(self, data: Any, outcome: Any) -> None:
        self.disturb()
        token = data.draw(st.sampled_from(self.history))
        if token not in self.world.running and token not in self.world.strays:
            self.say(token, "done", outcome, Payload(b"again"), retry=False)

    def say(self, token: Token, how: str, outcome: Any, state: Payload | None, retry: bool) -> None:
        answer: StepDone | StepFaulted | StepStopped
        if how == "done":
            answer = StepDone(token, self.world.bases.get(token, 0), outcome, state, () if token.attempt > 1 else None)
        elif how == "faulted":
            answer = StepFaulted(token, ("E",), "E: no", retry)
        else:
            answer = StepStopped(token)
        self.world.give(inputs.StepAnswered(answer, SPEC))

    @precondition(lambda self: self.world.running and self.may_disturb())
    @rule(data=st.data(), really=st.booleans())
    def lose(self, data: Any, really: bool) -> None:
        self.disturb()
        token = data.draw(st.sampled_from(list(self.world.running)))
        told = self.world.running.pop(token)
        if not really:
            self.world.strays[token] = told
        self.world.give(inputs.AttemptLost(token, "gone"))

    @precondition(lambda self: self.world.strays)
    @rule(data=st.data(), elapsed=st.integers(0, 20 * S))
    def come_back(self, data: Any, elapsed: int) -> None:
        world = self.world
        token = data.draw(st.sampled_from(list(world.strays)))
        told = world.strays.pop(token)
        if world.record.token(token.component, token.instance) == token and world.machine.phase.value == "ready":
            world.running[token] = told
        else:
            world.strays[token] = told
        world.give(inputs.AttemptAdopted(token, elapsed, SPEC))

    # --- the journal ---

    @precondition(lambda self: self.world.appending is not None)
    @rule(how=st.sampled_from(["stored"] * 6 + ["refused", "for ever", "conflict", "landed", "not landed", "fenced"]))
    def append_ends(self, how: str) -> None:
        world = self.world
        if how != "stored":
            self.disturb()
            how = how if self.may_disturb() else "stored"
        assert world.appending is not None
        effect = world.appending.effect
        if how in ("stored", "landed"):
            world.store()
        world.appending = None
        match how:
            case "stored":
                world.give(inputs.Appended(effect))
            case "refused" | "for ever":
                world.give(inputs.AppendRefused(effect, "no", how == "for ever"))
            case "conflict":
                world.give(inputs.AppendConflicted(effect))
            case "fenced":
                world.strays.update(world.running)
                world.running.clear()
                world.queued = None
                world.excused = True
                world.give(inputs.AppendFenced(effect))
                world.excused = False
                world.begin(foreign=True)
            case _:
                world.give(inputs.AppendUncertain(effect, "who knows"))

    @precondition(lambda self: self.world.load_out)
    @rule(works=st.sampled_from([True, True, True, False]))
    def load_ends(self, works: bool) -> None:
        if not works:
            self.disturb()
        if works or not self.may_disturb():
            self.world.load()
        else:
            self.world.fail_load()

    # --- what happens most of the time ---

    @rule(to=TARGETS, state=STATES, outcome=OUTCOMES, fault=st.booleans(), update=st.booleans(), times=st.integers(1, 4))
    def go_on(self, to: StepTarget, state: Payload | None, outcome: Any, fault: bool, update: bool, times: int) -> None:
        """The next things that were asked for are done, without a fault of ours; `update`: commands only set the state."""
        for _ in range(times):
            self.go_on_once(None if update else to, state, outcome, fault)

    def go_on_once(self, to: StepTarget | None, state: Payload | None, outcome: Any, fault: bool) -> None:
        world = self.world
        if world.load_out:
            world.load()
        elif world.appending is not None:
            world.give(inputs.Appended(world.store().effect))
        elif world.seeking is not None:
            world.find_reply()
        elif world.finding is not None:
            world.find_calls()
        elif world.asks:
            ask = next(iter(world.asks))
            asked = world.asks.pop(ask)
            if isinstance(asked, AskMerge):
                self.merge(ask, "merged", state)
                return
            if isinstance(asked, AskFingerprint):
                world.fingerprint(ask, asked)
                return
            done = WorkflowCommandDone(0, Payload(b"ok"), state, to, fingerprint=decoded(asked.call))
            answer = Replied(0, Payload(b"r")) if asked.call.read_only else done
            world.give(inputs.HandlerAnswered(ask, answer, SPEC))
        elif world.queued is not None:
            self.history.append(world.queued.token)
            world.send()
        elif world.running and to is not None:
            token = next(iter(world.running))
            del world.running[token]
            self.say(token, "faulted" if fault else "done", outcome, state, retry=True)
        else:
            world.give(inputs.CallMade(self.number(), "go", None, False, world.now + 60 * S))

    # --- time, and the end of the sidecar ---

    @rule(duration=st.sampled_from([1, S, 4 * S, 9 * S, 60 * S, 200 * S]))
    def sleep(self, duration: int) -> None:
        self.world.sleep(duration)

    @precondition(lambda self: self.may_disturb())
    @rule()
    def wake_early(self) -> None:
        self.disturb()
        self.world.give(inputs.Woke())

    @precondition(lambda self: self.may_disturb())
    @rule(landed=st.booleans())
    def restart(self, landed: bool) -> None:
        world = self.world
        self.disturbed += 3
        if world.appending is not None and landed:
            world.store()
        world.strays.update(world.running)
        world.running.clear()
        world.restart()

    # --- all faults stop ---

    def teardown(self) -> None:
        """I11: everything asked for is answered; the run ends or is paused, and every caller has heard."""
        for _ in range(400):
            if not self.calm():
                break
        else:
            raise AssertionError(f"it does not come to rest: {self.world.record} {self.world.told}")
        world = self.world
        assert world.record.status is not LifecycleStatus.RUNNING
        assert not world.asks
        assert world.record.is_live or not [waiter for waiter in world.machine._waiters if waiter.run <= world.record.run]
        unheard = {call for call in world.waiting if call not in {waiter.call for waiter in world.machine._waiters}}
        assert not unheard, f"callers that nobody answers: {unheard}"

    def calm(self) -> bool:
        world = self.world
        if world.load_out:
            world.load()
        elif world.appending is not None:
            world.give(inputs.Appended(world.store().effect))
        elif world.asks:
            ask = next(iter(world.asks))
            asked = world.asks.pop(ask)
            if isinstance(asked, AskMerge):
                self.merge(ask, "merged", None)
            elif isinstance(asked, AskFingerprint):
                world.fingerprint(ask, asked)
            else:
                world.give(inputs.HandlerAnswered(ask, Replied(0, Payload(b"r")), SPEC))
        elif world.reading is not None:
            world.read_state()
        elif world.seeking is not None:
            world.find_reply()
        elif world.finding is not None:
            world.find_calls()
        elif world.machine.suspect is not None and not world.gone:
            world.give(inputs.AttemptLost(world.machine.suspect, "gone"))
        elif world.queued is not None:
            world.send()
        elif world.running:
            token = next(iter(world.running))
            del world.running[token]
            self.say(token, "done", EndRun(), None, retry=False)
        elif world.gone and world.record.is_live and (world.record.pending or world.record.until or world.record.pause.until):  # type: ignore[union-attr]
            world.now += S
            world.give(inputs.Woke())  # the sweep
        elif world.wake is not None and (world.record.is_live or world.machine.phase is Phase.LOADING):
            world.sleep(world.wake - world.now)
        else:
            return False
        return True


WorkflowMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
TestWorkflowMachine = WorkflowMachine.TestCase
