"""Dictionaries: JSON objects whose keys are text, read back as what they were."""

import re
from typing import Any

import msgspec

from ankka.codecs.errors import Mismatch, unexpected
from ankka.codecs.plan import DICT, Kind, Plan
from ankka.codecs.scalars import Instant, check_distinct
from ankka.codecs.schemas import Definitions

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")

KEYS = "str, int, float, Decimal, UUID, datetime, date, time, timedelta, bytes, or an enum or Literal of str or int"


def can_be_key(plan: Plan) -> bool:
    """Whether values of this type are told apart as text."""
    return plan.hashable and plan.kinds in (Kind.STRING, Kind.INTEGER, Kind.FLOAT) and len(plan.types) == 1


class Mapping(Plan):
    """`dict[K, V]`, in insertion order."""

    hashable = False

    def __init__(self, key: Plan, item: Plan) -> None:
        super().__init__(f"dict[{key.name}, {item.name}]", Kind.OBJECT, (dict,), (key, item))
        self.key = key
        self.item = item
        self.of_moments: bool = any(isinstance(part, Instant) for part in key.reached())

    def check(self, value: Any) -> None:
        if type(value) is not DICT:
            raise unexpected("dict", value)
        if self.of_moments:
            self._check_moments(value)
        check_key, check = self.key.check, self.item.check
        key: Any = None
        try:
            for key, item in value.items():
                check_key(key)
                check(item)
        except Mismatch as mismatch:
            raise mismatch.within(f"[{key!r}]") from None

    def _check_moments(self, value: dict[Any, Any]) -> None:
        if set(map(type, value)) <= {*self.key.types}:
            check_distinct(value)

    def lower(self, value: Any) -> Any:
        if type(value) is not DICT:
            raise unexpected("dict", value)
        if self.of_moments:
            self._check_moments(value)
        lowered: dict[Any, Any] = {}
        key: Any = None
        try:
            for key, item in value.items():
                lowered[self.key.lower(key)] = self.item.lower(item)
        except Mismatch as mismatch:
            raise mismatch.within(f"[{key!r}]") from None
        return lowered

    def lift(self, data: Any) -> Any:
        if type(data) is not DICT:
            raise unexpected(self.name, data)
        lifted: dict[Any, Any] = {}
        key = ""
        try:
            for key, item in data.items():
                lifted[self._lift_key(key)] = self.item.lift(item)
        except Mismatch as mismatch:
            raise mismatch.within(f"[{key!r}]") from None
        return lifted

    def _lift_key(self, key: str) -> Any:
        if self.key.kinds is Kind.STRING:
            return self.key.lift(key)
        if self.key.kinds is Kind.INTEGER and not _INTEGER.fullmatch(key):
            raise unexpected(f"a key of type {self.key.name}", key)
        try:
            return self.key.lift(msgspec.json.decode(key))
        except msgspec.DecodeError:
            raise unexpected(f"a key of type {self.key.name}", key) from None

    def fill(self, value: Any) -> None:
        fill = self.item.fill
        for item in value.values():
            fill(item)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object", "additionalProperties": self.item.schema(definitions)}
        key = self.key.schema(definitions)
        if self.key.kinds is Kind.STRING and key != {"type": "string"}:
            schema["propertyNames"] = key
        return schema
