"""What a compiled type can do: the interface of all plans."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Flag, auto
from typing import Any, Final

from ankka.codecs.schemas import Definitions

LIST: Final[Any] = list
"""`list`, without the type checkers concluding `list[Unknown]` where a value's type is compared with it."""
DICT: Final[Any] = dict
"""`dict`, likewise."""
type_of: Final[Callable[[Any], Any]] = type
"""`type`, likewise."""


class Kind(Flag):
    """The kinds of JSON values a type may be written as."""

    NULL = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    FLOAT = auto()
    STRING = auto()
    ARRAY = auto()
    OBJECT = auto()

    NUMBER = INTEGER | FLOAT
    ANY = NULL | BOOLEAN | NUMBER | STRING | ARRAY | OBJECT


class Plan(ABC):
    """How values of one type travel.

    The `own_…` flags say what holds for this node alone; `seal` derives from them what holds for all below it:

    - `native`: msgspec reads the type by itself.
    - `lowered`: msgspec cannot write a value as it is, or not the same in every process; `lower` it first.
    - `proven`: `check` alone proves that a value comes back equal, so that nothing needs to be decoded again.
    - `fills`: msgspec leaves absent fields to what their class says; `fill` what it has read.
    """

    own_native: bool = True
    own_lowered: bool = False
    own_proven: bool = True
    own_fills: bool = False
    native: bool = False
    lowered: bool = True
    proven: bool = False
    fills: bool = False
    hashable: bool = True
    bounded: bool = True
    """Whether its own values, apart from its parts, nest to a depth that the type says."""
    also_reads: Kind = Kind(0)
    """Kinds of JSON values that it is read from, although it is never written as one."""
    own_tag_field: str | None = None
    """The key under which values of the type name their class by themselves."""

    def __init__(self, name: str, kinds: Kind, types: tuple[type, ...], parts: "tuple[Plan, ...]" = ()) -> None:
        self.name = name
        self.kinds = kinds
        self.types = types
        """The exact Python types of its values."""
        self.parts = parts

    @abstractmethod
    def check(self, value: Any) -> None:
        """Raise `Mismatch` unless the value is of this type, exactly, and will come back equal."""

    @abstractmethod
    def lower(self, value: Any) -> Any:
        """Check the value and answer what msgspec writes for it, the same in every process."""

    @abstractmethod
    def lift(self, data: Any) -> Any:
        """The value that parsed JSON stands for; raises `Mismatch`."""

    def fill(self, value: Any) -> None:
        """Set on what msgspec has read, all the way down, the fields that it left absent; only where `fills`."""
        raise AssertionError(f"msgspec leaves nothing of {self.name} absent")

    @abstractmethod
    def schema(self, definitions: Definitions) -> dict[str, Any]:
        """Its JSON Schema; named types go to `definitions`."""

    def is_hashable(self) -> bool:
        """Whether values can be in a set."""
        return self.hashable

    def seal(self) -> None:
        """Derive the flags, once the whole tree is there (types may be recursive)."""
        reached = self.reached()
        self.native = all(plan.own_native for plan in reached)
        self.lowered = any(plan.own_lowered for plan in reached)
        self.proven = all(plan.own_proven for plan in reached)
        self.fills = any(plan.own_fills for plan in reached)

    def reached(self) -> "list[Plan]":
        """This plan and all it is made of, each once."""
        seen: dict[int, Plan] = {}
        waiting: list[Plan] = [self]
        while waiting:
            plan = waiting.pop()
            if id(plan) not in seen:
                seen[id(plan)] = plan
                waiting.extend(plan.parts)
        return list(seen.values())


class Refused(Plan):
    """Stands for a type that was refused, so that the rest can be compiled and all problems reported together."""

    def __init__(self, name: str) -> None:
        super().__init__(name, Kind(0), ())

    def check(self, value: Any) -> None:
        raise AssertionError(f"{self.name} was refused")

    def lower(self, value: Any) -> Any:
        raise AssertionError(f"{self.name} was refused")

    def lift(self, data: Any) -> Any:
        raise AssertionError(f"{self.name} was refused")

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return {}
