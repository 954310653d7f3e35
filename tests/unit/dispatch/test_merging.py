"""What a step and commands changed meanwhile, put together (W14): the default for every kind of state, and overrides."""

import logging
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NotRequired, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, RootModel, ValidationError, model_validator

from ankka.codec import Codec, json_codec
from ankka.definition.build import definition_of
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.process.dispatch_merge import merge
from ankka.process.merging import merge_fields
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import Merge, Merged, Refused
from ankka.protocol.payload import Payload
from ankka.workflow import RegistrationError, Workflow
from tests.unit.wrong import wrong


@dataclass(frozen=True, slots=True)
class Plain:
    status: str = "new"
    notes: tuple[str, ...] = ()
    total: int | bool = 0


@dataclass
class Derived:
    price: int
    count: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        if self.price * self.count > 100:
            raise ValueError("too dear")
        self.total = self.price * self.count


class Model(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    status: str = "new"
    notes: list[str] = []
    total: int = 0

    @model_validator(mode="after")
    def check(self) -> "Model":
        if self.total > 100:
            raise ValueError("too dear")
        return self


class Struct(msgspec.Struct, rename="camel"):
    order_status: str = "new"
    notes: list[str] = []
    total: int = 0


class Typed(TypedDict):
    status: str
    note: NotRequired[str]
    total: int


@dataclass
class Waiting:
    since: int
    note: str = ""


@dataclass
class Over:
    at: int


class Root(RootModel[list[int]]):
    pass


def test_the_steps_changes_and_the_commands_are_both_there() -> None:
    base = Plain("new", ("a",), 1)
    merged = merge_fields(base, replace(base, notes=("a", "gift")), replace(base, status="charged"))
    assert merged == (Plain("charged", ("a", "gift"), 1), ())


def test_a_field_both_changed_is_the_steps_and_is_named() -> None:
    merged = merge_fields(Plain(notes=()), Plain("held", ("gift",)), Plain("charged", ("paid",)))
    assert merged == (Plain("charged", ("paid",)), ("status", "notes"))


def test_the_same_change_on_both_sides_is_no_conflict() -> None:
    assert merge_fields(Plain(), Plain("charged", ("gift",)), Plain("charged")) == (Plain("charged", ("gift",)), ())


def test_a_change_of_type_alone_is_a_change() -> None:
    state, both = merge_fields(Plain(total=1), Plain("held", total=1), Plain(total=True))
    assert (state.status, state.total is True, both) == ("held", True, ())


def test_what_a_dataclass_derives_is_derived_again_and_is_nobodys_conflict() -> None:
    state, both = merge_fields(Derived(2, 3), Derived(2, 5), Derived(4, 3))
    assert (state.price, state.count, state.total, both) == (4, 5, 20, ())


def test_a_check_of_the_class_that_fails_is_raised() -> None:
    with pytest.raises(ValueError, match="too dear"):
        merge_fields(Derived(2, 3), Derived(2, 50), Derived(30, 3))


def test_a_pydantic_model_is_merged_by_fields_extras_too_and_validated() -> None:
    base = Model.model_validate({"status": "new", "vip": True, "old": 1})
    current = Model.model_validate({"notes": ["gift"], "vip": True, "color": "red"})
    mine = Model.model_validate({"status": "charged", "vip": False, "old": 1})
    state, both = merge_fields(base, current, mine)
    assert state == Model.model_validate({"status": "charged", "notes": ["gift"], "vip": False, "color": "red"})
    assert both == ()
    with pytest.raises(ValidationError, match="too dear"):
        merge_fields(Model(), Model(), Model.model_construct(total=101))


def test_a_struct_is_merged_by_the_names_of_its_fields() -> None:
    assert merge_fields(Struct(), Struct("held", ["gift"]), Struct("charged", total=3)) == (Struct("charged", ["gift"], 3), ("order_status",))


def test_a_typed_dict_is_merged_by_keys_absent_ones_too() -> None:
    base: Typed = {"status": "new", "note": "x", "total": 0}
    assert merge_fields(base, {"status": "new", "total": 0}, {"status": "charged", "note": "x", "total": 0}) == (
        {"status": "charged", "total": 0},
        (),
    )
    assert merge_fields(base, {"status": "new", "note": "y", "total": 0}, {"status": "new", "total": 1}) == ({"status": "new", "total": 1}, ("note",))


def test_keys_of_a_dict_that_are_no_text_are_named_as_text() -> None:
    assert merge_fields({1: "a"}, {1: "b", 2: "x"}, {1: "c", 3: "y"}) == ({1: "c", 2: "x", 3: "y"}, ("1",))


@pytest.mark.parametrize(
    ("base", "current", "mine", "state", "both"),
    [
        ("new", "noted", "charged", "charged", ("$",)),
        ("new", "new", "charged", "charged", ()),
        ("new", "charged", "charged", "charged", ()),
        (["a"], ["a", "b"], ["a"], ["a", "b"], ()),
        (Decimal("1.0"), Decimal("1.00"), Decimal("2"), Decimal("2"), ("$",)),
        (None, Plain(), Plain("charged"), Plain("charged"), ("$",)),
        (Waiting(1), Waiting(1, "gift"), Over(2), Over(2), ("$",)),
        (Waiting(1), Waiting(1), Over(2), Over(2), ()),
        (Waiting(1), Over(2), Waiting(1), Over(2), ()),
        (Waiting(1), Waiting(1, "gift"), Waiting(2), Waiting(2, "gift"), ()),
        (Root([1]), Root([2]), Root([3]), Root([3]), ("$",)),
    ],
)
def test_states_without_fields_and_changed_classes_are_one_value(base: Any, current: Any, mine: Any, state: Any, both: tuple[str, ...]) -> None:
    merged = merge_fields(base, current, mine)
    assert (merged.state, merged.both) == (state, both)


class Orders(Workflow[Plain]):
    component_id = "orders"
    state_codec = json_codec(Plain, "order")

    def empty_state(self) -> Plain:
        return Plain(notes=(self.entity_id,))


class Appending(Orders):
    def merge_state(self, base: Plain, current: Plain, mine: Plain) -> Plain:
        assert self.state == current
        assert self.entity_id == "o1"
        merged = super().merge_state(base, current, mine)
        return replace(merged, notes=current.notes + mine.notes[len(base.notes) :])


class Raising(Orders):
    def merge_state(self, base: Plain, current: Plain, mine: Plain) -> Plain:
        raise LookupError(f"neither {current.status} nor {mine.status}")


class Nothing(Orders):
    def merge_state(self, base: Plain, current: Plain, mine: Plain) -> Plain:
        return wrong(None)


class OtherType(Orders):
    def merge_state(self, base: Plain, current: Plain, mine: Plain) -> Plain:
        return wrong({"status": "charged"})


class Later(Orders):
    def merge_state(self, base: Plain, current: Plain, mine: Plain) -> Plain:
        async def later() -> Plain:
            return mine

        return wrong(later())


def frame(base: Plain | None, current: Plain, mine: Plain, codec: Codec[Plain] = Orders.state_codec) -> Merge:
    encode = codec.encode_payload
    return Merge(7, "orders", "o1", "charge", None if base is None else encode(base), encode(current), encode(mine), 1_000_000)


def merged_by(workflow: type[Orders], base: Plain | None, current: Plain, mine: Plain) -> Merged | Refused:
    return merge(definition_of(workflow), frame(base, current, mine))


def test_dispatch_answers_the_encoded_state_and_what_both_changed() -> None:
    answer = merged_by(Orders, Plain(), Plain("held", ("gift",)), Plain("charged"))
    assert answer == Merged(7, Orders.state_codec.encode_payload(Plain("charged", ("gift",))), ("status",))


def test_the_base_of_a_first_step_is_the_empty_state() -> None:
    answer = merged_by(Orders, None, Plain(notes=("o1", "gift")), Plain("charged", ("o1",)))
    assert answer == Merged(7, Orders.state_codec.encode_payload(Plain("charged", ("o1", "gift"))))


def test_an_override_decides_and_may_ask_the_default_first() -> None:
    answer = merged_by(Appending, Plain(), Plain("new", ("gift",)), Plain("charged", ("paid",)))
    assert answer == Merged(7, Orders.state_codec.encode_payload(Plain("charged", ("gift", "paid"))))


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        (Raising, "merge_state of 'orders' failed: LookupError: neither held nor charged"),
        (Nothing, "merge_state of 'orders' returned None, expected the state that holds both changes"),
        (Later, "merge_state of 'orders' returned a coroutine, expected the state; it must not be async"),
        (
            OtherType,
            "the state that merge_state made after step 'charge' of orders/o1 cannot be encoded: $: expected Plain, got dict {'status': 'charged'}",
        ),
    ],
)
def test_a_merge_that_cannot_be_used_is_refused_in_words(workflow: type[Orders], message: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ankka"):
        answer = merged_by(workflow, Plain(), Plain("held"), Plain("charged"))
    assert isinstance(answer, Refused)
    assert (answer.request, answer.error.code, answer.error.message) == (7, ErrorCode.INTERNAL, message)
    (record,) = caplog.records
    assert message in record.getMessage()
    assert (record.exc_info is not None) == (workflow is Raising)  # only what user code raised has a traceback


def test_a_state_that_cannot_be_read_is_refused() -> None:
    broken = msgspec.structs.replace(frame(Plain(), Plain(), Plain()), current=Payload(b'{"status":3}'))
    answer = merge(definition_of(Orders), broken)
    assert isinstance(answer, Refused)
    assert answer.error.message.startswith("the state of orders/o1 cannot be read: $.status: ")


def test_an_entity_has_no_merge() -> None:
    class Counter(EventSourcedEntity[int, int]):
        component_id = "orders"
        state_codec = json_codec(int, "count")
        event_codec = json_codec(int, "added")

        def empty_state(self) -> int:
            return 0

        def apply_event(self, state: int, event: int) -> int:
            return state + event

    number = Payload(b"1")
    answer = merge(definition_of(Counter), Merge(1, "orders", "o1", "charge", None, number, number, 1))
    assert isinstance(answer, Refused)
    assert "'orders' is no workflow" in answer.error.message


def test_a_merge_state_that_cannot_be_called_is_a_problem_of_the_class() -> None:
    with pytest.raises(RegistrationError) as raised:

        class Bad(Orders):  # pyright: ignore[reportUnusedClass]
            async def merge_state(self, base: Plain, current: Plain) -> Plain:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
                return current

    assert raised.value.problems == [
        "merge_state must not be async: it decides on its arguments alone",
        "merge_state takes (self, base, current); define merge_state(self, base, current, mine): the state that holds both changes",
    ]
    with pytest.raises(RegistrationError, match="merge_state is a int; define merge_state"):

        class Worse(Orders):  # pyright: ignore[reportUnusedClass]
            merge_state = 3  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
