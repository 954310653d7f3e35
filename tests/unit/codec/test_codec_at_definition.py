"""Types that no codec can hold are refused where the component's class is defined, wherever in it they stand, with what to do."""

# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# annotations from values
import datetime as dt
from dataclasses import dataclass
from typing import Any

import pytest

from ankka.codec import Done, json_codec
from ankka.definition.problems import RegistrationError
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.workflow import WorkflowEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.workflow import Workflow, command, step


@dataclass(frozen=True)
class Named:
    type: str


@dataclass(frozen=True)
class Other:
    number: int


def _twin() -> Any:
    @dataclass(frozen=True)
    class Other:
        text: str

    return Other


_APART = "put each in a dataclass of its own"
_INSTEAD = "use a dataclass, a msgspec struct, a TypedDict or a Pydantic model"

REFUSED: list[tuple[Any, str, str]] = [
    (str | dt.date, "JSON cannot tell str and date apart", _APART),
    (set[int] | list[int], "JSON cannot tell set[int] and list[int] apart", _APART),
    (dict[str, int] | Other, "JSON cannot tell dict[str, int] and Other apart", _APART),
    (Named | Other, "Named has a field named like the tag, 'type'", "give json_codec(…, tag=…) another name than 'type'"),
    (Other | _twin(), "two of its classes are named 'Other'", "give json_codec(…, names={Other: 'another name'})"),
    (complex, "complex is not a type that a codec can hold", _INSTEAD),
    (dict[tuple[int, int], str], "tuple[int, int] cannot be the key of a JSON object", "a key may be str, int, "),
    (set[dict[str, int]], "dict[str, int] is not hashable", "use a list"),
]


@pytest.mark.parametrize(("annotation", "problem", "fix"), REFUSED, ids=[str(annotation)[:40] for annotation, _, _ in REFUSED])
@pytest.mark.parametrize("within", [False, True])
def test_a_type_is_refused_wherever_it_stands_in_a_component(annotation: Any, problem: str, fix: str, within: bool) -> None:
    of: Any = dict[str, list[annotation | None]] if within else annotation
    with pytest.raises(RegistrationError) as caught:

        class Workflowed(Workflow[Any]):  # pyright: ignore[reportUnusedClass]
            component_id = "workflowed"
            state_codec = json_codec(of, "state")

            def empty_state(self) -> Any: ...

            @command("take")
            def take(self, input: of) -> WorkflowEffect[Any, Done]:
                raise NotImplementedError

            @command("give")
            def give(self) -> WorkflowEffect[Any, of]:
                raise NotImplementedError

            @step("step")
            def step(self, input: of) -> WorkflowStepEffect[Any]:
                raise NotImplementedError

    for where in (
        "state_codec cannot hold its type",
        "command 'take' (take): its input",
        "command 'give' (give): its reply",
        "step 'step' (step): its input",
    ):
        (said,) = [one for one in caught.value.problems if one.startswith(where)]
        assert problem in said
        assert fix in said
    assert len(caught.value.problems) == 4
    with pytest.raises(RegistrationError) as caught:

        class Sourced(EventSourcedEntity[int, Any]):  # pyright: ignore[reportUnusedClass]
            component_id = "sourced"
            state_codec = json_codec(int, "state")
            event_codec = json_codec(of, "event")

            def empty_state(self) -> int: ...  # type: ignore[empty-body]  # pyright: ignore[reportReturnType]

            def apply_event(self, state: int, event: Any) -> int: ...  # type: ignore[empty-body]  # pyright: ignore[reportReturnType]

            @command("do")
            def do(self) -> EventSourcedEffect[int, Any, Done]:
                raise NotImplementedError

    (said,) = caught.value.problems
    assert said.startswith("event_codec cannot hold its type")
    assert problem in said
    assert fix in said


def test_names_and_tags_make_the_same_unions_good() -> None:
    twin = _twin()
    union: Any = Other | twin

    class Good(EventSourcedEntity[Any, Any]):
        component_id = "good"
        state_codec = json_codec(Named | Other, "state", tag="kind")
        event_codec = json_codec(union, "event", names={twin: "Twin"}, aliases={"OldTwin": twin})

        def empty_state(self) -> Any:
            return Named("x")

        def apply_event(self, state: Any, event: Any) -> Any:
            return state

        @command("do")
        def do(self) -> EventSourcedEffect[Any, Any, Done]:
            raise NotImplementedError

    assert Good.state_codec.encode(Named("x")) == b'{"kind":"Named","type":"x"}'
    assert Good.event_codec.decode(b'{"type":"OldTwin","text":"t"}') == twin("t")
    assert Good.event_codec.decode(b'{"type":"Other","number":1}') == Other(1)
