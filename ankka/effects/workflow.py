"""What a workflow's handlers return, and the builders that make it.

    self.effects.update_state(s).then_transition_to("charge").then_reply(lambda state: DONE)      a command
    self.effects.reply(self.state)                                                                a query
    self.step_effects.update_state(s).then_transition_to("charge")                                a step

Effects are covariant in the state and the reply, so a refusal (`error`, which replies `Never`) fits every handler. A
step named by its method is checked by the type checkers: its input, and that it is a step on the same state.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Never, TypeAlias, TypeVar, overload

from ankka.codec import Done
from ankka.definition.marks import step_name
from ankka.definition.settings import check_duration
from ankka.effects.common import ABSENT, Error, ErrorCode, Reply, ReplyDone, ReplyState, ReplyValue, error_of, reply_from

if TYPE_CHECKING:
    from ankka.workflow import Workflow

S = TypeVar("S")
R = TypeVar("R")
Input = TypeVar("Input")
W = TypeVar("W", bound="Workflow[Any]")
T = TypeVar("T")
S_co = TypeVar("S_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)

MaybeAsync: TypeAlias = T | Coroutine[Any, Any, T]
"""What a sync or an async handler gives back."""


@dataclass(frozen=True, slots=True)
class WorkflowEffect(Generic[S_co, R_co]):
    """What a workflow command answers: a new state, a transition, a deletion, and a reply; or an error, and nothing else."""

    reply: Reply = ReplyDone()
    error: Error | None = None
    state: Any = ABSENT
    transition: "TransitionTo | None" = None
    delete: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowReadOnlyEffect(WorkflowEffect[S_co, R_co]):
    """What a query answers (and a command that changes nothing): a reply or an error."""


@dataclass(frozen=True, slots=True, init=False)
class StepRef:
    """A step, by wire name or by its method, and the input it will receive (`None`: none).

    >>> StepRef("charge")
    StepRef(step='charge', input=None)
    """

    step: str
    input: Any

    @overload
    def __init__(self, step: str, input: object = None) -> None: ...
    @overload
    def __init__(self, step: "Callable[[], MaybeAsync[WorkflowStepEffect[Any]]]") -> None: ...
    @overload
    def __init__(self, step: "Callable[[W], MaybeAsync[WorkflowStepEffect[Any]]]") -> None: ...
    @overload
    def __init__(self, step: "Callable[[Input], MaybeAsync[WorkflowStepEffect[Any]]]", input: Input) -> None: ...
    @overload
    def __init__(self, step: "Callable[[W, Input], MaybeAsync[WorkflowStepEffect[Any]]]", input: Input) -> None: ...
    def __init__(self, step: Any, input: Any = None) -> None:
        object.__setattr__(self, "step", step_name(step))
        object.__setattr__(self, "input", input)


class TransitionTo(StepRef):
    """Run this step next.

    >>> TransitionTo("charge") == TransitionTo("charge", None)
    True
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for a command's transition; after `after`, if given, go to `on_timeout`, or fail if there is none."""

    after: timedelta | None = None
    on_timeout: StepRef | None = None

    def __post_init__(self) -> None:
        if self.after is not None:
            check_duration(self.after, "after")
        elif self.on_timeout is not None:
            raise ValueError(f"a pause with on_timeout={self.on_timeout.step!r} needs after=timedelta(…); without it the pause has no end")


@dataclass(frozen=True, slots=True)
class End:
    """The workflow is complete."""


@dataclass(frozen=True, slots=True)
class StepFail:
    """The workflow ends failed, deliberately: no recovery runs."""

    message: str
    code: ErrorCode = ErrorCode.INTERNAL


@dataclass(frozen=True, slots=True)
class WorkflowStepEffect(Generic[S_co]):
    """What a step answers: the state it sets, if it sets one, and what happens next."""

    next: TransitionTo | Pause | End | StepFail
    state: Any = ABSENT


@dataclass(frozen=True, slots=True)
class Replying(Generic[S]):
    """A change that still needs its reply: `.then_reply(…)`, `.then_reply_state()` or `.then_no_reply()`."""

    state: Any = ABSENT
    transition: TransitionTo | None = None
    delete: bool = False

    def then_reply(self, function: Callable[[S], R]) -> WorkflowEffect[S, R]:
        """Reply with what `function` makes of the new state, once the change is journalled."""
        return WorkflowEffect(reply_from(function), None, self.state, self.transition, self.delete)

    def then_reply_state(self) -> WorkflowEffect[S, S]:
        """Reply with the new state."""
        return WorkflowEffect(ReplyState(), None, self.state, self.transition, self.delete)

    def then_no_reply(self) -> WorkflowEffect[S, Done]:
        """Reply with nothing; the caller sees `Done`."""
        return WorkflowEffect(ReplyDone(), None, self.state, self.transition, self.delete)


@dataclass(frozen=True, slots=True)
class Updating(Replying[S]):
    """A change of state that may also start the workflow at a step, or redirect it."""

    @overload
    def then_transition_to(self, step: str, input: object = None) -> Replying[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[], MaybeAsync[WorkflowStepEffect[S]]]) -> Replying[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[W], MaybeAsync[WorkflowStepEffect[S]]]) -> Replying[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[Input], MaybeAsync[WorkflowStepEffect[S]]], input: Input) -> Replying[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[W, Input], MaybeAsync[WorkflowStepEffect[S]]], input: Input) -> Replying[S]: ...
    def then_transition_to(self, step: Any, input: Any = None) -> Replying[S]:
        """Start the workflow at this step, or redirect it there."""
        return Replying(self.state, TransitionTo(step, input))

    transition_to = then_transition_to


class WorkflowEffects(Generic[S]):
    """`self.effects` of a workflow: what a command or a query can do."""

    __slots__ = ()

    def update_state(self, state: S) -> Updating[S]:
        """Set the state."""
        return Updating(state)

    @overload
    def transition_to(self, step: str, input: object = None) -> Replying[S]: ...
    @overload
    def transition_to(self, step: Callable[[], MaybeAsync[WorkflowStepEffect[S]]]) -> Replying[S]: ...
    @overload
    def transition_to(self, step: Callable[[W], MaybeAsync[WorkflowStepEffect[S]]]) -> Replying[S]: ...
    @overload
    def transition_to(self, step: Callable[[Input], MaybeAsync[WorkflowStepEffect[S]]], input: Input) -> Replying[S]: ...
    @overload
    def transition_to(self, step: Callable[[W, Input], MaybeAsync[WorkflowStepEffect[S]]], input: Input) -> Replying[S]: ...
    def transition_to(self, step: Any, input: Any = None) -> Replying[S]:
        """Start the workflow at this step, or redirect it there, without changing the state."""
        return Replying(ABSENT, TransitionTo(step, input))

    then_transition_to = transition_to

    def delete(self) -> Replying[S]:
        """Discard the workflow: state, journal, deadlines. The reply function gets the empty state."""
        return Replying(delete=True)

    def reply(self, value: R) -> WorkflowReadOnlyEffect[S, R]:
        """Reply and change nothing."""
        return WorkflowReadOnlyEffect(ReplyValue(value))

    def error(self, message: str, code: ErrorCode = ErrorCode.BAD_REQUEST) -> WorkflowReadOnlyEffect[S, Never]:
        """Refuse. Nothing is journalled."""
        return WorkflowReadOnlyEffect(error=error_of(message, code))


@dataclass(frozen=True, slots=True)
class StepOutcome(Generic[S]):
    """What a step can say happens next, each with and without `then_`."""

    state: Any = ABSENT

    @overload
    def then_transition_to(self, step: str, input: object = None) -> WorkflowStepEffect[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[], MaybeAsync[WorkflowStepEffect[S]]]) -> WorkflowStepEffect[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[W], MaybeAsync[WorkflowStepEffect[S]]]) -> WorkflowStepEffect[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[Input], MaybeAsync[WorkflowStepEffect[S]]], input: Input) -> WorkflowStepEffect[S]: ...
    @overload
    def then_transition_to(self, step: Callable[[W, Input], MaybeAsync[WorkflowStepEffect[S]]], input: Input) -> WorkflowStepEffect[S]: ...
    def then_transition_to(self, step: Any, input: Any = None) -> WorkflowStepEffect[S]:
        """Run another step next."""
        return WorkflowStepEffect(TransitionTo(step, input), self.state)

    transition_to = then_transition_to

    @overload
    def then_pause(self, after: timedelta | None = None, on_timeout: StepRef | str | None = None) -> WorkflowStepEffect[S]: ...
    @overload
    def then_pause(self, after: timedelta, on_timeout: Callable[[], MaybeAsync[WorkflowStepEffect[S]]]) -> WorkflowStepEffect[S]: ...
    @overload
    def then_pause(self, after: timedelta, on_timeout: Callable[[W], MaybeAsync[WorkflowStepEffect[S]]]) -> WorkflowStepEffect[S]: ...
    def then_pause(self, after: timedelta | None = None, on_timeout: Any = None) -> WorkflowStepEffect[S]:
        """Wait for a command's transition; after `after`, if nothing came, run `on_timeout` (or fail without one)."""
        target = on_timeout if on_timeout is None or isinstance(on_timeout, StepRef) else StepRef(on_timeout)
        return WorkflowStepEffect(Pause(after, target), self.state)

    pause = then_pause

    def then_end(self) -> WorkflowStepEffect[S]:
        """The workflow is complete."""
        return WorkflowStepEffect(End(), self.state)

    end = then_end

    def then_fail(self, message: str, code: ErrorCode = ErrorCode.INTERNAL) -> WorkflowStepEffect[S]:
        """The workflow ends failed, deliberately: no recovery runs."""
        error = error_of(message, code)
        return WorkflowStepEffect(StepFail(error.message, error.code), self.state)

    fail = then_fail


class StepEffects(StepOutcome[S]):
    """`self.step_effects`: what a step can do; `update_state` records progress in the same journalled transition."""

    __slots__ = ()

    def update_state(self, state: S) -> StepOutcome[S]:
        """Set the state; it is visible to others once the step has returned."""
        return StepOutcome(state)
