"""A kit that runs a workflow without a sidecar: by hand, or by the engine's own rules on a simulated clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec

from ankka.client import WorkflowLifecycle
from ankka.definition.definitions import StepDefinition
from ankka.definition.marks import step_name
from ankka.definition.problems import suggestion
from ankka.effects.workflow import End, Pause, StepFail, StepRef, TransitionTo
from ankka.protocol.errors import Error
from ankka.protocol.frames import StepDone, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.outcome import EndRun, FailRun, GoTo, Outcome, PauseFor
from ankka.protocol.payload import Payload, StepTarget
from ankka.protocol.spec import ComponentKind
from ankka.testkit.simulated_kit import SimulatedKit, beginning
from ankka.testkit.tested import Tested
from ankka.testkit.workflow_simulation import BY_HAND, WorkflowSimulation
from ankka.workflow import Workflow

S = TypeVar("S")
T = TypeVar("T")
Next = TransitionTo | Pause | End | StepFail

STEPS = 1_000
"""Step attempts that one `run` begins at most: more is a loop without an end."""
_decode_lifecycle = msgspec.json.Decoder(WorkflowLifecycle).decode


@dataclass(frozen=True, slots=True)
class WorkflowCall(Generic[S]):
    """What a command or a query came to. `new_state` and `transition` are `None` where there is none."""

    reply: Any = None
    error: Error | None = None
    new_state: S | None = None
    transition: TransitionTo | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class StepRun(Generic[S]):
    """What a step came to: what is next, and the state it set, `None` if it set none."""

    next: Next
    new_state: S | None = None


class WorkflowTestKit(SimulatedKit[S], Generic[S]):
    """One instance of a workflow, on the engine's own rules and a clock that stands still until you say otherwise.

    `call` runs a command, and no step. Then either the engine takes over, with retries, back-off, failover, timeouts and
    pauses as in production, and their time passes at once::

        kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
        kit.when("shopping-cart", "total-quantity").reply(3)
        kit.call("start", "fail")
        assert kit.run().status == "Completed"
        assert [entry.type for entry in kit.journal] == ["started", "transitioned", "retried", "failed-over", "ended"]

    or you run its steps by hand, one at a time; what a step raises then comes out of `run_step`::

        assert kit.run_step().next == TransitionTo("charge")
        with pytest.raises(PaymentDeclined):
            kit.run_step()

    Both may be mixed. The kit blocks, also inside a running event loop; handlers run on a loop of their own, on which
    `asyncio.sleep` and timeouts take simulated time. Values are encoded, decoded and checked as in production.
    """

    def __init__(
        self, workflow: type[Workflow[S]], entity_id: str, create: Callable[[], Any] | None, resources: Any, now: datetime | None = None
    ) -> None:
        tested = Tested.of(workflow, ComponentKind.WORKFLOW, create, resources)
        self._sim = WorkflowSimulation(tested, entity_id, beginning(now))
        super().__init__(tested, entity_id, self._sim)

    @staticmethod
    def of(
        workflow: type[Workflow[T]],
        entity_id: str = "test",
        *,
        create: Callable[[], Any] | None = None,
        resources: Any = None,
        now: datetime | None = None,
    ) -> "WorkflowTestKit[T]":
        """A kit for a new instance; `create` makes the workflow's objects, `resources` is `context.resources`.

        `now` is when simulated time begins, an aware datetime (default: the first instant of 2026, UTC).
        """
        return WorkflowTestKit(workflow, entity_id, create, resources, now)

    # --- what there is ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> S:
        """The state as of the last effect."""
        return self._decoded(self._sim.machine.state)

    @property
    def pending(self) -> TransitionTo | None:
        """The step that runs next, or whose retry does; `None` while paused, after the end, and before the start."""
        pending = self._sim.machine.record.pending
        return None if pending is None else self._transition(pending.target)

    @property
    def outcome(self) -> Next | None:
        """What the last step that ended said, `None` before the first and after a deletion."""
        done, record = self._sim.last_done, self._sim.machine.record
        return None if done is None or record.sequence == 0 or done.token.generation != record.generation else self._next(done.outcome)

    @property
    def transitions(self) -> list[TransitionTo]:
        """Every transition so far: of commands, of steps, of pauses that ran out, of failovers."""
        events = [row.event for row in self._sim.rows]
        targets = [getattr(event, "target", None) for event in events if getattr(event, "by", None) != BY_HAND]
        return [self._transition(target) for target in targets if target is not None]

    @property
    def lifecycle(self) -> WorkflowLifecycle:
        """The engine's own view: status, pending step, retries, failure, as `ankka:lifecycle` answers it."""
        return _decode_lifecycle(self._sim.lifecycle())

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(
        self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None, idempotency_key: str | None = None
    ) -> WorkflowCall[S]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it.

        No step begins. One that is under way (after `advance`) goes on while the command runs, as in production.
        """
        called = self._called(name, input, metadata, idempotency_key)
        if isinstance(called, Error):
            return WorkflowCall(error=called)
        reply, done = called
        effect = done.effect
        if not isinstance(effect, WorkflowCommandDone):
            return WorkflowCall(reply)
        if effect.delete:
            return WorkflowCall(reply, deleted=True)
        new_state = None if effect.state is None else self._decoded(effect.state)
        return WorkflowCall(reply, None, new_state, None if effect.transition is None else self._transition(effect.transition))

    # --- by the engine's rules -------------------------------------------------------------------------------------

    def run(self, until: str | Callable[..., Any] | None = None, limit: int = STEPS) -> WorkflowLifecycle:
        """Let the engine run the workflow until it ends, or waits for something that no time brings; its lifecycle then.

        The clock jumps over back-offs, timeouts and pauses that have a time, to what they lead to. A pause without one
        stops it, even if the workflow's own timeout is still to come: that passes with `advance`.

        `until` stops it earlier: at a step, by name or method, before an attempt of it begins; or at `"Paused"`, the status,
        before the pause runs out. `RuntimeError` if more than `limit` attempts (1,000) do not bring it there.
        """
        stops = self._stop_at(until)
        sim = self._sim
        sim.settle()
        begun = 0
        while not stops():
            if sim.waiting is not None:
                if begun == limit:
                    where = f"{self._definition.component_id}/{self._entity_id}"
                    raise RuntimeError(f"{where} has not come to rest after {limit} step attempts; {self.pending} would be next")
                begun += 1
                sim.begin()
                sim.settle()
            elif sim.rests or not sim.pass_time():
                break
        return self.lifecycle

    def advance(self, duration: timedelta) -> WorkflowLifecycle:
        """Let exactly this much simulated time pass, and do what becomes due in it, in order; the lifecycle then.

        Steps run as in production. One that takes longer (`asyncio.sleep`, a call that hangs) is under way afterwards.
        `advance(timedelta(0))` does what is due now.
        """
        until = self._later(duration)
        sim = self._sim
        sim.settle()
        begun = 0
        at = sim.clock.now
        while True:
            if sim.clock.now != at:
                begun, at = 0, sim.clock.now
            if sim.waiting is not None:
                if begun == STEPS:
                    raise RuntimeError(f"more than {STEPS:,} step attempts are due at {self.now}: a loop without an end? Next is {self.pending}")
                begun += 1
                sim.begin()
                sim.settle()
            elif not sim.pass_time(until):
                break
        sim.move_to(until)
        return self.lifecycle

    # --- by hand ---------------------------------------------------------------------------------------------------

    def run_step(self, step: str | Callable[..., Any] | None = None, input: Any = None) -> StepRun[S]:
        """Run one attempt of the pending step, or of the one named as if a command had led there. What it raises is raised here.

        No retry, no failover: an attempt that raised can be run again, and `TimeoutError` is raised at the step's timeout.
        A retry that waits for its back-off is run now, at the instant it would be.
        """
        sim = self._sim
        if sim.is_running:
            raise ValueError(f"{self.pending} of {self._definition.component_id}/{self._entity_id} is under way; let it go on with kit.run()")
        return self._ran(sim.run_by_hand(self._target(step, input)))

    def run_until_end(self, limit: int = 100) -> StepRun[S]:
        """Run pending steps by hand until the workflow ends, fails or waits for a command; the last step's result.

        A pause with `on_timeout` goes on there at once, at its time. `RuntimeError` after `limit` steps.
        """
        for _ in range(limit):
            result = self.run_step()
            pause = self._sim.machine.record.pause
            if pause is not None and pause.until is not None and pause.on_timeout is not None:
                self._sim.move_to(pause.until)
            if self.pending is None:
                return result
        raise RuntimeError(f"{self._definition.component_id}/{self._entity_id} has not ended after {limit} steps; {self.pending} would be next")

    # --- inside ----------------------------------------------------------------------------------------------------

    def _target(self, step: str | Callable[..., Any] | None, input: Any) -> StepTarget | None:
        """The step that is to be run by hand; `None` for the pending one, which may then begin."""
        pending = self._sim.machine.record.pending
        if step is not None:
            ref = StepRef(self._declared(step_name(step)).name, input)
            target = StepTarget(ref.step, self._encoded_input(ref))
            if pending is None or pending.target != target:
                return target
        if pending is not None and pending.not_before is not None:
            self._sim.move_to(pending.not_before)
        if self._sim.waiting is None:
            raise ValueError(f"no step of {self._definition.component_id}/{self._entity_id} is pending; name the one to run: kit.run_step('…')")
        return None

    def _stop_at(self, until: str | Callable[..., Any] | None) -> Callable[[], bool]:
        if until is None:
            return lambda: False
        if until == LifecycleStatus.PAUSED:
            return lambda: self._sim.machine.record.status is LifecycleStatus.PAUSED
        name = self._declared(step_name(until)).name
        return lambda: self._sim.waiting is not None and self._sim.step(self._sim.waiting.step).name == name

    def _ran(self, done: StepDone) -> StepRun[S]:
        return StepRun(self._next(done.outcome), None if done.state is None else self._decoded(done.state))

    def _next(self, outcome: Outcome) -> Next:
        match outcome:
            case GoTo(target):
                return self._transition(target)
            case PauseFor(after, on_timeout):
                ref = None if on_timeout is None else StepRef(on_timeout.step, self._input_of(on_timeout))
                return Pause(None if after is None else timedelta(microseconds=after), ref)
            case EndRun():
                return End()
            case FailRun(error):
                return StepFail(error.message, error.code)

    def _transition(self, target: StepTarget) -> TransitionTo:
        return TransitionTo(target.step, self._input_of(target))

    def _declared(self, name: str) -> StepDefinition:
        found = self._definition.step(name)
        if found is None:
            raise ValueError(f"{self._definition.component_id!r} does not declare the step {name!r}{suggestion(name, self._definition.steps)}")
        return found

    def _encoded_input(self, ref: StepRef) -> Payload | None:
        taken = self._declared(ref.step).input
        if taken is None:
            if ref.input is not None:
                raise ValueError(f"the step {ref.step!r} takes no input, got {ref.input!r}")
            return None
        if ref.input is None and not (taken.optional or taken.takes_none):
            raise ValueError(f"the step {ref.step!r} needs an input: {taken.name}, {taken.codec.type_name}; give it: kit.run_step({ref.step!r}, …)")
        return None if ref.input is None else taken.codec.encode_payload(ref.input)

    def _input_of(self, target: StepTarget) -> Any:
        taken = self._declared(target.step).input
        return None if taken is None or target.input is None else taken.codec.decode_payload(target.input)
