"""A kit that runs a workflow's commands and steps by hand: no sidecar, no clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar, cast

from ankka.calls.caller import Origin
from ankka.codec import EncodingError
from ankka.definition.build import definition_of
from ankka.definition.definitions import StepDefinition
from ankka.definition.marks import step_name
from ankka.definition.problems import suggestion
from ankka.effects.workflow import End, Pause, StepFail, StepRef, TransitionTo
from ankka.process.dispatch import CommandAnswer, run_command
from ankka.process.dispatch_step import StepAttempt
from ankka.process.dispatch_values import new_object
from ankka.process.threads import StepThreads
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EndRun, FailRun, GoTo, Outcome, PauseFor, Refused, RunCommand, RunStep, StepDone, WorkflowCommandDone
from ankka.protocol.payload import Payload, StepTarget
from ankka.testkit.handler_runs import decoded_reply, encoded_input, handler_name, run_scripted
from ankka.testkit.scripted_calls import Script, When
from ankka.workflow import Workflow

S = TypeVar("S")
T = TypeVar("T")
Next = TransitionTo | Pause | End | StepFail


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


class WorkflowTestKit(Generic[S]):
    """One instance of a workflow, by hand.

    Handlers run as in production: values are encoded and decoded, effects checked. Time and recovery are the test's:
    what a step raises comes out of `run_step`. Works inside a running event loop too, and blocks it meanwhile.

        kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
        assert kit.call("start", "fail").transition == TransitionTo("reserve")
        kit.when("shopping-cart", "total-quantity").reply(3)
        assert kit.run_step().next == TransitionTo("charge")
        with pytest.raises(PaymentDeclined):
            kit.run_step()
        assert kit.run_step("compensate").new_state.status == "compensated"
    """

    def __init__(self, workflow: type[Workflow[S]], entity_id: str, create: Callable[[], Any] | None, resources: Any) -> None:
        self._definition = definition_of(workflow)
        self._entity_id = entity_id
        self._create = create
        self._resources = resources
        self._script = Script()
        self._encoded: Payload | None = None
        self._sequence = 0
        self._changed_at = 0
        self._visit = 0
        self._attempts = 0
        self._target: StepTarget | None = None
        self._outcome: Next | None = None
        self.transitions: list[TransitionTo] = []
        """Every transition so far, of commands and of steps."""

    @staticmethod
    def of(
        workflow: type[Workflow[T]], entity_id: str = "test", *, create: Callable[[], Any] | None = None, resources: Any = None
    ) -> "WorkflowTestKit[T]":
        """A kit for a new instance; `create` makes the workflow's objects, `resources` is `context.resources`."""
        return WorkflowTestKit(workflow, entity_id, create, resources)

    @property
    def state(self) -> S:
        """The state as of the last effect."""
        if self._encoded is None:
            return cast("S", new_object(self._definition, self._entity_id, self._create).empty_state())
        return cast("S", self._definition.state_codec.decode_payload(self._encoded))

    @property
    def pending(self) -> TransitionTo | None:
        """The step that would run next, `None` while paused, after the end, and before the start."""
        return None if self._target is None else TransitionTo(self._target.step, self._input_of(self._target))

    @property
    def outcome(self) -> Next | None:
        """What the last step said, `None` before the first."""
        return self._outcome

    def when(self, component: str | type[Any], handler: str | Callable[..., Any]) -> When:
        """Say how calls to another component are answered: `kit.when("shopping-cart", "checkout").reply(cart)`."""
        return When(self._script, component, handler)

    def call(self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None) -> WorkflowCall[S]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        handler = handler_name(name)
        try:
            payload = encoded_input(self._definition, handler, input)
        except EncodingError as error:
            return WorkflowCall(error=Error(ErrorCode.BAD_REQUEST, f"the input of {handler!r} cannot be sent: {error.path}: {error.reason}"))
        frame = RunCommand(
            1, self._definition.component_id, self._entity_id, handler, payload, self._encoded, self._sequence, 10_000_000, dict(metadata or {})
        )
        origin = Origin(chain=(f"{self._definition.component_id}/{self._entity_id}",))
        answer: CommandAnswer = run_scripted(
            self._script, origin, lambda client: run_command(self._definition, frame, client, self._resources, self._create)
        )
        if isinstance(answer, Refused):
            return WorkflowCall(error=answer.error)
        reply = decoded_reply(self._definition.handlers[handler], answer.reply)
        if not isinstance(answer, WorkflowCommandDone):
            return WorkflowCall(reply)
        return self._commanded(reply, answer)

    def run_step(self, step: str | Callable[..., Any] | None = None, input: Any = None) -> StepRun[S]:
        """Run one attempt of the pending step, or of the one named. What it raises is raised here."""
        definition, target = self._step_to_run(step, input)
        self._attempts += 1
        token = Token(self._definition.component_id, self._entity_id, 1, 1, self._visit, self._attempts)
        frame = RunStep(token, definition.name, target.input, self._encoded, self._changed_at, self._sequence, 30_000_000)
        threads = StepThreads(1)

        def attempt(client: Any) -> Any:
            one = StepAttempt(self._definition, definition, frame, client, self._resources, self._create)
            return one.run_async() if definition.is_async else one.run_threaded(threads)

        try:
            return self._stepped(run_scripted(self._script, Origin(attempt=token), attempt))
        finally:
            threads.close()

    def run_until_end(self, limit: int = 100) -> StepRun[S]:
        """Run pending steps until the workflow ends, fails or waits for a command; the last step's result.

        A pause with `on_timeout` goes on there at once: there is no clock. `RuntimeError` after `limit` steps.
        """
        for _ in range(limit):
            result = self.run_step()
            if isinstance(result.next, Pause) and result.next.on_timeout is not None:
                ref = result.next.on_timeout
                self._go(StepTarget(ref.step, self._encoded_input(ref)))
            if self._target is None:
                return result
        raise RuntimeError(f"{self._definition.component_id}/{self._entity_id} has not ended after {limit} steps; {self.pending} would be next")

    def _commanded(self, reply: Any, answer: WorkflowCommandDone) -> WorkflowCall[S]:
        self._sequence += 1
        if answer.delete:
            self._encoded, self._target, self._outcome = None, None, None
            return WorkflowCall(reply, deleted=True)
        new_state = self._set_state(answer.state)
        if answer.transition is None:
            return WorkflowCall(reply, None, new_state)
        return WorkflowCall(reply, None, new_state, self._go(answer.transition))

    def _stepped(self, done: StepDone) -> StepRun[S]:
        self._sequence += 1
        new_state = self._set_state(done.state)
        self._target = None
        self._outcome = self._next(done.outcome)
        return StepRun(self._outcome, new_state)

    def _next(self, outcome: Outcome) -> Next:
        match outcome:
            case GoTo(target):
                return self._go(target)
            case PauseFor(after, on_timeout):
                ref = None if on_timeout is None else StepRef(on_timeout.step, self._input_of(on_timeout))
                return Pause(None if after is None else timedelta(microseconds=after), ref)
            case EndRun():
                return End()
            case FailRun(error):
                return StepFail(error.message, error.code)

    def _go(self, target: StepTarget) -> TransitionTo:
        self._target = target
        self._visit = self._sequence
        self._attempts = 0
        transition = TransitionTo(target.step, self._input_of(target))
        self.transitions.append(transition)
        return transition

    def _set_state(self, encoded: Payload | None) -> S | None:
        if encoded is None:
            return None
        self._encoded = encoded
        self._changed_at = self._sequence
        return self.state

    def _step_to_run(self, step: str | Callable[..., Any] | None, input: Any) -> tuple[StepDefinition, StepTarget]:
        if step is None:
            if self._target is None:
                raise ValueError(f"no step of {self._definition.component_id}/{self._entity_id} is pending; name the one to run: kit.run_step('…')")
            return self._declared(self._target.step), self._target
        definition = self._declared(step_name(step))
        if self._target is None or self._target.step != definition.name:
            self._attempts = 0
        return definition, StepTarget(definition.name, self._encoded_input(StepRef(definition.name, input)))

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
        return None if ref.input is None else taken.codec.encode_payload(ref.input)

    def _input_of(self, target: StepTarget) -> Any:
        taken = self._declared(target.step).input
        return None if taken is None or target.input is None else taken.codec.decode_payload(target.input)
