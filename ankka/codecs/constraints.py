"""Types with constraints (`Annotated[int, msgspec.Meta(gt=0)]`)."""

import typing
from typing import Any, cast

import msgspec

from ankka.codecs.errors import Mismatch
from ankka.codecs.plan import Kind, Plan
from ankka.codecs.schemas import Definitions


def constraints_of(annotation: Any) -> tuple[msgspec.Meta, ...] | None:
    """The constraints that msgspec will enforce on reading, `None` if there are none."""
    if typing.get_origin(annotation) is not typing.Annotated:
        return None
    found = tuple(note for note in annotation.__metadata__ if isinstance(note, msgspec.Meta))
    return found or None


class Constrained(Plan):
    """A type with constraints: values are decoded again before they leave, which enforces them on writing too."""

    own_proven = False

    def __init__(self, inner: Plan, annotation: Any) -> None:
        super().__init__(inner.name, inner.kinds, inner.types, (inner,))
        self.inner = inner
        self.also_reads: Kind = inner.also_reads
        self.annotation: type[Any] = cast("type[Any]", annotation)

    def is_hashable(self) -> bool:
        return self.inner.is_hashable()

    def check(self, value: Any) -> None:
        self.inner.check(value)

    def lower(self, value: Any) -> Any:
        return self.inner.lower(value)

    def lift(self, data: Any) -> Any:
        value = self.inner.lift(data)
        if self.native:
            try:
                msgspec.convert(data, self.annotation, str_keys=True)
            except msgspec.ValidationError as error:
                raise Mismatch(f"{error}") from None
        return value

    def fill(self, value: Any) -> None:
        self.inner.fill(value)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        schema = self.inner.schema(definitions)
        return {**schema, **_keywords(self.annotation)}


def _keywords(annotation: Any) -> dict[str, Any]:
    keywords = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
    keywords |= {"multiple_of": "multipleOf", "pattern": "pattern", "min_length": "minLength", "max_length": "maxLength"}
    found: dict[str, Any] = {}
    for meta in constraints_of(annotation) or ():
        found |= {keyword: getattr(meta, name) for name, keyword in keywords.items() if getattr(meta, name) is not None}
    return found
