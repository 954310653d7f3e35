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
    __ankka_effects__ = EffectTypes(command=WorkflowEffect, query=WorkflowReadOnlyEffect, arity=2, step=WorkflowStepEffect)

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


_EFFECTS: WorkflowEffects[Any] = WorkflowEffects()
_STEP_EFFECTS: StepEffects[Any] = StepEffects()
