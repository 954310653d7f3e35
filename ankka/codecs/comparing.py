"""Whether two values are equal with equal types, all the way down."""

import dataclasses
import datetime as dt
import decimal
from collections.abc import Iterator
from typing import Any

import msgspec

from ankka.codecs.describing import found
from ankka.codecs.errors import Mismatch
from ankka.codecs.plan import type_of


def compare(value: Any, back: Any) -> None:
    """Raise `Mismatch`, with the path, where `back` is not what `value` was."""
    if value is back:
        return
    if type(value) is not type(back):
        raise _changed(value, back)
    parts = _parts(value, back)
    if parts is None:
        if not _same(value, back):
            raise _changed(value, back)
        return
    for segment, one, other in parts:
        try:
            compare(one, other)
        except Mismatch as mismatch:
            raise mismatch.within(segment) from None


def _changed(value: Any, back: Any) -> Mismatch:
    return Mismatch(f"{found(value)} would come back as {found(back)}")


def _parts(value: Any, back: Any) -> Iterator[tuple[str, Any, Any]] | None:
    """What two values of one type are made of, pair by pair; `None` if they are compared as they are."""
    of = type_of(value)
    if issubclass(of, list | tuple):
        return _items(value, back)
    if issubclass(of, dict):
        return _entries(value, back)
    if issubclass(of, set | frozenset):
        return _members(value, back)
    if dataclasses.is_dataclass(of):
        return _attributes(value, back, [field.name for field in dataclasses.fields(of)])
    if issubclass(of, msgspec.Struct):
        return _attributes(value, back, list(of.__struct_fields__))
    model_fields = getattr(of, "__pydantic_fields__", None)
    if model_fields is not None:
        return _attributes(value, back, [*model_fields, "__pydantic_extra__", "__pydantic_private__"])
    return None


def _items(value: list[Any], back: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    if len(value) != len(back):
        raise _changed(value, back)
    for index, pair in enumerate(zip(value, back, strict=True)):
        yield f"[{index}]", *pair


def _entries(value: dict[Any, Any], back: dict[Any, Any]) -> Iterator[tuple[str, Any, Any]]:
    keys = {key: key for key in back}
    if value.keys() != back.keys():
        raise _changed(value, back)
    for key, item in value.items():
        yield f"[{key!r}]", key, keys[key]
        yield f"[{key!r}]", item, back[key]


def _members(value: set[Any], back: set[Any]) -> Iterator[tuple[str, Any, Any]]:
    if value != back:
        raise _changed(value, back)
    members = {member: member for member in back}
    for member in value:
        yield f"{{{found(member)}}}", member, members[member]


def _attributes(value: Any, back: Any, names: list[str]) -> Iterator[tuple[str, Any, Any]]:
    nothing = object()
    for name in names:
        one, other = getattr(value, name, nothing), getattr(back, name, nothing)
        if one is nothing and other is nothing:
            continue
        yield f".{name}", one, other


def _same(value: Any, back: Any) -> bool:
    if isinstance(value, dt.datetime | dt.time):
        # the offset, not the zone, is kept; and a repeated hour is never equal to one in another zone, so compare the clock
        return bool(value.utcoffset() == back.utcoffset() and value.replace(tzinfo=None, fold=0) == back.replace(tzinfo=None, fold=0))
    if isinstance(value, decimal.Decimal):
        return bool(value.as_tuple() == back.as_tuple())
    return bool(value == back)
