"""For any nesting of the types that are promised: what is encoded comes back equal, with equal types."""

import dataclasses
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, Optional, Union
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ankka.codec import EncodingError, json_codec
from tests.unit.codec.codec_samples import Added, AddedTwice, Colour, Leaf, Level, Mode, Point, Removed

Typed = tuple[Any, st.SearchStrategy[Any]]

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
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
]
HASHABLE: list[Typed] = [
    *KEYS,
    (bool, st.booleans()),
    (dt.datetime, st.datetimes(timezones=_zones, allow_imaginary=False)),
    (dt.time, st.times(timezones=_offsets)),
    (Literal["a", 1, None, True], st.sampled_from(["a", 1, None, True])),
    (Removed | Added | AddedTwice, st.one_of(st.builds(Removed, _text), st.builds(Added, _text, st.integers()), st.builds(AddedTwice, _text))),
    (Point, st.builds(Point, st.integers(-(2**63), 2**63))),
]
SCALARS: list[Typed] = [*HASHABLE, (Leaf | None, st.none() | st.builds(Leaf, st.integers())), (None, st.none())]


@st.composite
def _dataclasses(draw: st.DrawFn, parts: st.SearchStrategy[Typed]) -> Typed:
    drawn = draw(st.lists(parts, max_size=3))
    cls = dataclasses.make_dataclass(f"Made{len(drawn)}", [(f"f{n}", of) for n, (of, _) in enumerate(drawn)], frozen=draw(st.booleans()))
    return cls, st.builds(cls, *[values for _, values in drawn])


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
