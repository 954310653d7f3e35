"""Falsy values wherever they may be: they come back as they were, and absent, `None` and empty stay different."""

import datetime as dt
import enum
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from typing import Any, Literal, NotRequired, Optional, TypedDict

import msgspec
import pydantic
import pytest

from ankka.codec import default_codec_for, json_codec


class Nought(enum.IntEnum):
    NONE = 0


class Empty(enum.StrEnum):
    EMPTY = ""


@dataclass
class Bare:
    pass


FALSY: list[tuple[Any, Any]] = [
    (int, 0),
    (str, ""),
    (bytes, b""),
    (bool, False),
    (float, 0.0),
    (float, -0.0),
    (Decimal, Decimal("0")),
    (Decimal, Decimal("0.00")),
    (dt.timedelta, dt.timedelta(0)),
    (dt.time, dt.time(0)),
    (Nought, Nought.NONE),
    (Empty, Empty.EMPTY),
    (Literal[0, ""], 0),
    (list[int], []),
    (tuple[int, ...], ()),
    (tuple[()], ()),
    (set[int], set[int]()),
    (frozenset[str], frozenset[str]()),
    (dict[str, int], {}),
    (Bare, Bare()),
]

FALSY_NAMES = [f"{annotation} {value!r}" for annotation, value in FALSY]


def round_trip(annotation: Any, value: Any) -> Any:
    codec: Any = json_codec(annotation, "x")
    back = codec.decode(codec.encode(value))
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)
    payload = default_codec_for(annotation).encode_payload(value)
    again = default_codec_for(annotation).decode_payload(payload)
    assert (again, repr(again)) == (value, repr(value))
    return back


@pytest.mark.parametrize(("annotation", "value"), FALSY, ids=FALSY_NAMES)
def test_a_falsy_value_comes_back_by_itself_and_in_everything(annotation: Any, value: Any) -> None:
    optional: Any = Optional[annotation]  # noqa: UP045 - from values
    round_trip(annotation, value)
    round_trip(optional, value)
    round_trip(list[annotation], [value, value])
    round_trip(list[optional], [None, value, None])
    round_trip(tuple[annotation, optional], (value, None))
    round_trip(dict[str, optional], {"": value, "none": None})
    round_trip(list[list[annotation]], [[], [value]])
    if getattr(annotation, "__hash__", None) and isinstance(value, int | str | bytes | float | Decimal | dt.time | dt.timedelta):
        round_trip(set[annotation], {value})
        if not isinstance(value, bool) and annotation != Literal[0, ""]:
            round_trip(dict[annotation, int], {value: 0})


@pytest.mark.parametrize(("annotation", "value"), FALSY, ids=FALSY_NAMES)
def test_a_falsy_value_comes_back_in_every_kind_of_record(annotation: Any, value: Any) -> None:
    optional: Any = Optional[annotation]  # noqa: UP045 - from values
    made: Any = make_dataclass("Made", [("a", annotation), ("b", optional, None), ("c", optional, field(default_factory=lambda: value))])
    struct: Any = msgspec.defstruct("Struct", [("a", annotation), ("b", optional, None)])
    keys: Any = {"a": annotation, "b": NotRequired[optional]}
    typed: Any = TypedDict("Typed", keys)  # type: ignore[misc]  # pyright: ignore
    for cls in (made, struct):
        for b in (None, value):
            back = round_trip(cls, cls(value, b))
            assert (back.b is None) == (b is None)
    assert round_trip(made, made(value, None, None)).c is None
    assert "b" not in round_trip(typed, {"a": value})
    assert round_trip(typed, {"a": value, "b": None})["b"] is None
    assert round_trip(typed, {"a": value, "b": value})["b"] is not None
    model: Any = pydantic.create_model("Model", a=annotation, b=(optional, None), c=(optional, value))
    for b in (None, value):
        back = round_trip(model, model(a=value, b=b, c=None))
        assert (back.b is None, back.c) == (b is None, None)


@pytest.mark.parametrize(("annotation", "value"), FALSY, ids=FALSY_NAMES)
def test_absent_none_and_empty_are_three_things(annotation: Any, value: Any) -> None:
    # what is absent takes its default, which is neither nothing nor empty here
    other = {"default": True}
    optional: Any = Optional[dict[str, bool] | annotation] if value == [] else Optional[annotation]  # noqa: UP045 - from values
    made: Any = make_dataclass("Made", [("a", optional, field(default_factory=lambda: other))])
    codec: Any = json_codec(made, "x")
    assert codec.decode(b"{}").a == other
    assert codec.decode(b'{"a":null}').a is None
    none, empty = codec.encode(made(None)), codec.encode(made(value))
    assert none == b'{"a":null}' != empty
    assert repr(codec.decode(empty).a) == repr(value)
