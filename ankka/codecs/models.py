"""Pydantic models, by their own adapter. Imported only when a type is one; Pydantic itself is optional."""

from typing import Any, Literal, cast

import msgspec
from pydantic import BaseModel, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from ankka.codecs.canonical_models import with_sorted_sets
from ankka.codecs.errors import Mismatch, unexpected
from ankka.codecs.plan import Kind, Plan
from ankka.codecs.schemas import Definitions

_encode = msgspec.json.Encoder().encode
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
    bounded = False

    def __init__(self, of: type, annotation: Any, name: str) -> None:
        super().__init__(name, Kind.OBJECT, (of,))
        self.of = of
        self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        root = getattr(of, "__pydantic_root_model__", False)
        self._schema = self._described("serialization", by_alias=True)
        self._reading = self._names_to_read_by()
        self._definitions = cast("dict[str, dict[str, Any]]", self._schema.pop("$defs", {}))
        self.kinds: Kind = _KINDS.get(self._schema.get("type", ""), Kind.ANY) if root else Kind.OBJECT
        self.keys: frozenset[str] = frozenset(cast("dict[str, Any]", self._schema.get("properties", {})))
        self.hashable: bool = of.__hash__ is not None  # pyright: ignore[reportUnnecessaryComparison]

    def _described(self, mode: "Literal['serialization', 'validation']", *, by_alias: bool) -> dict[str, Any]:
        template = f"#/$defs/{self.name}.{{model}}"
        return self._adapter.json_schema(by_alias=by_alias, mode=mode, ref_template=template, schema_generator=_Schemas)

    def _names_to_read_by(self) -> dict[str, Any]:
        """How it is told to read what it writes: by the fields' own names too, where a field is written by that and not read by it."""
        written = _names(self._schema)
        try:
            missing = written - _names(self._described("validation", by_alias=True))
            if not missing:
                return {}
            missing -= _names(self._described("validation", by_alias=False))
        except PydanticInvalidForJsonSchema:  # a validator of the user's takes what no schema describes
            return {}
        if missing:
            raise Unreadable(f"{self.name} writes {', '.join(map(repr, sorted(missing)))}, but does not read it: give the field one alias for both")
        return {"by_alias": True, "by_name": True}

    def check(self, value: Any) -> None:
        if type(value) is not self.of:
            mismatch = unexpected(self.name, value)
            if isinstance(value, self.of):
                mismatch.reason += f"; a subclass would come back as {self.name}"
            raise mismatch

    def lower(self, value: Any) -> Any:
        self.check(value)
        try:
            data = with_sorted_sets(self._adapter.dump_python(value, mode="json", by_alias=True, round_trip=True, warnings=False), value)
            _encode(data)
            return data
        except Exception as error:  # validators and serializers are the user's: they may raise anything
            raise Mismatch(f"{self.name} cannot be written: {error}") from error

    def lift(self, data: Any) -> Any:
        try:
            # the JSON mode, not the Python one: there a strict model takes dates as text
            return self._adapter.validate_json(_encode(data), **self._reading)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            mismatch = Mismatch(f"{self.name}: {first['msg']}, got {unexpected('', first['input']).reason.removeprefix('expected , got ')}")
            for part in reversed(first["loc"]):
                mismatch.within(f"[{part}]" if isinstance(part, int) else f".{part}")
            raise mismatch from None
        except Exception as error:  # a validator of the user's may raise what Pydantic does not take for its own
            raise Mismatch(f"{self.name} refuses it: {type(error).__name__}: {error}") from error

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        for name, schema in self._definitions.items():
            definitions.schemas[f"{self.name}.{name}"] = schema
        return definitions.refer(self, self.name, lambda: dict(self._schema))


class Unreadable(PydanticUserError):
    """A model that does not read what it writes."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code=None)


class _Schemas(GenerateJsonSchema):
    """Writes a default the same in every process."""

    def encode_default(self, dft: Any) -> Any:
        return with_sorted_sets(super().encode_default(dft), dft)


def _names(schema: dict[str, Any]) -> set[str]:
    """The keys of all the models in a schema, with the models' names; computed ones, which are not written, left out."""
    found: set[str] = set()
    for name, part in [("", schema), *cast("dict[str, Any]", schema.get("$defs", {})).items()]:
        for key, property in cast("dict[str, Any]", part.get("properties", {})).items():
            if not property.get("readOnly"):
                found.add(f"{name}.{key}".removeprefix("."))
    return found


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
    except Exception as error:  # Pydantic stumbles over what it finds, as over a default with a key "$defs"
        return f"Pydantic cannot describe {name}: {type(error).__name__}: {error}"
