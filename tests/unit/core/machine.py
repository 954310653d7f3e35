"""Drives an instance machine by hand: gives it inputs at instants, and shows what it asked for.

`give` answers the actions of one input, without the wake-ups: the latest is in `wake`, and none may lie in the past.
"""

from typing import Any, ClassVar

import msgspec
from ankka_sidecar.core.actions import Action, Append, AskFold, AskHandler, Load, Passivate, Reply, Report, RunStep, WakeAt
from ankka_sidecar.core.entity_instance import EntityInstance
from ankka_sidecar.core.events import AnyEvent
from ankka_sidecar.core.inputs import (
    Appended,
    CallMade,
    EndAsked,
    HandlerAnswered,
    Input,
    LifecycleAsked,
    Loaded,
    StepAnswered,
    StepSent,
    Woke,
)
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord
from ankka_sidecar.core.workflow_instance import WorkflowInstance

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Folded, Refused, Replied, StepDone, StepFaulted, StepStopped, WorkflowCommandDone
from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.outcome import EndRun, FailRun, GoTo, Outcome, PauseFor
from ankka.protocol.payload import Payload, StepTarget
from ankka.protocol.spec import BackoffSpec, ComponentKind, ComponentSpec, RecoverySpec, StepSpec

S = 1_000_000
T0 = 1_700_000_000 * S
CART, CHECKOUT, ONE = "cart", "checkout", "c1"
DONE = Payload(b"", "")
NOTHING_DONE = {"outcome": "not done"}


def value(text: str) -> Payload:
    return Payload(text.encode())


def step(name: str, *, timeout: int = 10 * S, retries: int = 0, to: str | None = None, backoff: int = 0, not_on: tuple[str, ...] = ()) -> StepSpec:
    """A declared step; `to` is its failover, `backoff` the first delay (doubled with each retry)."""
    delays = BackoffSpec(backoff) if backoff else None
    return StepSpec(name, timeout, recovery=RecoverySpec(retries, to, delays, not_on))


def workflow(*steps: StepSpec, timeout: int | None = None, fingerprint: str = "v1") -> ComponentSpec:
    return ComponentSpec(CHECKOUT, ComponentKind.WORKFLOW, steps=steps, timeout=timeout, fingerprint=fingerprint)


def entity(every: int = 100, version: int = 1) -> ComponentSpec:
    return ComponentSpec(CART, ComponentKind.EVENT_SOURCED_ENTITY, snapshot_every=every, snapshot_version=version, fingerprint="v1")


CHECKOUT_SPEC = workflow(step("reserve"), step("charge", retries=1, to="compensate"), step("compensate"))


class Driver:
    """One machine, what it has asked for so far, and the clock."""

    def __init__(self, machine: Instance, spec: ComponentSpec) -> None:
        self.machine = machine
        self.spec = spec
        self.now = T0
        self.wake: int | None = None
        self.asked: list[Action] = []
        self.number = 0
        self.started = self._take(machine.start(self.now))

    def _take(self, actions: list[Action]) -> list[Action]:
        for action in actions:
            if isinstance(action, WakeAt):
                assert action.at > self.now, f"woken for the past: {action.at - self.now} µs"
                self.wake = action.at
        self.asked += actions
        return [action for action in actions if not isinstance(action, WakeAt)]

    def give(self, given: Input) -> list[Action]:
        return self._take(self.machine.handle(given, self.now))

    def wait(self, duration: int) -> list[Action]:
        """Let time pass; the machine is woken at each instant it asked for on the way."""
        until, actions = self.now + duration, list[Action]()
        while self.wake is not None and self.wake <= until:
            self.now, self.wake = self.wake, None
            actions += self.give(Woke())
        self.now = until
        return actions

    def loaded(self, record: WorkflowRecord | EntityRecord | None = None, **more: Any) -> list[Action]:
        return self.give(Loaded(record, **more))

    # --- calls ---

    def made(self, handler: str = "go", *, read_only: bool = False, patience: int = 60 * S) -> CallMade:
        self.number += 1
        return CallMade(self.number, handler, None, read_only, self.now + patience)

    def call(self, handler: str = "go", *, read_only: bool = False, patience: int = 60 * S) -> list[Action]:
        return self.give(self.made(handler, read_only=read_only, patience=patience))

    def ask_end(self) -> list[Action]:
        self.number += 1
        return self.give(EndAsked(self.number))

    def lifecycle(self) -> WorkflowLifecycle:
        self.number += 1
        [reply] = self.give(LifecycleAsked(self.number))
        assert isinstance(reply, Reply)
        assert isinstance(reply.result, Payload)
        return msgspec.json.decode(reply.result.data, type=WorkflowLifecycle)

    def replied(self, text: str = "", ask: int | None = None) -> list[Action]:
        return self.answer(Replied(0, value(text)), ask)

    def refused(self, error: Error, ask: int | None = None) -> list[Action]:
        return self.answer(Refused(0, error), ask)

    def answer(self, answer: Any, ask: int | None = None) -> list[Action]:
        """Answer the newest handler or fold that was asked for, or the one with that number."""
        return self.give(HandlerAnswered(ask or self.ask, answer, self.spec))

    @property
    def ask(self) -> int:
        asked: AskHandler | AskFold = self.last(AskHandler, AskFold)
        return asked.ask

    # --- the journal ---

    def stored(self) -> list[Action]:
        """The newest append is durable."""
        return self.give(Appended(self.effect))

    @property
    def effect(self) -> int:
        append: Append = self.last(Append)
        return append.effect

    def last(self, *kinds: type[Any]) -> Any:
        for action in reversed(self.asked):
            if isinstance(action, kinds):
                return action
        raise AssertionError(f"nothing of {kinds} was asked for")

    def all(self, *kinds: type[Any]) -> list[Any]:
        return [action for action in self.asked if isinstance(action, kinds)]


class WorkflowDriver(Driver):
    """A workflow's machine, and shorthands for what its process does."""

    machine: WorkflowInstance

    def __init__(self, spec: ComponentSpec = CHECKOUT_SPEC, limits: Limits | None = None, *, load: bool = True) -> None:
        super().__init__(WorkflowInstance(CHECKOUT, ONE, limits or Limits(), 0), spec)
        if load:
            self.loaded()

    def does(
        self, to: str | None = None, *, state: str | None = None, input: str | None = None, delete: bool = False, ask: int | None = None
    ) -> list[Action]:
        """The command's handler answers: a transition `to`, a new `state`, or `delete`."""
        target = None if to is None else StepTarget(to, None if input is None else value(input))
        return self.answer(WorkflowCommandDone(0, value("ok"), None if state is None else value(state), target, delete), ask)

    def run(self, to: str = "charge", *, state: str | None = "s0") -> Token:
        """A command that starts a run (or redirects it) at `to`, and the step sent to a process."""
        self.call()
        self.does(to, state=state)
        self.stored()
        return self.sent()

    def sent(self) -> Token:
        """The newest attempt goes to a process."""
        token = self.token
        assert self.give(StepSent(token, self.spec)) == []
        return token

    @property
    def token(self) -> Token:
        sent: RunStep = self.last(RunStep)
        return sent.token

    def done(self, outcome: Outcome, *, state: str | None = None, base: int = 0, token: Token | None = None) -> list[Action]:
        """The attempt answers with its step's effect."""
        answer = StepDone(token or self.token, base, outcome, None if state is None else value(state))
        return self.give(StepAnswered(answer, self.spec))

    def fault(self, message: str = "ValueError: no", *, retryable: bool = True, token: Token | None = None) -> list[Action]:
        return self.give(StepAnswered(StepFaulted(token or self.token, ("ValueError",), message, retryable), self.spec))

    def stopped(self, token: Token | None = None, reason: str = "cancelled") -> list[Action]:
        return self.give(StepAnswered(StepStopped(token or self.token, reason), self.spec))

    @property
    def record(self) -> WorkflowRecord:
        return self.machine.record

    def event(self) -> AnyEvent:
        """The newest event that was to be appended."""
        event: AnyEvent = self.last(Append).event
        return event


class EntityDriver(Driver):
    """An entity's machine."""

    machine: EntityInstance
    made_of: ClassVar[type[EntityInstance]] = EntityInstance

    def __init__(self, spec: ComponentSpec | None = None, limits: Limits | None = None, *, load: bool = True) -> None:
        super().__init__(self.made_of(CART, ONE, limits or Limits(), 0), spec or entity())
        if load:
            self.loaded()

    def does(self, *events: str, state: str | None = None, delete: bool = False, expire: int | None = None, ask: int | None = None) -> list[Action]:
        payloads = tuple(value(event) for event in events)
        return self.answer(EntityCommandDone(0, value("ok"), payloads, None if state is None else value(state), delete, expire), ask)

    def folded(self, state: str, ask: int | None = None) -> list[Action]:
        return self.answer(Folded(0, value(state)), ask)

    @property
    def record(self) -> EntityRecord:
        return self.machine.record


def goto(name: str, input: str | None = None) -> GoTo:
    return GoTo(StepTarget(name, None if input is None else value(input)))


def pause(after: int | None = None, to: str | None = None) -> PauseFor:
    return PauseFor(after, None if to is None else StepTarget(to))


END = EndRun()


def fail(message: str, code: ErrorCode = ErrorCode.INTERNAL) -> FailRun:
    return FailRun(Error(code, message))


def reply(call: int, text: str = "ok") -> Reply:
    return Reply(call, value(text))


def refusals(actions: list[Action]) -> list[tuple[int, ErrorCode]]:
    """The calls that were refused by these actions, with the codes."""
    return [(action.call, action.result.code) for action in actions if isinstance(action, Reply) and isinstance(action.result, Error)]


def kinds(actions: list[Action]) -> list[type[Action]]:
    return [type(action) for action in actions]


LOAD = [Load()]
GONE = [Passivate()]
FAULT = Report
