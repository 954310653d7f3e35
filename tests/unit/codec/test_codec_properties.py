"""For any nesting of the types that are promised: what is encoded comes back equal, with equal types."""

import dataclasses
import datetime as dt
import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pydantic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ankka.codec import EncodingError, json_codec
from tests.unit.codec.codec_samples import (
    Access,
    Added,
    AddedTwice,
    Box,
    Branch,
    Colour,
    Labelled,
    Leaf,
    Level,
    Mixed,
    Mode,
    Node,
    Odd,
    Point,
    Removed,
)

Typed = tuple[Any, st.SearchStrategy[Any]]

_numbers = itertools.count()
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
# an offset of less than a second is refused; `fromisoformat` loses it
_offset = st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)).filter(lambda offset: not offset or abs(offset) >= dt.timedelta(seconds=1))
_offsets = st.one_of(st.none(), _offset.map(dt.timezone))
_zones = st.one_of(_offsets, st.timezones())

KEYS: list[Typed] = [
    (str, _text),
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (UUID, st.uuids()),
    (dt.date, st.dates()),
    (dt.timedelta, st.timedeltas()),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (bytes, st.binary(max_size=5)),
    (Colour, st.sampled_from(Colour)),
    (Level, st.sampled_from(Level)),
    (Mode, st.sampled_from(Mode)),
    (Access, st.sampled_from([Access(0), Access.READ, Access.READ | Access.WRITE])),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (dt.time, st.times(timezones=_offsets)),
    (dt.datetime, st.datetimes(timezones=_offsets)),
]
HASHABLE: list[Typed] = [
    *KEYS,
    (bool, st.booleans()),
    (dt.datetime, st.datetimes(timezones=_zones, allow_imaginary=False)),
    (Mixed, st.sampled_from(Mixed)),
    (str | int | None, st.none() | st.integers() | _text),
    (int | float | bool, st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)),
    (Decimal | int, st.integers() | st.decimals(allow_nan=False, allow_infinity=False)),
    (bytes | Level, st.binary(max_size=3) | st.sampled_from(Level)),
    (Literal["a", 1, None, True], st.sampled_from(["a", 1, None, True])),
    (Removed | Added | AddedTwice, st.one_of(st.builds(Removed, _text), st.builds(Added, _text, st.integers()), st.builds(AddedTwice, _text))),
    (Point, st.builds(Point, st.integers(-(2**63), 2**63))),
]
SCALARS: list[Typed] = [
    *HASHABLE,
    (None, st.none()),
    (Leaf | None, st.none() | st.builds(Leaf, st.integers())),
    (
        list[int] | str | dict[str, Leaf],
        st.lists(st.integers(), max_size=2) | _text | st.dictionaries(_text, st.builds(Leaf, st.integers()), max_size=2),
    ),
    (Node, st.recursive(st.builds(Node, st.integers()), lambda inner: st.builds(Node, st.integers(), st.lists(inner, max_size=3)), max_leaves=4)),
    (Branch | Leaf, st.recursive(st.builds(Leaf, st.integers()), lambda inner: st.builds(Branch, inner, inner), max_leaves=4)),
    (Odd, st.builds(Odd, a=st.integers(), _b=st.integers())),
]


@st.composite
def _dataclasses(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    drawn: list[Typed] = draw(st.lists(parts, max_size=3))
    cls = dataclasses.make_dataclass(
        f"Made{len(drawn)}",
        [(f"f{n}", of) for n, (of, _) in enumerate(drawn)],
        frozen=draw(st.booleans()),
        slots=draw(st.booleans()),
        kw_only=draw(st.booleans()),
    )
    if len(drawn) > 0 and draw(st.booleans()):  # one that has a default, here its own or that of a base class
        of, values = draw(parts)
        default = dataclasses.field(default_factory=_always(draw(values)), kw_only=True)
        cls = dataclasses.make_dataclass(f"More{len(drawn)}", [("more", of, default)], bases=(cls,), frozen=cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]  # pyright: ignore
        more = {"more": values} if draw(st.booleans()) else {}
        return cls, st.builds(cls, **{f"f{n}": values for n, (_, values) in enumerate(drawn)}, **more)
    return cls, st.builds(cls, **{f"f{n}": values for n, (_, values) in enumerate(drawn)})


def _always(value: Any) -> Callable[[], Any]:
    return lambda: value


@st.composite
def _structs(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    drawn = draw(st.lists(parts, max_size=3))
    options: dict[str, Any] = {"rename": draw(st.sampled_from([None, "camel"])), "tag": draw(st.sampled_from([None, True])), "kw_only": True}
    cls: Any = msgspec.defstruct(f"Struct{next(_numbers)}", [(f"field_{n}", of) for n, (of, _) in enumerate(drawn)], **options)
    return cls, st.builds(cls, **{f"field_{n}": values for n, (_, values) in enumerate(drawn)})


@st.composite
def _typed_dicts(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    required = {f"r{n}": part for n, part in enumerate(draw(st.lists(parts, max_size=2)))}
    optional = {f"o{n}": part for n, part in enumerate(draw(st.lists(parts, max_size=2)))}
    keys: dict[str, Any] = {**{key: of for key, (of, _) in required.items()}, **{key: NotRequired[of] for key, (of, _) in optional.items()}}
    cls: Any = TypedDict("Made", keys)  # type: ignore[misc]  # pyright: ignore
    values = {key: values for key, (_, values) in required.items()}
    return cls, st.fixed_dictionaries(values, optional={key: values for key, (_, values) in optional.items()})


@st.composite
def _generics(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    of, values = draw(parts)
    if draw(st.booleans()):
        return _of(Box, of), st.builds(_box, values)
    return _of(Labelled, of), st.builds(_labelled, st.lists(values, max_size=2), values)


def _box(content: Any) -> Any:
    return Box(content)


def _labelled(content: list[Any], label: Any) -> Any:
    return Labelled(content, label)


@st.composite
def _unions(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    """A union of two classes of our own, or of nothing and one type."""
    one_type, one = draw(_dataclasses(parts))
    other_type, other = draw(_dataclasses(parts))
    other_type.__name__ = "Other"
    return Union[one_type, other_type], st.one_of(one, other)  # noqa: UP007 - from values


def _nested(parts: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    hashable = st.sampled_from(HASHABLE)
    keyed = st.tuples(st.sampled_from(KEYS), parts)
    return st.one_of(
        parts.map(lambda part: (_of(list, part[0]), st.lists(part[1], max_size=3))),
        parts.map(lambda part: (_of(tuple, part[0], ...), st.lists(part[1], max_size=3).map(_tuple))),
        parts.map(lambda part: (Optional[part[0]], st.none() | part[1])),  # noqa: UP045 - from values
        st.tuples(parts, parts).map(lambda two: (_of(tuple, two[0][0], two[1][0]), st.tuples(two[0][1], two[1][1]))),
        keyed.map(lambda two: (_of(dict, two[0][0], two[1][0]), st.dictionaries(two[0][1], two[1][1], max_size=3))),
        hashable.map(lambda part: (_of(set, part[0]), st.sets(part[1], max_size=3))),
        hashable.map(lambda part: (_of(frozenset, part[0]), st.frozensets(part[1], max_size=3))),
        _dataclasses(parts),
        _structs(parts),
        _typed_dicts(parts),
        _generics(parts),
        _unions(parts),
    )


def _of(generic: Any, *arguments: Any) -> Any:
    return generic[arguments]


def _tuple(items: list[Any]) -> tuple[Any, ...]:
    return tuple(items)


TYPES = st.recursive(st.sampled_from(SCALARS), _nested, max_leaves=6)


_type: Callable[[Any], Any] = type


def same(one: Any, other: Any) -> bool:
    """Equal with equal types all the way down; a test's own definition, written apart from the codecs'."""
    of = _type(one)
    if of is not _type(other):
        return False
    if of in (list, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if of is dict:
        return same(list(one.items()), list(other.items()))
    if of in (set, frozenset):
        return sorted(map(_shown, one)) == sorted(map(_shown, other))
    if issubclass(of, pydantic.BaseModel | msgspec.Struct):
        return all(same(getattr(one, name), getattr(other, name)) for name in of.__annotations__)
    if dataclasses.is_dataclass(of):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(of))
    return _shown(one) == _shown(other)


def _shown(value: Any) -> str:
    """A value as text; a moment by its clock and offset, for one of a repeated hour is `==` to none of another zone."""
    if isinstance(value, dt.datetime | dt.time):
        return f"{value.replace(tzinfo=None, fold=0)} {value.utcoffset()}"
    return repr(value)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
@given(st.data())
def test_any_nesting_comes_back_equal_with_equal_types(data: st.DataObject) -> None:  # F69
    annotation, values = data.draw(TYPES)
    value = data.draw(values)
    codec: Any = json_codec(annotation, "x")
    encoded = codec.encode(value)
    json.loads(encoded)
    back = codec.decode(encoded)
    assert same(back, value), f"{annotation}: {value!r} came back as {back!r}"
    assert codec.encode(back) == encoded


# what it finds in a default is a schema's to Pydantic's eyes if it is named `$ref` or `$defs`
_words = _text.filter(lambda text: not text.startswith("$"))
_minutes = st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
MODELLED: list[Typed] = [
    (str, _text),
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    (UUID, st.uuids()),
    (dt.date, st.dates()),
    (dt.datetime, st.datetimes(timezones=st.none() | _minutes)),
    (Level, st.sampled_from(Level)),
    (Mode, st.sampled_from(Mode)),
    (Literal["a", 1, None], st.sampled_from(["a", 1, None])),
]


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: frozenset[str] = frozenset()


_pets = st.builds(Cat, lives=st.integers()) | st.builds(Dog, tricks=st.frozensets(_text, max_size=3))
PETS: Typed = (Annotated[Cat | Dog, pydantic.Field(discriminator="kind")], _pets)


@st.composite
def _models(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    """A Pydantic model: fields with and without an alias, required and not."""
    drawn = {f"f{n}": part for n, part in enumerate(draw(st.lists(parts, max_size=3)))}
    fields: dict[str, Any] = {}
    for name, (of, values) in drawn.items():
        choices = pydantic.AliasChoices(f"{name}New", f"{name}Old")
        options: dict[str, Any] = draw(st.sampled_from([{}, {"alias": f"{name}Alias"}, {"validation_alias": choices}]))
        default: Any = draw(st.just(...) | values)
        fields[name] = (of, pydantic.Field(default, **options))
    cls: Any = pydantic.create_model(
        f"Model{next(_numbers)}", __config__=pydantic.ConfigDict(validate_by_name=True, validate_by_alias=True), **fields
    )
    return cls, st.fixed_dictionaries({name: values for name, (_, values) in drawn.items()}).map(lambda values: cls(**values))


def _in_models(parts: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    hashable = st.sampled_from(MODELLED)
    return st.one_of(
        parts.map(lambda part: (_of(list, part[0]), st.lists(part[1], max_size=3))),
        parts.map(lambda part: (Optional[part[0]], st.none() | part[1])),  # noqa: UP045 - from values
        parts.map(lambda part: (_of(dict, str, part[0]), st.dictionaries(_words, part[1], max_size=3))),
        st.tuples(parts, parts).map(lambda two: (_of(tuple, two[0][0], two[1][0]), st.tuples(two[0][1], two[1][1]))),
        hashable.map(lambda part: (_of(set, part[0]), st.sets(part[1], max_size=3))),
        _models(parts),
    )


MODELS = _models(st.recursive(st.sampled_from([*MODELLED, PETS]), _in_models, max_leaves=4))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
@given(MODELS, st.sampled_from(["", "list", "dataclass", "union"]), st.data())
def test_models_come_back_equal_with_equal_types_wherever_they_are(model: Typed, within: str, data: st.DataObject) -> None:  # F69
    annotation: Any = model[0]
    value: Any = data.draw(model[1])
    if within == "list":
        annotation, value = dict[str, list[annotation]], {"a": [value]}
    elif within == "dataclass":
        holder = dataclasses.make_dataclass("Holder", [("held", annotation), ("more", Optional[annotation], None)])  # noqa: UP045 - from values
        annotation, value = holder, holder(value)
    elif within == "union":
        annotation = Union[annotation, Leaf, None]  # noqa: UP007 - from values
    codec: Any = json_codec(annotation, "x")
    encoded = codec.encode(value)
    back = codec.decode(encoded)
    assert same(back, value), f"{annotation}: {value!r} came back as {back!r}"
    assert codec.encode(back) == encoded


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SCALARS), st.sampled_from(SCALARS), st.data())
def test_value_of_another_type_is_refused_or_comes_back_equal(declared: Typed, given_one: Typed, data: st.DataObject) -> None:
    value = data.draw(given_one[1])
    codec: Any = json_codec(_of(list, declared[0]), "x")
    try:
        encoded = codec.encode([value])
    except EncodingError as error:
        path = error.path
    else:
        path = "$[0]"
        assert same(codec.decode(encoded), [value])
    assert path.startswith("$[0]")


class Strange(str):
    """Equal to a text, and none."""

    __slots__ = ()


class Later(dt.datetime):
    """As libraries make them that stop the clock."""


ODD: list[Any] = [
    *(object(), ..., int, len, 1j, bytearray(b"a"), memoryview(b"a"), range(3), iter([]), Strange("a"), Later(2020, 1, 1, tzinfo=dt.UTC)),
    *(float("nan"), float("inf"), -(10**5_000), Decimal("sNaN"), "\ud800", {"\ud800": 1}, {1: 2}, {None: 1}, {(1, 2): 3}, [[[]]], ({},), {1.5}),
    *(
        frozenset({None}),
        dt.time(1, tzinfo=ZoneInfo("Europe/Berlin")),
        dt.UTC,
        Decimal,
        Leaf,
        Leaf.__new__(Leaf),
        Mixed.HALF,
        NotImplemented,
    ),
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
@given(TYPES | MODELS, TYPES, st.data())
def test_any_value_where_any_type_is_declared_comes_back_or_is_an_encoding_error(declared: Typed, other: Typed, data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(ODD) | other[1] | st.lists(st.sampled_from(ODD), max_size=2) | st.dictionaries(_text, st.sampled_from(ODD)))
    codec: Any = json_codec(declared[0], "x")
    try:
        encoded = codec.encode(value)
    except EncodingError as error:
        said = error.path
    else:
        said = "$"
        assert same(codec.decode(encoded), value), f"{declared[0]}: {value!r}"
    assert said.startswith("$")


@settings(max_examples=300, deadline=None)
@given(
    TYPES,
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | _text, lambda inner: st.lists(inner) | st.dictionaries(_text, inner)),
)
def test_any_json_is_read_or_refused_with_a_path(typed: Typed, document: Any) -> None:
    codec: Any = json_codec(typed[0], "x")
    path = "$"
    try:
        codec.decode(json.dumps(document).encode())
    except EncodingError as error:
        path = error.path
    assert path.startswith("$")
