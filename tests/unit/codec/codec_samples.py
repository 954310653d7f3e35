"""Types that the tests of the codecs share."""

import datetime as dt
import enum
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from typing import Generic, NotRequired, TypedDict, TypeVar
from uuid import UUID

import msgspec
from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.StrEnum):
    OK = "ok"
    FAIL = "fail"


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"
    HALF = 0.5


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass
class Line:
    sku: str
    quantity: int
    price: Decimal = Decimal("0.00")


@dataclass
class Order:
    id: str
    lines: list[Line] = field(default_factory=list[Line])
    note: str | None = None


@dataclass(frozen=True)
class Added:
    item: str
    quantity: int = 1


@dataclass(frozen=True)
class AddedTwice(Added):
    """A superset of `Added`."""

    again: int = 0


@dataclass(frozen=True, slots=True)
class Removed:
    item: str


Event = Added | AddedTwice | Removed


@dataclass
class Cart:
    owner: UUID
    history: list[Event]
    last: Event | None = None
    by_name: dict[str, Event] = field(default_factory=dict[str, Event])
    seen: frozenset[Event] = frozenset()


@dataclass
class Node:
    value: int
    children: "list[Node]" = field(default_factory=list["Node"])


@dataclass
class Leaf:
    value: int


@dataclass
class Branch:
    left: "Leaf | Branch"
    right: "Leaf | Branch"


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class Labelled(Box[list[T]], Generic[T]):
    label: T


class Options(TypedDict):
    name: str
    size: NotRequired[int]


class Point(msgspec.Struct, frozen=True, rename="camel"):
    x_axis: int
    y_axis: int = 0


class Opened(msgspec.Struct, tag=True):
    at: int


class Closed(msgspec.Struct, tag=True):
    at: int


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    at: int


class Customer(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(alias="customerName")
    born: dt.date
    tags: set[str] = set()
    credit: Decimal = Decimal("1.10")


class VipCustomer(Customer):
    level: int = 1


@dataclass
class Derived:
    net: int
    gross: int = field(init=False)

    def __post_init__(self) -> None:
        if self.net < 0:
            raise ValueError("net is below zero")
        if self.net > 1_000:
            raise KeyError("net is too high")
        self.gross = self.net * 2


@dataclass
class Trimmed:
    text: str

    def __post_init__(self) -> None:
        self.text = self.text.strip()


@dataclass(kw_only=True, slots=True, frozen=True)
class Odd:
    a: int
    _b: int = 2
    counter: int = field(default=7, init=False)


@dataclass
class Keyword:
    a: int
    _: KW_ONLY
    b: int = 0
