"""Types that are JSON arrays: lists, tuples, sets."""

from typing import Any

import msgspec

from ankka.codecs.describing import found
from ankka.codecs.errors import Mismatch, unexpected
from ankka.codecs.plan import LIST, Kind, Plan
from ankka.codecs.scalars import Instant, check_distinct
from ankka.codecs.schemas import Definitions

_encode = msgspec.json.Encoder().encode


class Items(Plan):
    """Any number of items of one type: `list[X]` and `tuple[X, ...]`."""

    def __init__(self, of: type, item: Plan) -> None:
        super().__init__(f"{of.__name__}[{item.name}{', ...' if of is tuple else ''}]", Kind.ARRAY, (of,), (item,))
        self.of: Any = of
        self.item = item

    def is_hashable(self) -> bool:
        return self.of is tuple and self.item.is_hashable()

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            raise unexpected(self.of.__name__, value)
        check = self.item.check
        index = 0
        try:
            for index, item in enumerate(value):  # noqa: B007 - the index is for the message
                check(item)
        except Mismatch as mismatch:
            raise mismatch.within(f"[{index}]") from None

    def lower(self, value: Any) -> Any:
        if type(value) is not self.of:
            raise unexpected(self.of.__name__, value)
        return mapped(self.item.lower, value)

    def lift(self, data: Any) -> Any:
        if type(data) is not LIST:
            raise unexpected(self.name, data)
        return self.of(mapped(self.item.lift, data))

    def fill(self, value: Any) -> None:
        fill = self.item.fill
        for item in value:
            fill(item)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema(definitions)}


def mapped(function: Any, items: Any) -> list[Any]:
    """The function applied to each item; a mismatch names the index."""
    results: list[Any] = []
    try:
        for item in items:
            results.append(function(item))
    except Mismatch as mismatch:
        raise mismatch.within(f"[{len(results)}]") from None
    return results


class FixedTuple(Plan):
    """`tuple[A, B]`: as many items as types."""

    def __init__(self, items: tuple[Plan, ...]) -> None:
        super().__init__(f"tuple[{', '.join(item.name for item in items) or '()'}]", Kind.ARRAY, (tuple,), items)

    def is_hashable(self) -> bool:
        return all(part.is_hashable() for part in self.parts)

    def check(self, value: Any) -> None:
        self._each(value, tuple, "check")

    def lower(self, value: Any) -> Any:
        return self._each(value, tuple, "lower")

    def lift(self, data: Any) -> Any:
        return tuple(self._each(data, list, "lift"))

    def _each(self, value: Any, expected: Any, method: str) -> list[Any]:
        if type(value) is not expected:
            raise unexpected(self.name, value)
        if len(value) != len(self.parts):
            raise Mismatch(f"expected {self.name}, {len(self.parts)} items, got {len(value)}: {found(value)}")
        results: list[Any] = []
        try:
            for part, item in zip(self.parts, value, strict=True):
                results.append(getattr(part, method)(item))
        except Mismatch as mismatch:
            raise mismatch.within(f"[{len(results)}]") from None
        return results

    def fill(self, value: Any) -> None:
        for part, item in zip(self.parts, value, strict=True):
            if part.fills:
                part.fill(item)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        count = len(self.parts)
        schema: dict[str, Any] = {"type": "array", "minItems": count, "maxItems": count}
        if self.parts:
            schema["prefixItems"] = [part.schema(definitions) for part in self.parts]
        return schema


class Unordered(Plan):
    """`set[X]` and `frozenset[X]`: written in sorted order, because a set's own order differs from process to process."""

    own_lowered = True

    def __init__(self, of: type, item: Plan) -> None:
        super().__init__(f"{of.__name__}[{item.name}]", Kind.ARRAY, (of,), (item,))
        self.of: Any = of
        self.item = item
        self.hashable: bool = of is frozenset
        self.ordered: bool = item.types in ((str,), (int,))
        self.of_moments: bool = isinstance(item, Instant)

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            raise unexpected(self.of.__name__, value)
        for item in value:
            self._checked(item, "check")

    def lower(self, value: Any) -> Any:
        if type(value) is not self.of:
            raise unexpected(self.of.__name__, value)
        lowered = [self._checked(item, "lower") for item in value]
        if self.of_moments:
            check_distinct(value)
        return sorted(lowered) if self.ordered else sorted(lowered, key=_encode)

    def _checked(self, item: Any, method: str) -> Any:
        try:
            return getattr(self.item, method)(item)
        except Mismatch as mismatch:  # a set has no index: the item stands for itself
            raise mismatch.within(f"{{{found(item)}}}") from None

    def lift(self, data: Any) -> Any:
        if type(data) is not LIST:
            raise unexpected(self.name, data)
        return self.of(mapped(self.item.lift, data))

    def fill(self, value: Any) -> None:
        fill = self.item.fill
        for item in value:
            fill(item)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return {"type": "array", "uniqueItems": True, "items": self.item.schema(definitions)}
