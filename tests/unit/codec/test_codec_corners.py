"""Corners where a value was once lost, taken for another, or refused with something else than an `EncodingError`."""

# ruff: noqa: DTZ001 - naive moments are part of what is tested
import datetime as dt
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar
from zoneinfo import ZoneInfo

import msgspec
import pytest
import typing_extensions

from ankka.codec import CodecError, EncodingError, json_codec
from tests.unit.codec.codec_samples import Leaf, Opened

T = TypeVar("T")
BERLIN = ZoneInfo("Europe/Berlin")
REPEATED = dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN)
"""In the hour that the clocks there repeat; to Python it is equal to no moment of another zone."""
ODD = dt.timezone(dt.timedelta(seconds=61))


class Typed(typing_extensions.TypedDict, Generic[T]):
    """As Pydantic wants them before Python 3.12."""

    a: T
    b: NotRequired[set[T]]
    c: typing_extensions.ReadOnly[int]


class Placed(msgspec.Struct, array_like=True, tag="placed"):
    number: int
    price: Decimal = Decimal("1.10")


class Huge(enum.IntEnum):
    A = 2**70
    B = -5


@dataclass(frozen=True)
class When:
    moment: dt.datetime
    notes: list[str] = field(default_factory=list[str], compare=False)


@dataclass
class Chain:
    moment: dt.datetime
    next: "Chain | None" = None


class Knot(msgspec.Struct):
    """Read by the way that takes most frames a level."""

    next: "Annotated[Knot | Opened | None, msgspec.Meta(title='a knot')]" = None


@dataclass
class Watched:
    moments: set[dt.datetime]
    by_moment: dict[dt.datetime, int]
    whens: frozenset[tuple[When, int]]

    def __post_init__(self) -> None:
        """Is there, so that values are decoded again before they leave."""


Pair = typing_extensions.TypeAliasType("Pair", tuple[T, T], type_params=(T,))

CASES: list[tuple[Any, Any, str]] = [
    (Typed[Decimal], {"c": 1, "a": Decimal("1.10"), "b": {Decimal(0)}}, '{"c":1,"a":"1.10","b":["0"]}'),
    (Placed, Placed(1), '["placed",1,"1.10"]'),
    (list[Huge], [Huge.A, Huge.B], f"[{2**70},-5]"),
    (dict[Huge, int], {Huge.A: 1}, f'{{"{2**70}":1}}'),
    (Literal["a", 2**70], 2**70, f"{2**70}"),
    (Pair[int], (1, 2), "[1,2]"),
    (list[Pair[str]], [("a", "b")], '[["a","b"]]'),
]


@pytest.mark.parametrize(("annotation", "value", "text"), CASES, ids=lambda item: str(item)[:40])
def test_it_comes_back(annotation: Any, value: Any, text: str) -> None:
    codec: Any = json_codec(annotation, "x")
    assert codec.encode(value).decode() == text
    back = codec.decode(text.encode())
    assert back == value
    assert type(back) is type(value)
    assert codec.encode(back).decode() == text


def test_moments_of_a_repeated_hour_come_back_in_sets_and_as_keys() -> None:  # F27
    codec = json_codec(Watched, "x")
    value = Watched({REPEATED}, {REPEATED: 1}, frozenset({(When(REPEATED, ["a"]), 1)}))
    back = codec.decode(codec.encode(value))
    ((when, _),) = back.whens
    assert when.notes == ["a"]
    for came in (*back.moments, *back.by_moment, when.moment):
        assert (came.replace(tzinfo=None), came.utcoffset()) == (dt.datetime(2024, 10, 27, 2, 30), dt.timedelta(hours=1))


def test_two_moments_that_would_become_one_are_refused() -> None:
    both = {REPEATED, dt.datetime(2024, 10, 27, 1, 30, tzinfo=dt.UTC)}
    assert len(both) == 2
    values: list[tuple[Any, Any]] = [
        (set[dt.datetime], both),
        (dict[dt.datetime, int], dict.fromkeys(both, 0)),
        (frozenset[tuple[When]], frozenset((When(moment),) for moment in both)),
    ]
    for annotation, value in values:
        with pytest.raises(EncodingError, match="would come back as "):
            json_codec(annotation, "x").encode(value)


def test_a_tag_that_is_not_its_own_is_refused_and_an_alias_is_taken() -> None:
    alone = json_codec(Opened, "x")
    assert alone.decode(b'{"at":1}') == alone.decode(b'{"type":"Opened","at":1}') == Opened(1)
    with pytest.raises(EncodingError, match=r"\$.type: expected 'Opened', the tag of Opened, got str 'Closed'"):
        alone.decode(b'{"type":"Closed","at":1}')
    with pytest.raises(EncodingError, match=r"expected 'placed', the tag of Placed, got str 'other'"):
        json_codec(Placed, "x").decode(b'["other",1]')
    union = json_codec(Opened | When, "x", aliases={"WasOpened": Opened})
    assert union.decode(b'{"type":"WasOpened","at":1}') == Opened(1)


def test_an_array_says_where_it_is_wrong() -> None:
    with pytest.raises(EncodingError, match=r"\$\[0\].number: expected int, got str 'x'"):
        json_codec(list[Placed], "x").decode(b'[["placed","x"]]')
    with pytest.raises(EncodingError, match=r"\$\[0\].number: the required field 'number' of Placed is missing"):
        json_codec(list[Placed], "x").decode(b'[["placed"]]')


def chain(depth: int) -> Chain:
    """One within the other, `depth` of them; the innermost is what msgspec does not write."""
    value = Chain(dt.datetime(2024, 1, 1, tzinfo=ODD))
    for _ in range(depth - 1):
        value = Chain(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), value)
    return value


def knot(depth: int) -> Knot:
    value = Knot()
    for _ in range(depth - 1):
        value = Knot(value)
    return value


def lists(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(("annotation", "nested"), [(Chain, chain), (Knot, knot), (Any, lists), (list[Any], lists)])
def test_a_value_nests_as_deeply_as_it_can_be_read_and_no_deeper(annotation: Any, nested: Callable[[int], Any]) -> None:
    codec: Any = json_codec(annotation, "x")
    data = codec.encode(nested(128))
    assert codec.encode(codec.decode(data)) == data
    for depth in (129, 300, 480, 500, 1_000, 5_000):
        with pytest.raises(EncodingError, match=r"nests more than 128 levels deep|nested too deeply"):
            codec.encode(nested(depth))


def test_what_is_long_but_not_deep_is_written() -> None:
    codec = json_codec(list[Any], "x")
    value: list[Any] = [{"a": ["[" * 200, '\\"' + "{" * 200]}] * 300
    assert codec.decode(codec.encode(value)) == value


def test_a_decimal_that_came_as_a_number_keeps_its_digits_or_is_refused() -> None:
    digits = "1.1000000000000000000000000000001"
    assert json_codec(list[Decimal], "x").decode(b"[%s]" % digits.encode()) == [Decimal(digits)]
    for annotation in (frozenset[Decimal], list[Decimal | int]):
        codec: Any = json_codec(annotation, "x")
        assert set(codec.decode(b"[0.1,12345678901.25,1e3]")) == {Decimal("0.1"), Decimal("12345678901.25"), Decimal(1000)}
    with pytest.raises(EncodingError, match=r"\$\[1\]: a JSON number near 0.12345678901234568 has more digits than are certain"):
        json_codec(tuple[Opened | Leaf, Decimal], "x").decode(b'[{"type":"Leaf","value":1},0.12345678901234567890]')


def test_numbers_are_read_as_what_a_union_has_for_them_whichever_way_it_is_read() -> None:
    cases: list[tuple[Any, bytes, Any]] = [
        (Decimal | None, b"3", Decimal(3)),
        (Decimal | None, b"1.5", Decimal("1.5")),
        (Decimal | int, b"3", 3),
        (Decimal | int, b"1.5", Decimal("1.5")),
        (Decimal | float, b"3", 3.0),
        (float | Decimal, b"3", 3.0),
        (Decimal | float, b"1.5", 1.5),
        (float | None, b"3", 3.0),
        (int | float, b"3", 3),
        (int | float, b"3.0", 3.0),
    ]
    for annotation, data, value in cases:
        fast: Any = _of(tuple, annotation)
        slow: Any = _of(tuple, annotation, Opened | Leaf)  # whose classes need a tag: not read by msgspec itself
        for of, document in ((fast, b"[%s]"), (slow, b'[%s,{"type":"Leaf","value":1}]')):
            codec: Any = json_codec(of, "x")
            came = codec.decode(document % data)[0]
            assert (came, type(came)) == (value, type(value)), (annotation, data, document)


class Hostile:
    def __hash__(self) -> int:
        raise ValueError("no hash")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no equality")

    def __repr__(self) -> str:
        raise ValueError("no repr")


class Missing(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> "Missing":
        raise KeyError(value)


@dataclass
class NoDefault:
    number: int = field(default_factory=lambda: 1 // 0)


@dataclass
class Guarded:
    number: int

    def __post_init__(self) -> None:
        """Is there, so that values are decoded again and compared."""

    def __getattribute__(self, name: str) -> Any:
        if name == "number" and object.__getattribute__(self, "__dict__").get(name, 0) < 0:
            raise KeyError("below zero")
        return object.__getattribute__(self, name)


def test_code_of_the_users_that_raises_is_an_encoding_error_with_its_path() -> None:
    reads: list[tuple[Any, bytes, str]] = [
        (list[Missing], b'["b"]', r"\$\[0\]: expected Missing \('a'\), got str 'b'"),
        (list[NoDefault], b"[{}]", r"\$\[0\].number: the default of NoDefault.number raises ZeroDivisionError"),
    ]
    for annotation, data, said in reads:
        with pytest.raises(EncodingError, match=said):
            json_codec(annotation, "x").decode(data)
    types: list[Any] = [Literal["a"], Missing, int, str, dict[str, int], set[int], NoDefault, Any, str | None]
    for declared in types:
        codec: Any = json_codec(_of(dict, str, declared), "x")
        with pytest.raises(EncodingError, match=r"\$\['a'\]: expected "):
            codec.encode({"a": Hostile()})
    with pytest.raises(EncodingError, match=r"\$.number: "):
        json_codec(Guarded | None, "x").encode(_below_zero())


def _of(generic: Any, *arguments: Any) -> Any:
    return generic[arguments]


def _below_zero() -> Guarded:
    value = Guarded(1)
    value.number = -1
    return value


class Surrogate(enum.Enum):
    A = "\ud800"


@dataclass
class Listed(list[int]):
    owner: str = ""


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Surrogate, "A of Surrogate has a value without a JSON form"),
        (Literal["\ud800"], "has no JSON form"),
        (Listed, "Listed is a dataclass and a list at once, of which only the fields would be kept; make what it holds a field"),
        (typing_extensions.Never, "Never is not a type that a codec can hold; use a dataclass"),
    ],
)
def test_it_is_refused_when_the_class_is_defined(annotation: Any, problem: str) -> None:
    with pytest.raises(CodecError) as caught:
        json_codec(annotation, "x").resolve()
    assert problem in str(caught.value)
