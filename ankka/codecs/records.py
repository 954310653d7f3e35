"""Types with named fields, written as JSON objects: what dataclasses, msgspec structs and typed dicts share."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import msgspec

from ankka.codecs.errors import Mismatch, OddOffset, unexpected
from ankka.codecs.plan import DICT, Kind, Plan
from ankka.codecs.schemas import Definitions

MISSING: Final[Any] = object()
"""Stands for no default, and for a field that is not there."""


@dataclass(slots=True)
class Field:
    """A field: its name in Python, its key in JSON, what it holds, and what is taken when it is absent."""

    name: str
    key: str
    plan: Plan
    required: bool
    default: Any = MISSING
    factory: Callable[[], Any] | None = None

    @property
    def has_no_default(self) -> bool:
        """Whether nothing is taken when it is absent."""
        return self.default is MISSING and self.factory is None

    def absent(self) -> Any:
        """What the field is when JSON has no key for it; `MISSING`: it is left alone."""
        if self.factory is not None:
            return self.factory()
        return self.default


def _no_values(value: Any) -> tuple[Any, ...]:
    return ()


def getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that reads these attributes of a value."""
    if not names:
        return _no_values
    if len(names) == 1:
        read = attrgetter(names[0])
        return lambda value: (read(value),)
    return attrgetter(*names)


class Record(Plan):
    """A class with fields. Made empty, because a class may contain itself; `complete` gives it its fields."""

    fields: tuple[Field, ...] = ()

    def __init__(self, of: type, annotation: Any, name: str) -> None:
        super().__init__(name, Kind.OBJECT, (of,))
        self.of = of
        self.annotation = annotation
        self.convertible: bool = False
        self._filled: tuple[Field, ...] = ()

    def complete(self, fields: tuple[Field, ...]) -> None:
        """Give it its fields."""
        self.fields = fields
        self.parts: tuple[Plan, ...] = tuple(field.plan for field in fields)
        self._keys = tuple(field.key for field in fields)
        self._read = self._written = getter(tuple(field.name for field in fields))
        self._checks = tuple(field.plan.check for field in fields)
        self._lowers = tuple(field.plan.lower for field in fields)

    def seal(self) -> None:
        super().seal()
        self.convertible = self.native

    def link(self) -> None:
        """Note which fields are to be filled, once the flags of all plans are derived."""
        self._filled = tuple(field for field in self.fields if field.plan.fills)

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            raise self._not_one(value)
        key = ""
        try:
            for key, check, item in zip(self._keys, self._checks, self._written(value), strict=True):  # noqa: B007 - for the message
                check(item)
        except Mismatch as mismatch:
            raise mismatch.within(f".{key}") from None
        except AttributeError as error:
            raise self._unset(error) from None

    def lower(self, value: Any) -> Any:
        if type(value) is not self.of:
            raise self._not_one(value)
        lowered: dict[str, Any] = {}
        key = ""
        try:
            for key, lower, item in zip(self._keys, self._lowers, self._read(value), strict=True):
                lowered[key] = lower(item)
        except Mismatch as mismatch:
            raise mismatch.within(f".{key}") from None
        except AttributeError as error:
            raise self._unset(error) from None
        return lowered

    def _not_one(self, value: Any) -> Mismatch:
        mismatch = unexpected(self.name, value)
        if isinstance(value, self.of):
            mismatch.reason += f"; a subclass would come back as {self.name}: declare the union of what may be here"
        return mismatch

    def _unset(self, error: AttributeError) -> Mismatch:
        return Mismatch(f"the field {error.name!r} of {self.name} has no value").within(f".{error.name}")

    def lift(self, data: Any) -> Any:
        if self.convertible:
            try:
                value = msgspec.convert(data, self.annotation)
                if self.fills:
                    self.fill(value)
                return value
            except Exception:
                return self._lifted(data)  # once more, step by step, to say where it is wrong
        return self._lifted(data)

    def _lifted(self, data: Any) -> Any:
        if type(data) is not DICT:
            raise unexpected(self.name, data)
        given = data
        values: dict[str, Any] = {}
        for field in self.fields:
            found = given.get(field.key, MISSING)
            if found is not MISSING:
                try:
                    values[field.name] = field.plan.lift(found)
                except Mismatch as mismatch:
                    raise mismatch.within(f".{field.key}") from None
            elif field.required:
                raise Mismatch(f"the required field {field.key!r} of {self.name} is missing").within(f".{field.key}")
            else:
                default = self._absent(field)
                if default is not MISSING:
                    values[field.name] = default
        self._refuse_unknown(given)
        try:
            return self.build(values)
        except Exception as error:  # code of the user's (`__post_init__`)
            raise Mismatch(f"{self.name} refuses it: {type(error).__name__}: {error}") from error

    def _absent(self, field: Field) -> Any:
        try:
            return field.absent()
        except Exception as error:  # code of the user's
            raise Mismatch(f"the default of {self.name}.{field.name} raises {type(error).__name__}: {error}").within(f".{field.key}") from error

    def fill(self, value: Any) -> None:
        for field in self._filled:
            field.plan.fill(getattr(value, field.name))

    def _refuse_unknown(self, given: dict[str, Any]) -> None:
        """Unknown keys are ignored, unless the class says otherwise."""

    @abstractmethod
    def build(self, values: dict[str, Any]) -> Any:
        """The value with these fields, by name."""

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return definitions.refer(self, self.of.__name__, lambda: self._schema(definitions))

    def _schema(self, definitions: Definitions) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for field in self.fields:
            properties[field.key] = field.plan.schema(definitions)
            if field.default is not MISSING:
                properties[field.key] = _with_default(properties[field.key], field)
        schema: dict[str, Any] = {"type": "object", "title": self.name, "properties": properties}
        required = [field.key for field in self.fields if field.required]
        return {**schema, "required": required} if required else schema


def _with_default(schema: dict[str, Any], field: Field) -> dict[str, Any]:
    try:
        return {**schema, "default": msgspec.to_builtins(field.plan.lower(field.default), str_keys=True)}
    except (Mismatch, OddOffset):
        return schema  # a default that is not of the field's type: said when a value with it is encoded
