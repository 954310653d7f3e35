"""Whether two values are equal with equal types, all the way down."""

import dataclasses
import datetime as dt
import decimal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import msgspec

from ankka.codecs.describing import found
from ankka.codecs.errors import Mismatch
from ankka.codecs.plan import type_of

Part: TypeAlias = tuple[str | Callable[[], str], Any, Any]
"""Where it is (made when it is needed), the part, and what it came back as."""


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
            raise mismatch.within(segment if isinstance(segment, str) else segment()) from None


def _changed(value: Any, back: Any) -> Mismatch:
    return Mismatch(f"{found(value)} would come back as {found(back)}")


def _parts(value: Any, back: Any) -> Iterator[Part] | None:
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


def _items(value: list[Any], back: list[Any]) -> Iterator[Part]:
    if len(value) != len(back):
        raise _changed(value, back)
    for index, pair in enumerate(zip(value, back, strict=True)):
        yield f"[{index}]", *pair


def _entries(value: dict[Any, Any], back: dict[Any, Any]) -> Iterator[Part]:
    for key, came in _found_again(value, back):
        segment = partial("[{!r}]".format, key)
        yield segment, key, came
        yield segment, value[key], back[came]


def _members(value: set[Any], back: set[Any]) -> Iterator[Part]:
    for member, came in _found_again(value, back):
        yield partial(_member_segment, member), member, came


def _member_segment(member: Any) -> str:
    return f"{{{found(member)}}}"


def _found_again(value: Any, back: Any) -> Iterator[tuple[Any, Any]]:
    """Each member of a set (or key of a dict) with the one that it came back as; raises where there are others."""
    if len(value) != len(back):
        raise _changed(value, back)
    members = {member: member for member in back}
    if all(member in members for member in value):
        return ((member, members[member]) for member in value)
    members = {_stand_in(member): member for member in back}
    if any(_stand_in(member) not in members for member in value):
        raise _changed(value, back)
    return ((member, members[_stand_in(member)]) for member in value)


def _stand_in(value: Any) -> Any:
    """What stands for a hashable value when it is looked up: a moment of a repeated hour is `==` to none of another zone."""
    of = type_of(value)
    if issubclass(of, dt.datetime | dt.time):
        return of, value.replace(tzinfo=None, fold=0), value.utcoffset()
    if issubclass(of, tuple):
        return tuple(map(_stand_in, value))
    if issubclass(of, frozenset):
        return frozenset(map(_stand_in, value))
    names = _hashed_fields(of)
    if names and of.__eq__ is not object.__eq__:
        return of, *(_stand_in(getattr(value, name)) for name in names)
    return value


def _hashed_fields(of: Any) -> list[str]:
    if dataclasses.is_dataclass(of):
        return [field.name for field in dataclasses.fields(of) if (field.compare if field.hash is None else field.hash)]
    if issubclass(of, msgspec.Struct):
        return list(of.__struct_fields__)
    return list(getattr(of, "__pydantic_fields__", ()))


def _attributes(value: Any, back: Any, names: list[str]) -> Iterator[Part]:
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
