"""Workflows: durable, multi-step processes.

A class with a `component_id`, a `state_codec`, `@command` and `@query` handlers and `@step` methods. Every transition
is journalled before the next step runs, so an instance resumes at the step it had reached.
"""

from typing import Any, ClassVar, Generic, TypeVar, cast

from ankka.context import StepContext
from ankka.definition.component import Component, EffectTypes
from ankka.definition.marks import command, query, step
from ankka.definition.problems import RegistrationError
from ankka.definition.settings import Backoff, Recovery, StepSettings, WorkflowSettings
from ankka.effects.workflow import StepEffects, WorkflowEffect, WorkflowEffects, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.process.merging import merge_fields
from ankka.protocol.spec import ComponentKind

__all__ = ["Backoff", "Recovery", "RegistrationError", "StepSettings", "Workflow", "WorkflowSettings", "command", "query", "step"]

S = TypeVar("S")


class Workflow(Component[S], Generic[S]):
    """A durable process on a state of your own type; subclass it.

    Commands and queries are called from outside through the client; steps are run by the runtime, one at a time per
    instance. Each returns an effect. A fresh object is made for every call: keep what must last in the state.

    >>> from ankka.codec import DONE, Done, json_codec
    >>> class Greeting(Workflow[str]):
    ...     component_id = "greeting"
    ...     state_codec = json_codec(str, "greeting")
    ...     def empty_state(self) -> str:
    ...         return "new"
    ...     @command("start")
    ...     def start(self) -> WorkflowEffect[str, Done]:
    ...         return self.effects.transition_to("greet").then_reply(lambda _: DONE)
    ...     @step("greet")
    ...     def greet(self) -> WorkflowStepEffect[str]:
    ...         return self.step_effects.update_state(f"hello {self.entity_id}").then_end()
    >>> from ankka.testkit import WorkflowTestKit
    >>> kit = WorkflowTestKit.of(Greeting, "world")
    >>> kit.call("start").reply, kit.run_step().new_state
    (DONE, 'hello world')
    """

    settings: ClassVar[WorkflowSettings | None] = None
    """Timeouts, retries, failover; `None`: the defaults."""

    __ankka_kind__ = ComponentKind.WORKFLOW
    __ankka_effects__: ClassVar[EffectTypes] = EffectTypes(command=WorkflowEffect, query=WorkflowReadOnlyEffect, arity=2, step=WorkflowStepEffect)

    @property
    def effects(self) -> WorkflowEffects[S]:
        """What a command or a query can return."""
        return cast("WorkflowEffects[S]", _EFFECTS)

    @property
    def step_effects(self) -> StepEffects[S]:
        """What a step can return."""
        return cast("StepEffects[S]", _STEP_EFFECTS)

    @property
    def context(self) -> StepContext:
        """Who is called, the client, and in a step its attempt; only while a handler runs."""
        return cast("StepContext", self._context())

    def merge_state(self, base: S, current: S, mine: S) -> S:
        """The state after a step that ended while commands had changed the state it began with; override it at will.

        `base` is the state the step began with, `current` the one journalled since, `mine` the one the step set. By
        default field by field (dataclasses, Pydantic models, msgspec structs, dicts): what the step changed is the
        step's, the rest is current. Where both changed one field to different values the step's stands, and the
        journal's event names the field. Any other state, or one whose class has changed, is the step's as a whole.

        It decides on its arguments alone: `self.entity_id` and `self.state` (the current one) are there, the context
        is not. It runs on the event loop, is not async and must not block. What it raises is a fault of the step.

        >>> from dataclasses import dataclass, replace
        >>> from ankka.codec import json_codec
        >>> @dataclass(frozen=True)
        ... class Order:
        ...     status: str = "new"
        ...     notes: tuple[str, ...] = ()
        >>> class OrderWorkflow(Workflow[Order]):
        ...     component_id = "order"
        ...     state_codec = json_codec(Order, "order")
        ...     def empty_state(self) -> Order:
        ...         return Order()
        ...     def merge_state(self, base: Order, current: Order, mine: Order) -> Order:
        ...         merged = super().merge_state(base, current, mine)
        ...         return replace(merged, notes=current.notes + mine.notes[len(base.notes) :])
        >>> OrderWorkflow().merge_state(Order(), Order("new", ("gift",)), Order("charged", ("paid",)))
        Order(status='charged', notes=('gift', 'paid'))
        """
        return merge_fields(base, current, mine).state


_EFFECTS: WorkflowEffects[Any] = WorkflowEffects()
_STEP_EFFECTS: StepEffects[Any] = StepEffects()
