"""Pydantic models, by their own adapter. Imported only when a type is one; Pydantic itself is optional."""

from typing import Any, cast

import msgspec
from pydantic import BaseModel, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError

from ankka.codecs.errors import Mismatch, unexpected
from ankka.codecs.plan import DICT, LIST, Kind, Plan, type_of
from ankka.codecs.schemas import Definitions

_encode = msgspec.json.Encoder().encode
_ARRAYS = (list, tuple, set, frozenset)
_KINDS = {
    "null": Kind.NULL,
    "boolean": Kind.BOOLEAN,
    "integer": Kind.INTEGER,
    "number": Kind.NUMBER,
    "string": Kind.STRING,
    "array": Kind.ARRAY,
    "object": Kind.OBJECT,
}


class Model(Plan):
    """A Pydantic model (or dataclass of Pydantic's): written by alias, and always decoded again before it leaves."""

    own_native = False
    own_lowered = True
    own_proven = False

    def __init__(self, of: type, annotation: Any, name: str) -> None:
        super().__init__(name, Kind.OBJECT, (of,))
        self.of = of
        self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        root = getattr(of, "__pydantic_root_model__", False)
        self._schema = self._adapter.json_schema(by_alias=True, mode="serialization", ref_template=f"#/$defs/{name}.{{model}}")
        self._definitions = cast("dict[str, dict[str, Any]]", self._schema.pop("$defs", {}))
        self.kinds = _KINDS.get(self._schema.get("type", ""), Kind.ANY) if root else Kind.OBJECT
        self.keys = frozenset(cast("dict[str, Any]", self._schema.get("properties", {})))
        self._has_sets = b'"uniqueItems"' in _encode([self._schema, self._definitions])
        self.hashable = of.__hash__ is not None  # pyright: ignore[reportUnnecessaryComparison]

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            mismatch = unexpected(self.name, value)
            if isinstance(value, self.of):
                mismatch.reason += f"; a subclass would come back as {self.name}"
            raise mismatch

    def lower(self, value: Any) -> Any:
        self.check(value)
        try:
            data = self._adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings=False)
            if self._has_sets:
                return _sorted(data, self._adapter.dump_python(value, by_alias=True, round_trip=True, warnings=False))
            return data
        except ValueError as error:
            raise Mismatch(f"{self.name} cannot be written: {error}") from error

    def lift(self, data: Any) -> Any:
        try:
            # the JSON mode, not the Python one: there a strict model takes dates as text
            return self._adapter.validate_json(_encode(data))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            mismatch = Mismatch(f"{self.name}: {first['msg']}, got {unexpected('', first['input']).reason.removeprefix('expected , got ')}")
            for part in reversed(first["loc"]):
                mismatch.within(f"[{part}]" if isinstance(part, int) else f".{part}")
            raise mismatch from None

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        for name, schema in self._definitions.items():
            definitions.schemas[f"{self.name}.{name}"] = schema
        return definitions.refer(self, self.name, lambda: dict(self._schema))


def _sorted(data: Any, value: Any) -> Any:
    """The JSON form with the items of every set in sorted order: a set's own differs from process to process."""
    if type(data) is DICT and type(value) is DICT and len(data) == len(value):
        return {key: _sorted(item, of) for (key, item), of in zip(data.items(), value.values(), strict=True)}
    if type(data) is LIST and type_of(value) in _ARRAYS and len(data) == len(value):
        items = [_sorted(item, of) for item, of in zip(data, value, strict=True)]
        return sorted(items, key=_encode) if type_of(value) in (set, frozenset) else items
    return data


def is_model(cls: Any) -> bool:
    """Whether Pydantic made this class."""
    return issubclass(cls, BaseModel) or hasattr(cls, "__is_pydantic_dataclass__") or hasattr(cls, "__pydantic_decorators__")


def model_plan(of: type, annotation: Any, name: str) -> Model | str | NameError:
    """The plan of a model; or what Pydantic says against it; or the name that it does not know yet."""
    try:
        return Model(of, annotation, name)
    except PydanticUndefinedAnnotation as error:
        return NameError(str(error), name=error.name)
    except PydanticUserError as error:
        if error.code == "class-not-fully-defined":
            return NameError(str(error), name=name)
        return error.message
