"""A codec that holds another type than its class names is told when the class is defined."""

from dataclasses import dataclass

import pytest

from ankka.codec import json_codec
from ankka.definition.build import definition_of
from ankka.event_sourced_entity import EventSourcedEntity, RegistrationError
from ankka.workflow import Workflow


@dataclass(frozen=True)
class State:
    text: str = ""


def test_a_codec_that_holds_another_type_than_the_class_names() -> None:
    with pytest.raises(RegistrationError) as raised:

        class Broken(EventSourcedEntity[State, int]):  # pyright: ignore[reportUnusedClass]
            component_id = "broken"
            state_codec = json_codec(int, "state")
            event_codec = json_codec(str, "event")

            def empty_state(self) -> State:
                return State()

            def apply_event(self, state: State, event: int) -> State:
                return state

    assert raised.value.problems == [
        "state_codec holds int, but the class names State in EventSourcedEntity[…]: write json_codec(State, …), or name int there",
        "event_codec holds str, but the class names int in EventSourcedEntity[…]: write json_codec(int, …), or name str there",
    ]


def test_a_codec_of_a_base_or_of_what_is_no_plain_class_is_taken() -> None:
    class Special(State):
        pass

    class Narrow(Workflow[State]):
        component_id = "narrow"
        state_codec = json_codec(Special, "state")

        def empty_state(self) -> State:
            return Special()

    class Union(Workflow[State | None]):
        component_id = "union"
        state_codec = json_codec(State, "state")

        def empty_state(self) -> State | None:
            return None

    assert definition_of(Narrow).state_codec.type is Special
    assert definition_of(Union).component_id == "union"
