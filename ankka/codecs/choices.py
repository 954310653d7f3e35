"""Types with a fixed set of values: enums, which travel by value, and literals."""

import enum
import math
from typing import Any

from ankka.codecs.describing import found, type_name
from ankka.codecs.errors import Mismatch, unexpected
from ankka.codecs.plan import Kind, Plan, type_of
from ankka.codecs.schemas import Definitions

_KINDS: dict[type, Kind] = {type(None): Kind.NULL, bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.FLOAT, str: Kind.STRING}


def kind_of(value: Any) -> Kind:
    """The kind of JSON value that a plain scalar is written as; no kind (`Kind(0)`) if it is not one."""
    kind = _KINDS.get(type_of(value), Kind(0))
    return Kind(0) if type(value) is float and not math.isfinite(value) else kind


def has_json_form(value: Any) -> bool:
    """Whether this value of an enum or a literal can be written: a plain scalar, and no lone surrogate in it."""
    return bool(kind_of(value)) and (type(value) is not str or value.isascii() or value == value.encode(errors="replace").decode())


def _kinds(values: "list[Any]") -> Kind:
    kinds = Kind(0)
    for value in values:
        kinds |= kind_of(value)
    return kinds


class Choice(Plan):
    """An enum by value; flags by their number, also combined ones."""

    def __init__(self, of: type[enum.Enum]) -> None:
        values = [member.value for member in of]
        super().__init__(of.__name__, _kinds(values), (of,))
        self.of = of
        self.flag: bool = issubclass(of, enum.Flag)
        self.members: dict[tuple[Any, Any], enum.Enum] = {(type(member.value), member.value): member for member in of}
        self.own_native: bool = not self.flag and self.kinds in (Kind.STRING, Kind.INTEGER)
        self.own_lowered: bool = not self.own_native

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            raise unexpected(self.name, value)

    def lower(self, value: Any) -> Any:
        self.check(value)
        return value.value

    def lift(self, data: Any) -> Any:
        if kind_of(data):
            member = self.members.get((type_of(data), data))
            if member is not None:
                return member
            if kind_of(data) & self.kinds:
                return self._called(data)
        raise self._unknown(data)

    def _called(self, data: Any) -> enum.Enum:
        try:
            return self.of(data)  # combined flags, and enums with a `_missing_` of their own
        except Exception:  # not only `ValueError`: a `_missing_` is the user's
            raise self._unknown(data) from None

    def _unknown(self, data: Any) -> Mismatch:
        known = ", ".join(repr(value) for _, value in self.members)
        return Mismatch(f"expected {self.name} ({known}), got {found(data)}")

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        if self.flag:
            return {"type": "integer", "title": self.name}
        return {"enum": [value for _, value in self.members], "title": self.name}


class LiteralChoice(Plan):
    """A literal type: one of these values, of exactly its type. Members of enums travel by value."""

    def __init__(self, annotation: Any, values: tuple[Any, ...]) -> None:
        plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
        super().__init__(type_name(annotation), _kinds(plain), tuple({type(value): None for value in values}))
        self.allowed: dict[tuple[Any, Any], Any] = {(type(value), value): data for value, data in zip(values, plain, strict=True)}
        self.values: dict[tuple[Any, Any], Any] = {(type(data), data): value for value, data in zip(values, plain, strict=True)}
        self.own_lowered: bool = any(isinstance(value, enum.Enum) for value in values)
        self.own_native: bool = not self.own_lowered and not self.kinds & Kind.BOOLEAN

    def check(self, value: Any) -> None:
        if type(value) not in self.types or (type(value), value) not in self.allowed:
            raise unexpected(self.name, value)

    def lower(self, value: Any) -> Any:
        self.check(value)
        return self.allowed[type(value), value]

    def lift(self, data: Any) -> Any:
        if kind_of(data) and (type(data), data) in self.values:
            return self.values[type(data), data]
        raise unexpected(self.name, data)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return {"enum": [value for _, value in self.values]}
