"""The plans of the three kinds of classes with fields that need nothing but the standard library and msgspec."""

import dataclasses
import typing
from collections.abc import Callable
from operator import itemgetter
from typing import Any, cast

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import StructConfig

from ankka.codecs.describing import found
from ankka.codecs.errors import Mismatch, OddFields, unexpected
from ankka.codecs.plan import DICT, LIST, Kind
from ankka.codecs.records import MISSING, Field, Record


class DataclassRecord(Record):
    """A dataclass. It is built as msgspec builds it: fields set one by one, then `__post_init__`.

    To msgspec a field has a value if the class has one under its name: a default that is absent in JSON shows through, and is
    not the instance's own. It then writes only what is the instance's own. So what it has read is filled, and what lacks a
    field of its own, however it was made, goes the slow way.
    """

    def complete(self, fields: tuple[Field, ...]) -> None:
        super().complete(fields)
        self._post_init = getattr(self.of, "__post_init__", None)
        # what `__post_init__` does to a value cannot be known: such values are decoded again
        self.own_proven: bool = self._post_init is None
        self.hashable: bool = self.of.__hash__ is not None  # pyright: ignore[reportUnnecessaryComparison]
        if self.of.__dictoffset__ != 0 and fields:
            self._written = own_values(tuple(field.name for field in fields))
            self._own = tuple(field for field in fields if not _is_in_slot(self.of, field.name))
            self.own_fills: bool = any(_shows_through(self.of, field.name) for field in self._own)
            # how many attributes a new instance has when none is absent: only code of the user's adds others
            self._count = len(self._own) if self._post_init is None and not _has_new(self.of) else -1

    def fill(self, value: Any) -> None:
        if self.own_fills and len(value.__dict__) != self._count:
            self._set_absent(value)
        for field in self._filled:
            field.plan.fill(getattr(value, field.name))

    def _set_absent(self, value: Any) -> None:
        for field in self._own:
            if field.name not in value.__dict__:
                default = field.absent()
                if default is not MISSING:
                    object.__setattr__(value, field.name, default)
                elif field.required:
                    raise Mismatch(f"the required field {field.key!r} of {self.name} is missing").within(f".{field.key}")

    def build(self, values: dict[str, Any]) -> Any:
        built = cast("Any", self.of).__new__(self.of)
        for name, value in values.items():
            object.__setattr__(built, name, value)
        if self._post_init is not None:
            self._post_init(built)
        return built


def own_values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads these fields from an instance's own `__dict__`; `OddFields` where one is not there."""
    read = cast("Callable[[Any], Any]", itemgetter(*names))
    single = len(names) == 1

    def own(value: Any) -> tuple[Any, ...]:
        try:
            values = read(value.__dict__)
        except KeyError:
            raise OddFields from None
        return (values,) if single else values

    return own


def _class_value(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)


def _has_new(cls: type) -> bool:
    return any("__new__" in vars(base) for base in cls.__mro__ if base is not object)


def _is_in_slot(cls: type, name: str) -> bool:
    """Whether the field lies in a slot of the class (or is a property), not in the instance's `__dict__`."""
    return hasattr(_class_value(cls, name), "__set__")


def _shows_through(cls: type, name: str) -> bool:
    """Whether reading the field gives a value although the instance has none."""
    return _class_value(cls, name) is not MISSING or hasattr(cls, "__getattr__")


def dataclass_fields(cls: Any) -> list[tuple[str, bool, Any, Any]]:
    """Name, required, default and default factory of each field. A field outside `__init__` is never required."""
    found: list[tuple[str, bool, Any, Any]] = []
    for field in dataclasses.fields(cls):
        default = MISSING if field.default is dataclasses.MISSING else field.default
        factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
        found.append((field.name, field.init and default is MISSING and factory is None, default, factory))
    return found


def init_only_names(cls: Any) -> list[str]:
    """The `InitVar` pseudo-fields of a dataclass: gone once it is made, so that it cannot be made again."""
    pseudo = cast("dict[str, Any]", cls.__dataclass_fields__)
    return [name for name, field in pseudo.items() if getattr(field, "_field_type", None) is getattr(dataclasses, "_FIELD_INITVAR", MISSING)]


class StructRecord(Record):
    """A msgspec struct, with its own names, tag and strictness."""

    def __init__(self, of: type, annotation: Any, name: str) -> None:
        super().__init__(of, annotation, name)
        self.config: StructConfig = cast("type[msgspec.Struct]", of).__struct_config__
        self.tag: str | int | None = self.config.tag
        self.own_tag_field: str | None = None if self.tag is None else self.config.tag_field
        self.array_like: bool = self.config.array_like
        if self.array_like:
            self.kinds = Kind.ARRAY

    def complete(self, fields: tuple[Field, ...]) -> None:
        super().complete(fields)
        self.own_proven: bool = not hasattr(self.of, "__post_init__")
        self.hashable: bool = self.config.frozen or not self.config.eq
        self._known = {*self._keys, self.config.tag_field}

    def lower(self, value: Any) -> Any:
        lowered = super().lower(value)
        return lowered if self.tag is None else {self.config.tag_field: self.tag, **lowered}

    def _lifted(self, data: Any) -> Any:
        if self.array_like and type(data) is LIST:
            data = self._by_place(data)
        if self.tag is not None and type(data) is DICT:
            tag = data.get(self.config.tag_field, self.tag)
            if tag != self.tag or type(tag) is not type(self.tag):
                raise Mismatch(f"expected {self.tag!r}, the tag of {self.name}, got {found(tag)}").within(f".{self.config.tag_field}")
        return super()._lifted(data)

    def _by_place(self, data: list[Any]) -> dict[str, Any]:
        """The fields of an array, by key; a tag comes first. What is more than there are fields is unknown."""
        keys: tuple[Any, ...] = self._keys if self.tag is None else (self.config.tag_field, *self._keys)
        if len(data) > len(keys) and self.config.forbid_unknown_fields:
            raise Mismatch(f"{self.name} takes {len(keys)} items, got {len(data)}")
        return dict(zip(keys, data, strict=False))

    def _refuse_unknown(self, given: dict[str, Any]) -> None:
        if self.config.forbid_unknown_fields:
            for key in given.keys() - self._known:
                raise Mismatch(f"{self.name} takes no field {key!r}").within(f".{key}")

    def build(self, values: dict[str, Any]) -> Any:
        return self.of(**values)


def struct_fields(annotation: Any) -> list[tuple[str, str, Any, bool, Any, Any]]:
    """Name, key, type, required, default and default factory of each field."""
    return [
        (
            field.name,
            field.encode_name,
            field.type,
            field.required,
            MISSING if field.default is NODEFAULT else field.default,
            None if field.default_factory is NODEFAULT else field.default_factory,
        )
        for field in msgspec.structs.fields(annotation)
    ]


def required_keys(cls: Any, hints: dict[str, Any]) -> set[str]:
    """The keys a typed dict must have; its own list misses what deferred annotations say."""
    required: set[str] = set(cls.__required_keys__)
    for name, hint in hints.items():
        if typing.get_origin(hint) is typing.Required:
            required.add(name)
        elif typing.get_origin(hint) is typing.NotRequired:
            required.discard(name)
    return required


class TypedDictRecord(Record):
    """A typed dict: a plain dict with these keys and no others."""

    hashable = False

    def __init__(self, of: type, annotation: Any, name: str) -> None:
        super().__init__(of, annotation, name)
        self.types: tuple[type, ...] = (dict,)

    def complete(self, fields: tuple[Field, ...]) -> None:
        super().complete(fields)
        self._by_key = {field.key: field for field in fields}

    def check(self, value: Any) -> None:
        self._each(value, "check")

    def lower(self, value: Any) -> Any:
        return self._each(value, "lower")

    def _each(self, value: Any, method: str) -> dict[str, Any]:
        if type(value) is not DICT:
            raise unexpected(self.name, value)
        given = value
        results: dict[str, Any] = {}
        for key, item in given.items():
            field = self._by_key.get(key)
            if field is None:
                raise Mismatch(f"{self.name} has no key {key!r}, so it would not come back").within(f"[{key!r}]")
            try:
                results[key] = getattr(field.plan, method)(item)
            except Mismatch as mismatch:
                raise mismatch.within(f".{key}") from None
        for field in self.fields:
            if field.required and field.key not in given:
                raise Mismatch(f"the required key {field.key!r} of {self.name} is missing").within(f".{field.key}")
        return results

    def fill(self, value: Any) -> None:
        for field in self._filled:
            if field.key in value:
                field.plan.fill(value[field.key])

    def _lifted(self, data: Any) -> Any:
        lifted = super()._lifted(data)
        return {key: lifted[key] for key in data if key in lifted}  # in the order it had, as msgspec reads it

    def build(self, values: dict[str, Any]) -> Any:
        return values
