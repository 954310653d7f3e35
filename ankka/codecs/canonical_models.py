"""What Pydantic writes, the same in every process: a set's own order differs from process to process."""

import dataclasses
from typing import Any, cast

import msgspec

from ankka.codecs.plan import DICT, LIST, type_of

_encode = msgspec.json.Encoder().encode


def with_sorted_sets(data: Any, value: Any) -> Any:
    """The JSON form `data` of a value, with the items of every set sorted by their bytes.

    It follows value and form side by side. Where a serializer of the user's has written something of another shape, what it
    wrote stays; a list of as many items as the set has is taken to be the set.
    """
    of = type_of(value)
    if getattr(of, "__pydantic_root_model__", False):
        return with_sorted_sets(data, value.root)
    if type(data) is LIST and issubclass(of, list | tuple | set | frozenset) and len(data) == len(value):
        items = [with_sorted_sets(item, member) for item, member in zip(data, value, strict=True)]
        return sorted(items, key=_encode) if issubclass(of, set | frozenset) else items
    if type(data) is DICT and len(data) > 0:
        parts = value if issubclass(of, dict) else _fields(value)
        if len(data) == len(parts) and not data.keys() >= parts.keys():  # keys that are no text: matched by their place
            return {key: with_sorted_sets(item, part) for (key, item), part in zip(data.items(), parts.values(), strict=True)}
        return {key: with_sorted_sets(item, parts[key]) if key in parts else item for key, item in data.items()}
    return data


def _fields(value: Any) -> dict[str, Any]:
    """What a model or a dataclass holds, by the keys that Pydantic writes it by."""
    fields = cast("dict[str, Any] | None", getattr(value, "__pydantic_fields__", None))
    if fields is not None:
        written = {field.serialization_alias or name: getattr(value, name, None) for name, field in fields.items() if not field.exclude}
        return {**(getattr(value, "__pydantic_extra__", None) or {}), **written}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {}
