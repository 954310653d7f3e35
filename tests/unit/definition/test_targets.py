"""Step names in the source are checked when the class is defined, as far as the source can be read."""

import linecache
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from ankka.codec import DONE, Done, json_codec
from ankka.definition.build import definition_of
from ankka.definition.graph import Edge, edges
from ankka.effects.workflow import StepRef, WorkflowEffect, WorkflowStepEffect
from ankka.event_sourced_entity import RegistrationError
from ankka.workflow import Recovery, StepSettings, Workflow, WorkflowSettings, command, step
from tests.unit.seed_checkout import CheckoutWorkflow

CONSTANT = "constnat"


@dataclass(frozen=True)
class State:
    text: str = ""


class Steps(Workflow[State]):
    component_id = "steps"
    state_codec = json_codec(State, "state")

    def empty_state(self) -> State:
        return State()

    @step("constant")
    def constant(self) -> WorkflowStepEffect[State]:
        return self.step_effects.then_end()

    @step("ship")
    def ship(self, number: int) -> WorkflowStepEffect[State]:
        return self.step_effects.then_end()


def test_every_way_to_write_a_target_is_read() -> None:
    with pytest.raises(RegistrationError) as raised:

        class Broken(Steps):  # pyright: ignore[reportUnusedClass]
            @command("start")
            def start(self) -> WorkflowEffect[State, Done]:
                return self.effects.update_state(self.state).then_transition_to("one").then_reply(lambda _: DONE)

            @command("again")
            def again(self) -> WorkflowEffect[State, Done]:
                return self.effects.transition_to(step="two").then_no_reply()

            @step("a")
            def a(self) -> WorkflowStepEffect[State]:
                next_step = "three" if self.state.text else "four"
                return self.step_effects.then_transition_to(next_step)

            @step("b")
            def b(self) -> WorkflowStepEffect[State]:
                target = "five"
                if self.state.text:
                    target = "six"
                return self.step_effects.transition_to(target)

            @step("c")
            async def c(self) -> WorkflowStepEffect[State]:
                effects = self.step_effects.update_state(self.state)
                return effects.then_pause(timedelta(seconds=1), StepRef("seven"))

            @step("d")
            def d(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_pause(after=timedelta(seconds=1), on_timeout="eight")

            @step("e")
            def e(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_transition_to(CONSTANT)

            @step("f")
            def f(self) -> WorkflowStepEffect[State]:
                return self._leave()

            def _leave(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_transition_to("nine")

    named = [problem.split("'")[1] for problem in raised.value.problems]
    assert named == ["one", "two", "three", "four", "five", "six", "seven", "eight", "constnat", "nine"]
    assert "did you mean 'constant'?" in next(problem for problem in raised.value.problems if "constnat" in problem)


def test_inputs_of_named_targets() -> None:
    with pytest.raises(RegistrationError) as raised:

        class Broken(Steps):  # pyright: ignore[reportUnusedClass]
            @step("a")
            def a(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_transition_to("ship")

            @step("b")
            def b(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_transition_to("constant", 3)

            @step("c")
            def c(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_transition_to("ship", 3)

    assert raised.value.problems == [
        "a: the step 'ship' takes an input (number), but the transition gives none",
        "b: the step 'constant' takes no input, but the transition gives one",
    ]


def test_a_method_that_is_no_step() -> None:
    with pytest.raises(RegistrationError) as raised:

        class Broken(Steps):  # pyright: ignore[reportUnusedClass]
            @step("a")
            def a(self) -> WorkflowStepEffect[State]:
                target: Any = self.start
                return self.step_effects.then_transition_to(target)

            @step("b")
            def b(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_transition_to(self._plain)  # type: ignore[arg-type]  # pyright: ignore

            def _plain(self) -> int:
                return 1

            @command("start")
            def start(self) -> WorkflowEffect[State, Done]:
                return self.effects.transition_to(Steps.constant).then_no_reply()

    assert raised.value.problems == [
        "a: a transition goes to a step, but start is a command, not a step",
        'b: a transition goes to a step, but _plain is not a step; mark it with @step("…")',
    ]


class Machine:
    """Something of the user's with a method of the same name."""

    def transition_to(self, state: str) -> None: ...

    def then_pause(self, after: int, on_timeout: str) -> None: ...


def test_what_is_no_effect_is_left_alone() -> None:
    class Fine(Steps):
        @step("a")
        def a(self) -> WorkflowStepEffect[State]:
            machine = Machine()
            machine.transition_to("anywhere")
            machine.then_pause(1, "anywhere")
            name = self.state.text
            for name in ("x", "y"):  # noqa: B007 - what a loop leaves is not known
                pass
            return self.step_effects.then_transition_to(name)

    assert "a" in definition_of(Fine).steps


def test_without_source_the_class_is_defined() -> None:
    source = """
class NoSource(Steps):
    @step("a")
    def a(self) -> WorkflowStepEffect[State]:
        return self.step_effects.then_transition_to("nowhere")
"""
    names: dict[str, Any] = {**globals()}
    assert "<no source>" not in linecache.cache
    exec(compile(source, "<no source>", "exec"), names)
    assert set(definition_of(names["NoSource"]).steps) == {"constant", "ship", "a"}


def test_the_edges_of_the_documents_workflow() -> None:
    assert edges(CheckoutWorkflow) == [
        Edge("start", "reserve", "transition", from_command=True),
        Edge("reserve", "wait", "transition"),
        Edge("reserve", "charge", "transition"),
        Edge("wait", "charge", "on-timeout"),
        Edge("charge", None, "end"),
        Edge("charge", "compensate", "failover"),
        Edge("compensate", None, "end"),
    ]


def test_edges_of_methods_helpers_and_aliases() -> None:
    class Branching(Steps):
        settings = WorkflowSettings(steps={"old": StepSettings(recovery=Recovery(failover_to="old"))}, cancel_to="constant")

        @step("new", aliases=("old",))
        def new(self) -> WorkflowStepEffect[State]:
            return self._next()

        def _next(self) -> WorkflowStepEffect[State]:
            if self.state.text:
                return self.step_effects.then_transition_to(self.ship, 3)
            if self.entity_id:
                return self.step_effects.pause()
            return self.step_effects.fail("no")

    assert [edge for edge in edges(Branching) if edge.source in ("new", "")] == [
        Edge("new", "ship", "transition"),
        Edge("new", None, "pause"),
        Edge("new", None, "fail"),
        Edge("new", "new", "failover"),
        Edge("", "constant", "cancel"),
    ]
