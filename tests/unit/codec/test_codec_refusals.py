"""What does not come back is refused before it leaves, what cannot be read is refused, and both say where."""

import datetime as dt
import enum
from dataclasses import InitVar, dataclass
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from ankka.codec import CodecError, EncodingError, UnresolvedType, default_codec_for, json_codec
from tests.unit.codec.codec_samples import (
    Added,
    AddedTwice,
    Box,
    Cart,
    Colour,
    Customer,
    Derived,
    Event,
    Level,
    Line,
    Mode,
    Node,
    Options,
    Order,
    Point,
    Removed,
    Strict,
    Trimmed,
    VipCustomer,
)

WRONG: Any = "no"
_BORN = dt.date(2000, 1, 2)


def _cyclic() -> Node:
    node = Node(1)
    node.children.append(node)
    return node


def _half_made() -> Derived:
    return Derived.__new__(Derived)


REFUSED: list[tuple[Any, Any, str, str]] = [
    (Order, Order("o", [Line("a", 1), Line("b", WRONG)]), "$.lines[1].quantity", "expected int, got str 'no'"),
    (list[float], [float("nan")], "$[0]", "expected a finite float, got nan, which JSON does not have"),
    (list[float], [float("-inf")], "$[0]", "expected a finite float, got -inf, which JSON does not have"),
    (list[float], [1], "$[0]", "expected float, got int 1, which would come back as a float: make it float(…)"),
    (list[int], [True], "$[0]", "expected int, got bool True"),
    (list[Decimal], [Decimal("NaN")], "$[0]", "expected a finite Decimal, got NaN"),
    (list[int], [Level.LOW], "$[0]", "expected int, got Level <Level.LOW: 1>"),
    (list[str], [Mode.OK], "$[0]", "expected str, got Mode <Mode.OK: 'ok'>"),
    (list[Mode], ["ok"], "$[0]", "expected Mode, got str 'ok'"),
    (list[Colour], [Level.LOW], "$[0]", "expected Colour, got Level <Level.LOW: 1>"),
    (
        list[dt.date],
        [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
        "$[0]",
        "expected date, got datetime datetime.datetime(2020, 1, 1…tzinfo=datetime.timezone.utc)",
    ),
    (dict[str, str], {"a": "\ud800"}, "$['a']", r"a lone surrogate at character 0 of '\ud800', which UTF-8 cannot carry"),
    (dict[str, int], {1: 1}, "$[1]", "expected str, got int 1"),
    (list[int], (1,), "$", "expected list, got tuple (1,)"),
    (tuple[int, int], (1,), "$", "expected tuple[int, int], 2 items, got 1: tuple (1,)"),
    (
        dict[str, Any],
        {"a": [dt.date(2020, 1, 1)]},
        "$['a'][0]",
        "expected a plain JSON value where Any is declared, got date datetime.date(2020, 1, 1)",
    ),
    (Options, {"name": "a", "x": 1}, "$['x']", "Options has no key 'x', so it would not come back"),
    (Options, {}, "$.name", "the required key 'name' of Options is missing"),
    (Node, _cyclic(), "$", "nested too deeply, or within itself"),
    (Derived, _half_made(), "$.net", "the field 'net' of Derived has no value"),
    (list[Annotated[int, msgspec.Meta(ge=1)]], [0], "$[0]", "Expected `int` >= 1"),
]


@pytest.mark.parametrize(("annotation", "value", "path", "reason"), REFUSED)
def test_value_that_would_not_come_back_is_refused(annotation: Any, value: Any, path: str, reason: str) -> None:
    with pytest.raises(EncodingError) as caught:
        json_codec(annotation, "x").encode_payload(value, "state")
    assert (caught.value.path, caught.value.reason) == (path, reason)
    assert str(caught.value) == f"state 'x': {path}: {reason}"


def test_subclass_where_the_base_is_declared_is_refused() -> None:
    with pytest.raises(EncodingError, match="a subclass would come back as Added") as caught:
        json_codec(list[Added], "x").encode([AddedTwice("a")])
    assert caught.value.path == "$[0]"
    with pytest.raises(EncodingError, match="a subclass would come back as Customer") as caught:
        json_codec(list[Customer], "x").encode([VipCustomer(customerName="A", born=_BORN)])
    assert caught.value.path == "$[0]"


def test_what_post_init_would_change_on_reading_is_refused() -> None:
    value = Trimmed("a")
    value.text = " a "
    with pytest.raises(EncodingError, match=r"\$\[0\].text: str ' a ' would come back as str 'a'"):
        json_codec(list[Trimmed], "x").encode([value])


def test_model_with_an_unreadable_value_is_refused() -> None:
    model = Customer.model_construct(name="A", born="no date", tags=set[str](), credit=Decimal(1))
    with pytest.raises(EncodingError):
        json_codec(Customer, "x").encode(model)


def test_offsetless_tzinfo_is_refused() -> None:
    from zoneinfo import ZoneInfo

    with pytest.raises(EncodingError, match="gives no offset would come back naive"):
        default_codec_for(dt.time).encode(dt.time(1, tzinfo=ZoneInfo("Europe/Berlin")))


def test_offset_of_less_than_a_second_is_refused() -> None:
    zone = dt.timezone(dt.timedelta(microseconds=1))
    with pytest.raises(EncodingError, match="an offset of less than a second"):
        default_codec_for(dt.time).encode(dt.time(1, tzinfo=zone))


def test_long_values_are_shortened_in_messages() -> None:
    with pytest.raises(EncodingError) as caught:
        json_codec(list[int], "x").encode(["x" * 10_000])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    assert len(str(caught.value)) < 130


UNREADABLE: list[tuple[Any, str, str, str]] = [
    (Order, '{"id":"o","lines":[{"sku":"a","quantity":"no"}]}', "$.lines[0].quantity", "expected int, got str 'no'"),
    (Order, "{}", "$.id", "the required field 'id' of Order is missing"),
    (Order, "", "$", "empty, where JSON is expected"),
    (Order, "[]", "$", "expected Order, got list []"),
    (Order, '{"id":', "$", "not JSON: Input data was truncated"),
    (Event, '{"item":"a"}', "$.type", "the key 'type', which says which case it is ('Added', 'AddedTwice', 'Removed'), is missing"),
    (Event, '{"type":"Gone"}', "$.type", "expected one of 'Added', 'AddedTwice', 'Removed', got str 'Gone'"),
    (Event, '{"type":["Added"]}', "$.type", "expected one of 'Added', 'AddedTwice', 'Removed', got list ['Added']"),
    (Event, '{"type":"Added"}', "$.item", "the required field 'item' of Added is missing"),
    (Cart, '{"owner":"no","history":[]}', "$.owner", "expected UUID, got str 'no'"),
    (Colour, '"blue"', "$", "expected Colour ('red', 'green'), got str 'blue'"),
    (list[Colour | None], "[[]]", "$[0]", "expected Colour | None, got list []"),
    (dict[int, str], '{"x":"y"}', "$['x']", "expected a key of type int, got str 'x'"),
    (dict[str, dt.date], '{"d":"2020-13-01"}', "$['d']", "expected date, got str '2020-13-01'"),
    (Derived, '{"net":-1}', "$", "Derived refuses it: ValueError: net is below zero"),
    (list[Derived], '[{"net":1},{"net":2000}]', "$[1]", "Derived refuses it: KeyError: 'net is too high'"),
    (list[Customer], '[{"customerName":1,"born":"2000-01-02"}]', "$[0].customerName", "Customer: Input should be a valid string, got int 1"),
    (Strict | Point, '{"type":"Strict","at":1,"x":1}', "$.x", "Strict takes no field 'x'"),
    (list[int], "[1" + "0" * 5_000 + "]", "$", ""),
    (list[Any], "[" * 100_000, "$", "nested too deeply, or within itself"),
]


@pytest.mark.parametrize(("annotation", "text", "path", "reason"), UNREADABLE)
def test_bytes_that_cannot_be_read_are_refused_with_their_path(annotation: Any, text: str, path: str, reason: str) -> None:
    with pytest.raises(EncodingError) as caught:
        json_codec(annotation, "x").decode(text.encode())
    assert caught.value.path == path
    if reason:
        assert caught.value.reason == reason


def test_added_field_takes_its_default_and_removed_field_is_ignored() -> None:  # F71
    codec = json_codec(Order, "order")
    assert codec.decode(b'{"id":"o","gone":{"deep":[1]}}') == Order("o")
    assert json_codec(Event, "e").decode(b'{"gone":1,"item":"a","type":"Added"}') == Added("a")
    with pytest.raises(EncodingError, match=r"\$.sku: the required field 'sku' of Line is missing"):
        json_codec(Line, "line").decode(b'{"quantity":1}')
    assert json_codec(Derived, "d").decode(b'{"net":2}') == Derived(2)


def test_pickle_is_never_read() -> None:  # F74
    import pickle

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("a pickle was run",))

    annotations: list[Any] = [Order, Event, dict[str, Any], str, int, Customer]
    for annotation in annotations:
        with pytest.raises(EncodingError):
            default_codec_for(annotation).decode(pickle.dumps(Bomb()))


@dataclass
class Typed:
    type: str


@dataclass
class HasInitVar:
    a: InitVar[int]


@dataclass
class Unreadable:
    a: "list[int"  # type: ignore[valid-type]  # noqa: F722  # pyright: ignore


class Objects(enum.Enum):
    A = object()


@dataclass
class ManyProblems:
    a: complex
    b: "str | dt.date"
    c: "dict[tuple[int, int], str]"
    d: "set[list[int]]"
    e: "Added | Typed"


NOT_HELD: list[tuple[Any, str]] = [
    (str | dt.date, "JSON cannot tell str and date apart"),
    (set[int] | list[int], "JSON cannot tell set[int] and list[int] apart"),
    (dict[str, int] | Added, "JSON cannot tell dict[str, int] and Added apart"),
    (int | Level, "JSON cannot tell int and Level apart"),
    (Added | Typed, "Typed has a field named like the tag, 'type'; give json_codec(…, tag=…) another name than 'type'"),
    (Box[int] | Box[str], "Box is in it twice, with different parameters"),
    (HasInitVar, "InitVar a of HasInitVar is not kept"),
    (Unreadable, "the annotations of Unreadable cannot be read"),
    (Objects, "A of Objects has a value without a JSON form"),
    (dict[bool, int], "bool cannot be the key of a JSON object"),
    (set[Line], "Line is not hashable, so it cannot be in a set"),
    (list[object | complex], "complex is not a type that a codec can hold"),
]


@pytest.mark.parametrize(("annotation", "problem"), NOT_HELD, ids=lambda item: str(item)[:40])
def test_type_that_cannot_be_held_is_refused(annotation: Any, problem: str) -> None:
    with pytest.raises(CodecError) as caught:
        json_codec(annotation, "x").resolve()
    assert problem in str(caught.value)
    assert len(caught.value.problems) == 1


def test_all_problems_of_a_type_are_reported_together() -> None:
    with pytest.raises(CodecError) as caught:
        default_codec_for(ManyProblems)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [f"ManyProblems.{name}" for name in "abcde"]


def test_tag_names_and_aliases() -> None:
    kinds = json_codec(Added | Typed, "x", tag="kind")
    assert kinds.encode(Typed("t")) == b'{"kind":"Typed","type":"t"}'
    codec = json_codec(Added | Removed, "x", names={Added: "item-added"}, aliases={"ItemAdded": Added})
    assert codec.encode(Added("a")) == b'{"type":"item-added","item":"a","quantity":1}'
    for name in ("item-added", "ItemAdded"):
        assert codec.decode(f'{{"type":"{name}","item":"a"}}'.encode()) == Added("a")
    for names, aliases in (({Added: "Removed"}, {}), ({Order: "x"}, {}), ({}, {"Removed": Added})):
        with pytest.raises(CodecError):
            json_codec(Added | Removed, "x", names=names, aliases=aliases).resolve()


def test_two_classes_of_one_name_need_names() -> None:
    def other() -> Any:
        @dataclass(frozen=True)
        class Removed:
            why: str

        return Removed

    twin: Any = other()
    union: Any = Removed | twin
    with pytest.raises(CodecError, match="two of its classes are named 'Removed'"):
        json_codec(union, "x").resolve()
    codec: Any = json_codec(union, "x", names={twin: "Other"})
    assert codec.encode(twin("w")) == b'{"type":"Other","why":"w"}'


@dataclass
class Early:
    late: "Late"  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


def test_type_that_is_not_defined_yet_is_found_when_it_is() -> None:
    with pytest.raises(UnresolvedType, match="Early refers to 'Late'") as caught:
        default_codec_for(Early)
    assert caught.value.name == "Late"
    codec = json_codec(Early, "early")
    with pytest.raises(UnresolvedType):
        codec.resolve()
    globals()["Late"] = Line
    try:
        codec.resolve()
        assert codec.decode(b'{"late":{"sku":"a","quantity":1}}') == Early(Line("a", 1))
    finally:
        del globals()["Late"]
