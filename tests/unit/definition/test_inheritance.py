"""Abstract and generic bases, inherited handlers, types that become known later."""

from __future__ import annotations

import abc
import functools
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import pytest

from ankka.codec import DONE, Done, json_codec
from ankka.definition.build import definition_of
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import RegistrationError
from ankka.testkit import WorkflowTestKit
from ankka.workflow import Workflow, command, query, step

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Answer: TypeAlias = WorkflowEffect[int, T]


class Stored(Workflow[T], Generic[T]):
    """Handlers for any state."""

    @query("state")
    def read(self) -> WorkflowReadOnlyEffect[T, T]:
        return self.effects.reply(self.state)

    @command("set")
    def set_state(self, state: T) -> WorkflowEffect[T, T]:
        return self.effects.update_state(state).then_reply_state()


class Numbers(Stored[int]):
    component_id = "numbers"
    state_codec = json_codec(int, "number")

    def empty_state(self) -> int:
        return 0


class MoreNumbers(Numbers):
    """Without an id of its own it stands for the same component."""


class Texts(Stored[list[str]]):
    component_id = "texts"
    state_codec = json_codec(list[str], "texts")

    def empty_state(self) -> list[str]:
        return []


def test_handlers_of_a_generic_base_have_the_types_of_the_subclass() -> None:
    numbers, texts = definition_of(Numbers), definition_of(Texts)
    assert list(numbers.handlers) == ["state", "set"]
    assert numbers.handlers["state"].reply is int
    taken = texts.handlers["set"].input
    assert taken is not None
    assert taken.type == list[str]
    kit = WorkflowTestKit.of(Texts)
    assert kit.call("set", ["a"]).reply == ["a"]
    assert kit.call(Texts.read).reply == ["a"]


def test_a_subclass_is_the_same_component_unless_it_says_otherwise() -> None:
    assert definition_of(MoreNumbers).component_id == "numbers"
    assert definition_of(MoreNumbers).cls is MoreNumbers


def test_abstract_classes_are_not_checked_and_not_registered() -> None:
    class Unfinished(Workflow[int], abc.ABC):
        @command("start")
        def start(self) -> WorkflowEffect[int, Done]:
            return self.effects.transition_to("elsewhere").then_no_reply()

    class AlsoUnfinished(Workflow[int]):
        @abc.abstractmethod
        def price(self) -> int: ...

    for cls in (Unfinished, AlsoUnfinished, Stored):
        with pytest.raises(RegistrationError, match="abstract"):
            definition_of(cls)

    with pytest.raises(RegistrationError) as raised:

        class Finished(Unfinished):  # pyright: ignore[reportUnusedClass]
            component_id = "finished"
            state_codec = json_codec(int, "number")

            def empty_state(self) -> int:
                return 0

    assert raised.value.problems == ["start: transition to the step 'elsewhere', which is not declared; none is declared"]


def test_an_override_with_a_decorator_replaces_the_handler() -> None:
    class Louder(Numbers):
        @query("state")
        def read(self) -> WorkflowReadOnlyEffect[int, int]:
            return self.effects.reply(self.state + 1)

    assert WorkflowTestKit.of(Louder).call("state").reply == 1


def test_local_types_in_annotations_that_are_texts() -> None:
    @dataclass(frozen=True)
    class Local:
        number: int

    class Uses(Numbers):
        @command("take")
        def take(self, value: Local) -> WorkflowEffect[int, Local]:
            return self.effects.update_state(value.number).then_reply(lambda _: value)

    assert WorkflowTestKit.of(Uses).call("take", Local(3)).reply == Local(3)


def test_an_alias_of_the_effect() -> None:
    class Uses(Numbers):
        @command("take")
        def take(self) -> Answer[str]:
            return self.effects.update_state(1).then_reply(lambda _: "taken")

    assert definition_of(Uses).handlers["take"].reply is str


LATER = """
from __future__ import annotations
from dataclasses import dataclass
from ankka.codec import DONE, Done, json_codec
from ankka.effects.workflow import WorkflowEffect
from ankka.workflow import Workflow, command

class Early(Workflow[int]):
    component_id = "early"
    state_codec = json_codec(int, "number")
    def empty_state(self) -> int:
        return 0
    @command("take")
    def take(self, value: Late) -> WorkflowEffect[int, Done]:
        return self.effects.update_state(1).then_no_reply()
"""


def test_a_type_that_is_defined_later_is_resolved_at_registration() -> None:
    module = types.ModuleType("defined_later")
    sys.modules["defined_later"] = module
    try:
        exec(LATER, module.__dict__)
        early = module.__dict__["Early"]
        with pytest.raises(RegistrationError, match="'Late', which is not defined"):
            definition_of(early)
        exec("@dataclass(frozen=True)\nclass Late:\n    number: int\n", module.__dict__)
        taken = definition_of(early).handlers["take"].input
        assert taken is not None
        assert taken.type is module.__dict__["Late"]
        assert definition_of(early) is definition_of(early)
    finally:
        del sys.modules["defined_later"]


def logged(function: F) -> F:
    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapper  # type: ignore[return-value]  # pyright: ignore


def test_decorators_of_the_user_above_and_below() -> None:
    class Wrapped(Numbers):
        @logged
        @command("above")
        def above(self, number: int) -> WorkflowEffect[int, int]:
            return self.effects.update_state(number).then_reply_state()

        @command("below")
        @logged
        async def below(self, number: int) -> WorkflowEffect[int, Done]:
            return self.effects.update_state(number).then_reply(lambda _: DONE)

        @step("both")
        @logged
        async def both(self) -> WorkflowStepEffect[int]:
            return self.step_effects.then_end()

    kit: WorkflowTestKit[int] = WorkflowTestKit.of(Wrapped)
    assert kit.call("above", 3).reply == 3
    assert kit.call("below", 4).reply == DONE
    assert kit.state == 4
    assert kit.run_step("both").new_state is None
