"""What is encoded comes back equal, with equal types, in the same bytes in every process."""

# ruff: noqa: DTZ001 - naive moments are part of what is tested
import datetime as dt
import json
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from ankka.codec import EncodingError, default_codec_for, json_codec
from tests.unit.codec.codec_samples import (
    Access,
    Added,
    AddedTwice,
    Box,
    Branch,
    Cart,
    Closed,
    Colour,
    Customer,
    Derived,
    Event,
    Keyword,
    Labelled,
    Leaf,
    Level,
    Line,
    Mixed,
    Mode,
    Node,
    Odd,
    Opened,
    Options,
    Order,
    Point,
    Removed,
    Strict,
)

ID = UUID("12345678-1234-5678-1234-567812345678")
TOKYO = dt.timezone(dt.timedelta(hours=9))

CASES: list[tuple[Any, Any, str]] = [
    (Line, Line("a", 2, Decimal("1.10")), '{"sku":"a","quantity":2,"price":"1.10"}'),
    (Order, Order("o", [Line("a", 1)]), '{"id":"o","lines":[{"sku":"a","quantity":1,"price":"0.00"}],"note":null}'),
    (Event, Added("a"), '{"type":"Added","item":"a","quantity":1}'),
    (Event, Removed("a"), '{"type":"Removed","item":"a"}'),
    (Cart, Cart(ID, [Added("a")], None, {"r": Removed("b")}), ""),
    (Cart, Cart(ID, [], AddedTwice("a", 1, 2), {}, frozenset({Added("z"), Added("a"), Removed("a")})), ""),
    (Node, Node(1, [Node(2), Node(3, [Node(4)])]), ""),
    (Branch, Branch(Leaf(1), Branch(Leaf(2), Leaf(3))), ""),
    (Leaf | Branch, Branch(Leaf(1), Leaf(2)), '{"type":"Branch","left":{"type":"Leaf","value":1},"right":{"type":"Leaf","value":2}}'),
    (Box[int], Box(1), '{"content":1}'),
    (Box[Added | Removed], Box[Event](Removed("x")), '{"content":{"type":"Removed","item":"x"}}'),
    (Labelled[str], Labelled(["a"], "b"), '{"content":["a"],"label":"b"}'),
    (Options, {"name": "n"}, '{"name":"n"}'),
    (Options, {"name": "n", "size": 0}, '{"name":"n","size":0}'),
    (Point, Point(1, 2), '{"xAxis":1,"yAxis":2}'),
    (Opened | Closed, Closed(1), '{"type":"Closed","at":1}'),
    (Opened | Added, Opened(1), '{"type":"Opened","at":1}'),
    (Point | Leaf, Point(1, 2), '{"type":"Point","xAxis":1,"yAxis":2}'),
    (Strict | Leaf, Strict(1), '{"type":"Strict","at":1}'),
    (Customer, Customer(customerName="A", born=dt.date(2000, 1, 2), tags={"b", "a"}), ""),
    (Customer | Leaf | None, Customer(customerName="A", born=dt.date(2000, 1, 2)), ""),
    (list[Customer], [Customer(customerName="A", born=dt.date(2000, 1, 2))], ""),
    (Derived, Derived(3), '{"net":3,"gross":6}'),
    (Odd, Odd(a=1), '{"a":1,"_b":2,"counter":7}'),
    (Keyword, Keyword(1, b=2), '{"a":1,"b":2}'),
    (Colour, Colour.RED, '"red"'),
    (Level, Level.HIGH, "2"),
    (Mode, Mode.OK, '"ok"'),
    (Mixed, Mixed.HALF, "0.5"),
    (Access, Access.READ | Access.WRITE, "3"),
    (Literal["a", 1, True, None], True, "true"),
    (Literal[Colour.RED], Colour.RED, '"red"'),
    (Literal["a"] | str, "b", '"b"'),
    (dict[Level, int], {Level.HIGH: 1}, '{"2":1}'),
    (list[Mixed] | None, None, "null"),
    (dict[int, str], {10**25: "x", -1: "y"}, '{"10000000000000000000000000":"x","-1":"y"}'),
    (dict[UUID, int], {ID: 1}, f'{{"{ID}":1}}'),
    (dict[dt.date, Event], {dt.date(2020, 1, 1): Removed("a")}, '{"2020-01-01":{"type":"Removed","item":"a"}}'),
    (dict[int, Event], {5: Removed("a")}, '{"5":{"type":"Removed","item":"a"}}'),
    (dict[float, Event], {1.5: Removed("a")}, '{"1.5":{"type":"Removed","item":"a"}}'),
    (set[str], {"b", "a"}, '["a","b"]'),
    (set[int | None], {2, None, 1}, "[1,2,null]"),
    (frozenset[frozenset[int]], frozenset({frozenset({2, 1})}), "[[1,2]]"),
    (tuple[int, str], (1, "a"), '[1,"a"]'),
    (tuple[()], (), "[]"),
    (tuple[Event, ...], (Added("a"), Removed("b")), ""),
    (int | float | None, 1.0, "1.0"),
    (int | float | None, 1, "1"),
    (list[int], [2**64, -(2**63) - 1, 10**40, 0], ""),
    (dict[str, Any], {"a": [1, 1.0, None, True, {"b": "c"}]}, '{"a":[1,1.0,null,true,{"b":"c"}]}'),
    (dt.timedelta, dt.timedelta(days=-1, microseconds=1), ""),
    (dt.timedelta, dt.timedelta.max, ""),
    (dt.time, dt.time(1, 2, 3, 4, TOKYO), '"01:02:03.000004+09:00"'),
    (list[bytes], [b"", b"\xff"], '["","/w=="]'),
]


@pytest.mark.parametrize(("annotation", "value", "text"), CASES, ids=[f"{number}-{text[:40]}" for number, (_, _, text) in enumerate(CASES)])
def test_value_comes_back_equal_with_equal_types(annotation: Any, value: Any, text: str) -> None:  # F69
    codec = json_codec(annotation, "x")
    data = codec.encode(value)
    if text:
        assert data.decode() == text
    json.loads(data)
    back = codec.decode(data)
    assert back == value
    assert type(back) is type(value)
    assert codec.encode(back) == data
    assert codec.decode_payload(codec.encode_payload(value)) == value


def test_union_member_that_is_a_superset_of_another_comes_back() -> None:  # F68
    codec = json_codec(Added | AddedTwice, "e")
    for value in (Added("a"), AddedTwice("a")):
        assert type(codec.decode(codec.encode(value))) is type(value)


@pytest.mark.parametrize(
    "moment",
    [
        dt.datetime(2024, 1, 1, 9, tzinfo=TOKYO),
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2024, 1, 1),
        dt.datetime(2024, 1, 1, 0, 0, 0, 0),
        dt.datetime(2024, 1, 1, 0, 0, 0, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1969, 7, 20, 20, 17, 40, tzinfo=dt.UTC),
        dt.datetime(1880, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
        dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=-2, microseconds=5))),
    ],
)
def test_datetime_keeps_instant_and_offset_and_naive_stays_naive(moment: dt.datetime) -> None:  # F26 F27
    whole = default_codec_for(dt.datetime)
    inner = default_codec_for(dict[str, list[dt.datetime | None]])
    keys = default_codec_for(dict[dt.datetime, int])
    for came in (
        whole.decode(whole.encode(moment)),
        inner.decode(inner.encode({"a": [moment]}))["a"][0],
        *keys.decode(keys.encode({moment: 1})),
    ):
        assert came is not None
        assert came.replace(tzinfo=None) == moment.replace(tzinfo=None, fold=0)
        assert came.utcoffset() == moment.utcoffset()


@pytest.mark.parametrize("digits", ["1.10", "0", "-0", "1E+5", "0.00", "123456789012345678901234567890.123456789"])
def test_decimal_keeps_its_digits(digits: str) -> None:  # F69
    codec = default_codec_for(Decimal)
    assert str(codec.decode(codec.encode(Decimal(digits)))) == digits


def test_absent_none_and_empty_stay_different() -> None:  # F18
    optional = default_codec_for(str | None)
    assert optional.encode(None) == b"null"
    assert optional.encode("") == b'""'
    assert optional.decode(b"null") is None
    assert optional.decode(b'""') == ""
    assert default_codec_for(str).encode("") == b""
    assert default_codec_for(list[int]).decode(b"[]") == []
    sets = default_codec_for(set[str])
    assert sets.decode(sets.encode(set())) == set()


def test_a_generic_class_defined_in_a_function_may_refer_to_itself() -> None:
    from dataclasses import dataclass

    T = TypeVar("T")  # the name that `typing` itself has, too

    @dataclass
    class Chain(Generic[T]):
        item: "T"
        next: "Chain[T] | None" = None

    codec = json_codec(Chain[Decimal], "chain")
    value = Chain(Decimal("1.10"), Chain(Decimal(0)))
    assert codec.decode(codec.encode(value)) == value
    with pytest.raises(EncodingError, match=r"\$.next.item: expected Decimal, got int 3"):
        codec.encode(Chain(Decimal(1), Chain(3)))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_class_defined_in_a_function_may_refer_to_itself() -> None:
    from dataclasses import dataclass

    @dataclass
    class Local:
        value: int
        next: "Local | None" = None

    codec = json_codec(Local, "local")
    value = Local(1, Local(2))
    assert codec.decode(codec.encode(value)) == value
