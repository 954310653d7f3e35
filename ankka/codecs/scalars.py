"""Types whose value is one JSON scalar: numbers, text, bytes, instants, and JSON values of no declared type."""

import datetime as dt
import decimal
import math
import uuid
from collections.abc import Collection
from typing import Any, Final, cast

import msgspec

from ankka.codecs.describing import found
from ankka.codecs.errors import Mismatch, OddOffset, unexpected
from ankka.codecs.plan import DICT, LIST, Kind, Plan, type_of
from ankka.codecs.schemas import Definitions

_SCHEMAS: Final[dict[type, tuple[Kind, dict[str, Any]]]] = {
    bool: (Kind.BOOLEAN, {"type": "boolean"}),
    int: (Kind.INTEGER, {"type": "integer"}),
    float: (Kind.FLOAT, {"type": "number"}),
    str: (Kind.STRING, {"type": "string"}),
    bytes: (Kind.STRING, {"type": "string", "contentEncoding": "base64"}),
    decimal.Decimal: (Kind.STRING, {"type": "string", "format": "decimal"}),
    dt.datetime: (Kind.STRING, {"type": "string", "format": "date-time"}),
    dt.date: (Kind.STRING, {"type": "string", "format": "date"}),
    dt.time: (Kind.STRING, {"type": "string", "format": "time"}),
    dt.timedelta: (Kind.STRING, {"type": "string", "format": "duration"}),
    uuid.UUID: (Kind.STRING, {"type": "string", "format": "uuid"}),
    type(None): (Kind.NULL, {"type": "null"}),
}


class Scalar(Plan):
    """A type that msgspec reads and writes as it is; every value of exactly this type comes back equal."""

    def __init__(self, of: type) -> None:
        kinds, self._schema = _SCHEMAS[of]
        super().__init__("None" if of is type(None) else of.__name__, kinds, (of,))
        self.of: Any = of

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            raise unexpected(self.name, value)

    def lower(self, value: Any) -> Any:
        self.check(value)
        return value

    def lift(self, data: Any) -> Any:
        try:
            return msgspec.convert(data, self.of)
        except msgspec.ValidationError:
            raise unexpected(self.name, data) from None

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return dict(self._schema)


class Text(Scalar):
    """`str`: all but lone surrogates, which UTF-8 cannot carry."""

    def check(self, value: Any) -> None:
        if type(value) is not str:
            raise unexpected("str", value)
        if not value.isascii():
            check_unicode(value)


def check_unicode(value: str) -> None:
    """Raise `Mismatch` for text with a lone surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Mismatch(f"a lone surrogate at character {error.start} of {value[:50]!a}, which UTF-8 cannot carry") from None


class Integer(Scalar):
    """`int`, of any size that Python itself turns into text."""

    def check(self, value: Any) -> None:
        if type(value) is not int:
            raise unexpected("int", value)
        if not -(2**63) <= value < 2**64:
            try:
                str(value)
            except ValueError:
                raise Mismatch(f"expected int, got one of {value.bit_length():,} bits, too long to be written") from None


class Floating(Scalar):
    """`float`: finite ones; JSON has no NaN and no infinity."""

    also_reads = Kind.INTEGER

    def check(self, value: Any) -> None:
        if type(value) is not float:
            if type(value) is int:
                raise Mismatch(f"expected float, got {found(value)}, which would come back as a float: make it float(…)")
            raise unexpected("float", value)
        if not math.isfinite(value):
            raise Mismatch(f"expected a finite float, got {value}, which JSON does not have")


_EXACT: Final = 15
"""Significant digits that every number keeps on its way through a float."""


class DecimalNumber(Scalar):
    """`Decimal`: finite ones, all digits kept."""

    also_reads = Kind.NUMBER

    def check(self, value: Any) -> None:
        if type(value) is not decimal.Decimal:
            raise unexpected("Decimal", value)
        if not value.is_finite():
            raise Mismatch(f"expected a finite Decimal, got {value}")

    def lift(self, data: Any) -> Any:
        value = cast(decimal.Decimal, super().lift(data))
        if not value.is_finite():
            raise Mismatch(f"expected a finite Decimal, got {value}")
        if type(data) is float and len(value.as_tuple().digits) > _EXACT:
            raise Mismatch(f"a JSON number near {value} has more digits than are certain; write a Decimal as text")
        return value


_SECOND = dt.timedelta(seconds=1)


class Instant(Scalar):
    """`datetime` and `time`: naive ones stay naive, aware ones keep instant and offset (as a fixed offset)."""

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            raise unexpected(self.name, value)
        if value.tzinfo is not None and value.tzinfo is not dt.UTC:
            offset: dt.timedelta | None = value.utcoffset()
            if offset is None:
                raise Mismatch(f"a {self.name} whose tzinfo {value.tzinfo!r} gives no offset would come back naive")
            if offset and abs(offset) < _SECOND:
                raise Mismatch(f"a {self.name} with an offset of less than a second, {offset!r}, would come back as UTC")
            if offset.seconds % 60 or offset.microseconds:
                raise OddOffset

    def lower(self, value: Any) -> Any:
        try:
            self.check(value)
        except OddOffset:
            return value.isoformat()
        return value

    def lift(self, data: Any) -> Any:
        try:
            return msgspec.convert(data, self.of)
        except msgspec.ValidationError:
            return self._with_odd_offset(data)

    def _with_odd_offset(self, data: Any) -> Any:
        """An offset with seconds: only the standard library reads it."""
        try:
            return self.of.fromisoformat(data)
        except (ValueError, TypeError):
            raise unexpected(self.name, data) from None


def check_distinct(moments: Collection[Any]) -> None:
    """Raise `Mismatch` where two moments of a set, or two keys, would come back as one.

    In the hour that the clocks repeat, a moment that knows its zone is equal to none of another zone; with offsets they may be.
    """
    if all(moment.tzinfo is None or type(moment.tzinfo) is dt.timezone for moment in moments):
        return
    fixed = [moment if moment.tzinfo is None else moment.replace(tzinfo=dt.timezone(moment.utcoffset()), fold=0) for moment in moments]
    if len(set(fixed)) < len(moments):
        twice = next(moment for number, moment in enumerate(fixed) if moment in fixed[:number])
        raise Mismatch(f"two moments would come back as one, {found(twice)}")


_PLANS: Final[dict[type, type[Scalar]]] = {
    str: Text,
    int: Integer,
    float: Floating,
    decimal.Decimal: DecimalNumber,
    dt.datetime: Instant,
    dt.time: Instant,
}


def scalar_plan(of: type) -> Scalar | None:
    """The plan of a scalar type, `None` for any other."""
    return _PLANS.get(of, Scalar)(of) if of in _SCHEMAS else None


class JsonValue(Plan):
    """`Any` and `object`: whatever is JSON by itself (None, bool, int, float, str, list, dict with str keys)."""

    hashable = False
    bounded = False

    def __init__(self, name: str) -> None:
        super().__init__(name, Kind.ANY, (type(None), bool, int, float, str, list, dict))
        self._scalars: dict[type, Scalar] = {of: Scalar(of) for of in (type(None), bool)}
        self._scalars |= {int: Integer(int), float: Floating(float), str: Text(str)}

    def check(self, value: Any) -> None:
        scalar = self._scalars.get(type_of(value))
        if scalar is not None:
            scalar.check(value)
        elif type(value) is LIST:
            for index, item in enumerate(value):
                try:
                    self.check(item)
                except Mismatch as mismatch:
                    raise mismatch.within(f"[{index}]") from None
        elif type(value) is DICT:
            for key, item in value.items():
                try:
                    self._scalars[str].check(key)
                    self.check(item)
                except Mismatch as mismatch:
                    raise mismatch.within(f"[{key!r}]") from None
        else:
            raise unexpected(f"a plain JSON value where {self.name} is declared", value)

    def lower(self, value: Any) -> Any:
        self.check(value)
        return value

    def lift(self, data: Any) -> Any:
        return data

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return {}
