"""Pydantic models: what comes back, what is refused and how, whatever code of the user's they run."""

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

import pydantic
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, RootModel, field_serializer, field_validator

from ankka.codec import CodecError, EncodingError, json_codec
from tests.unit.codec.codec_samples import Leaf

T = TypeVar("T")


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)

    number: int

    def __hash__(self) -> int:
        return hash(self.number)


class Plain(BaseModel):
    items: set[Frozen] = set()
    moments: dict[dt.date, tuple[Frozen, ...]] = {}


class Box(BaseModel, Generic[T]):
    content: T


class Base(BaseModel):
    name: str = Field(alias="theName")


class Derived(Base):
    price: Decimal = Decimal("1.10")


class Tree(BaseModel):
    value: int
    children: "list[Tree]" = []


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 0


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: frozenset[str] = frozenset()


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Home(BaseModel):
    pets: list[Pet] = []
    by_name: dict[str, Pet | None] = {}


class Numbers(RootModel[list[int]]):
    pass


class Secretive(BaseModel):
    open: int = 0
    _hidden: int = PrivateAttr(default=3)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    number: int = 0


class Renamed(BaseModel):
    """Reads its old names, as a field does that was renamed."""

    title: str = Field(default="none", validation_alias=AliasChoices("heading", "label"))
    first: int = Field(default=0, validation_alias=AliasPath("numbers", 0))

    @pydantic.computed_field
    def length(self) -> int:
        return len(self.title)


class Shelf(BaseModel):
    renamed: list[Renamed] = []


CASES: list[tuple[Any, Any, str]] = [
    (Plain, Plain(items={Frozen(number=2), Frozen(number=1)}), '{"items":[{"number":1},{"number":2}],"moments":{}}'),
    (Plain, Plain(moments={dt.date(2020, 1, 1): (Frozen(number=1),)}), '{"items":[],"moments":{"2020-01-01":[{"number":1}]}}'),
    (frozenset[Frozen], frozenset({Frozen(number=2), Frozen(number=1)}), '[{"number":1},{"number":2}]'),
    (Box[Decimal], Box[Decimal](content=Decimal("1.10")), '{"content":"1.10"}'),
    (Derived, Derived(theName="a"), '{"theName":"a","price":"1.10"}'),
    (Tree, Tree(value=1, children=[Tree(value=2)]), '{"value":1,"children":[{"value":2,"children":[]}]}'),
    (Home, Home(pets=[Dog(), Cat()], by_name={"a": None, "b": Dog()}), ""),
    (dict[str, list[Pet]], {"a": [Dog(), Cat(lives=9)]}, '{"a":[{"type":"Dog","kind":"dog","tricks":[]},{"type":"Cat","kind":"cat","lives":9}]}'),
    (Numbers, Numbers([2, 1]), "[2,1]"),
    (Numbers | str, Numbers([]), "[]"),
    (Secretive, Secretive(open=1), '{"open":1}'),
    (Open, Open(number=1, more=[{"deep": None}]), '{"number":1,"more":[{"deep":null}]}'),  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    (Shelf, Shelf(renamed=[Renamed(heading="t")]), '{"renamed":[{"title":"t","first":0}]}'),  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
]


@pytest.mark.parametrize(("annotation", "value", "text"), CASES, ids=lambda item: str(item)[:30])
def test_a_model_comes_back(annotation: Any, value: Any, text: str) -> None:
    codec: Any = json_codec(annotation, "x")
    data = codec.encode(value)
    assert data.decode() == text or not text
    back = codec.decode(data)
    assert back == value
    assert type(back) is type(value)


def test_names_of_the_past_are_read() -> None:  # F71
    codec = json_codec(Renamed, "x")
    assert codec.decode(b'{"heading":"a"}').title == codec.decode(b'{"label":"a"}').title == codec.decode(b'{"title":"a"}').title == "a"
    assert codec.decode(b'{"numbers":[7]}').first == 7
    assert codec.decode(b'{"gone":1}').title == "none"


def test_an_alias_for_writing_only_is_refused_when_the_class_is_defined() -> None:
    class Out(BaseModel):
        number: int = Field(serialization_alias="out")

    class Outer(BaseModel):
        inner: list[Out]

    for cls in (Out, Outer):
        with pytest.raises(CodecError, match="out', but does not read it: give the field one alias for both"):
            json_codec(cls, "x").resolve()


class Raising(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def check(cls, number: int) -> int:
        if number > 1:
            raise KeyError("too high")
        return number

    @field_serializer("number")
    def write(self, number: int) -> int:
        if number < 0:
            raise KeyError("too low")
        return number


class Loose(BaseModel):
    data: bytes = b""
    anything: Any = None
    number: float | None = None


def _changed(number: int) -> Secretive:
    value = Secretive()
    value._hidden = number  # pyright: ignore[reportPrivateUsage]
    return value


NOT_WRITTEN: list[tuple[Any, str, str]] = [
    (_changed(5), "$.__pydantic_private__['_hidden']", "int 5 would come back as int 3"),
    (Open(more=dt.date(2020, 1, 1)), "$.__pydantic_extra__['more']", "date datetime.date(2020, 1, 1) would come back as str '2020-01-01'"),  # type: ignore[call-arg]  # pyright: ignore
    (Open(more="\ud800"), "$", "surrogates not allowed"),  # type: ignore[call-arg]  # pyright: ignore
    (Raising.model_construct(number=-1), "$", "Raising cannot be written: Error calling function `write`: KeyError: 'too low'"),
    (Raising.model_construct(number=2), "$", "Raising refuses it: KeyError: 'too high'"),
    (Loose(data=b"\xff"), "$", "Loose cannot be written: "),
    (Loose(anything={1, 2}), "$.anything", "would come back as list [1, 2]"),
    (Loose(number=float("nan")), "$.number", "float nan would come back as None"),
]


@pytest.mark.parametrize(("value", "path", "reason"), NOT_WRITTEN, ids=[reason for _, _, reason in NOT_WRITTEN])
def test_what_a_model_would_lose_is_refused(value: Any, path: str, reason: str) -> None:
    of: Any = value.__class__
    cases: list[tuple[Any, Any, str]] = [(of, value, ""), (list[of], [value], "[0]"), (of | Leaf, value, "")]
    for annotation, one, prefix in cases:
        codec: Any = json_codec(annotation, "x")
        with pytest.raises(EncodingError) as caught:
            codec.encode(one)
        assert caught.value.path == path.replace("$", f"${prefix}")
        assert reason in caught.value.reason


class Celsius:
    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Celsius) and other.degrees == self.degrees

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore


class Weather(BaseModel):
    """Holds a class of the user's, by a validator and a serializer of the user's."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    high: Annotated[Celsius, BeforeValidator(lambda data: data if isinstance(data, Celsius) else Celsius(float(data)))]

    @field_serializer("high")
    def write(self, high: Celsius) -> float:
        return high.degrees


def test_a_class_of_the_users_with_its_own_validator_and_serializer_comes_back() -> None:
    codec = json_codec(Weather, "x")
    assert codec.decode(codec.encode(Weather(high=Celsius(1.5)))) == Weather(high=Celsius(1.5))


def test_a_validator_that_raises_something_else_is_an_encoding_error() -> None:
    with pytest.raises(EncodingError, match="Raising refuses it: KeyError: 'too high'") as caught:
        json_codec(dict[str, Raising], "x").decode(b'{"a":{"number":2}}')
    assert caught.value.path == "$['a']"
