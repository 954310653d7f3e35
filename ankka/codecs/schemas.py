"""JSON Schemas: named definitions, and a digest that is the same in every process."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

_type_of: Callable[[Any], Any] = type
_canonical = msgspec.json.Encoder(order="sorted").encode


class Definitions:
    """The named types of one schema; each is written once and referred to, so that types may be recursive."""

    def __init__(self) -> None:
        self.schemas: dict[str, dict[str, Any]] = {}
        self._names: dict[int, str] = {}

    def refer(self, owner: object, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """A reference to the schema of `owner`, which `make` writes at the first time."""
        known = self._names.get(id(owner))
        if known is None:
            known = self._free(name)
            self._names[id(owner)] = known
            self.schemas[known] = {}
            self.schemas[known] = make()
        return {"$ref": f"#/$defs/{known}"}

    def _free(self, name: str) -> str:
        if name not in self.schemas:
            return name
        number = 2
        while f"{name}{number}" in self.schemas:
            number += 1
        return f"{name}{number}"


def complete(schema: dict[str, Any], definitions: Definitions) -> dict[str, Any]:
    """The schema with its definitions."""
    return {**schema, "$defs": definitions.schemas} if definitions.schemas else schema


def fingerprint(schema: dict[str, Any]) -> str:
    """A digest of a schema: equal schemas, whatever the order of their keys and what they say in words, have equal digests.

    >>> fingerprint({"type": "string", "format": "uuid"}) == fingerprint({"format": "uuid", "type": "string", "description": "its id"})
    True
    """
    return hashlib.sha256(_canonical(_without_words(schema))).hexdigest()[:32]


def _without_words(schema: Any) -> Any:
    """The schema without descriptions, which come from docstrings: who edits those writes the same data as before."""
    if _type_of(schema) is list:
        return [_without_words(item) for item in schema]
    if _type_of(schema) is dict:
        return {key: _without_words(item) for key, item in schema.items() if key != "description" or _type_of(item) is not str}
    return schema
