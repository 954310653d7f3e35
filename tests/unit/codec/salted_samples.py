"""Values whose own order differs from process to process: `python -m tests.unit.codec.salted_samples` writes them all."""

import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, Literal, NotRequired, TypeVar
from uuid import UUID

import msgspec
import pydantic
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, field_serializer
from typing_extensions import TypedDict

from ankka.codec import Codec, default_codec_for
from ankka.codecs.canonical import canonical

T = TypeVar("T")
WORDS = [f"word{number}" for number in range(30)]
START = dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=9)))


class Suit(enum.Enum):
    HEARTS = "hearts"
    SPADES = "spades"
    CLUBS = "clubs"
    DIAMONDS = "diamonds"
    STARS = "stars"


@dataclass(frozen=True)
class Group:
    name: str
    members: frozenset[str] = frozenset(WORDS)


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    left: frozenset[T]
    right: frozenset[T] | None = None


@dataclass
class Holder:
    by_name: dict[str, set[str]]
    groups: set[Group | Pair[str]] = field(default_factory=set[Group | Pair[str]])
    rest: tuple[set[int | str], ...] = ()


class Named(TypedDict):
    words: set[str]
    more: NotRequired[frozenset[frozenset[str]]]


class Frozen(msgspec.Struct, frozen=True):
    words: frozenset[str]


class Hand(msgspec.Struct):
    suits: set[Suit]
    frozen: set[Frozen] = msgspec.field(default_factory=set[Frozen])


class Tag(BaseModel):
    model_config = ConfigDict(frozen=True)

    words: frozenset[str] = frozenset(WORDS)

    def __hash__(self) -> int:
        return hash(self.words)


class Roots(RootModel[set[str]]):
    pass


@pydantic.dataclasses.dataclass
class Checked:
    words: set[str]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, set[str]] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]


class Document(BaseModel):
    words: set[str] = Field(default=set(WORDS), alias="theWords")
    old: set[str] = Field(default=set(WORDS), validation_alias=AliasChoices("older", "oldest"))
    tags: set[Tag] = set()
    by_number: dict[int, frozenset[str]] = {}
    pairs: set[tuple[int, str]] = set()
    roots: Roots = Roots(set(WORDS))
    group: Group = Group("g")
    checked: Checked = Checked(set(WORDS))
    listed: set[str] = set(WORDS)
    open: Open = Open()
    one_of: set[str] | None = None
    named: Named = {"words": set(WORDS)}

    @field_serializer("listed")
    def listed_in_any_order(self, words: set[str]) -> list[str]:
        return list(words)


def document() -> Document:
    words = set(WORDS)
    return Document(
        theWords=words,
        tags={Tag(), Tag(words=frozenset(WORDS[:9])), Tag(words=frozenset(WORDS[:5]))},
        by_number={2: frozenset(words), 1: frozenset(WORDS[:7])},
        pairs={(number, word) for number, word in enumerate(WORDS)},
        one_of=words,
        open=Open.model_validate({"more": words, "extra": words}),
    )


SAMPLES: list[tuple[Any, Any]] = [
    (set[str], set(WORDS)),
    (frozenset[bytes], frozenset(word.encode() for word in WORDS)),
    (set[Suit], set(Suit)),
    (set[Literal["word1", "word2", "word3", 1]], {"word1", "word2", "word3", 1}),
    (set[UUID], {UUID(int=number * 2**90) for number in range(30)}),
    (set[Decimal], {Decimal(number).scaleb(-2) for number in range(30)}),
    (set[float], {number / 7 for number in range(30)}),
    (set[dt.datetime], {START + dt.timedelta(hours=number) for number in range(30)}),
    (set[dt.datetime], {START.replace(hour=number, tzinfo=dt.timezone(dt.timedelta(seconds=number))) for number in range(20)}),
    (set[str | int | None], {*WORDS, *range(30), None}),
    (set[tuple[str, frozenset[str]]], {(word, frozenset(WORDS)) for word in WORDS}),
    (frozenset[frozenset[str]], frozenset(frozenset(WORDS[:number]) for number in range(30))),
    (list[dict[str, set[str]]], [{word: set(WORDS) for word in reversed(WORDS)}]),
    (dict[str, set[Group]], {"a": {Group(word) for word in WORDS}}),
    (Holder, Holder({"a": set(WORDS)}, {Group("g"), Pair(frozenset(WORDS))}, ({*WORDS, 3},))),
    (Holder | Group | None, Group("g", frozenset(WORDS))),
    (Pair[str], Pair(frozenset(WORDS), frozenset(WORDS))),
    (Named, {"more": frozenset({frozenset(WORDS)}), "words": set(WORDS)}),
    (Hand, Hand(set(Suit), {Frozen(frozenset(WORDS)), Frozen(frozenset(WORDS[:4]))})),
    (Document, document()),
    (Document | Group, document()),
    (dict[str, list[Document]], {"a": [document()]}),
    (set[Tag], {Tag(words=frozenset(WORDS[:number])) for number in range(30)}),
    (Roots, Roots(set(WORDS))),
    (Checked, Checked(set(WORDS))),
]


def main() -> None:
    """Print the bytes, the form that a key is made of and the fingerprint of each sample; first, what order a set itself has."""
    print(list(set(WORDS)))
    for annotation, value in SAMPLES:
        codec: Codec[Any] = default_codec_for(annotation)
        payload = codec.encode_payload(value)
        print(payload.data, canonical(payload), codec.fingerprint())


if __name__ == "__main__":
    main()
