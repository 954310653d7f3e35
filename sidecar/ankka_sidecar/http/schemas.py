"""JSON Schemas of many components in one document: their definitions move to `components/schemas`, without name clashes.

A definition is named `component.Name`. Two of one name that say different things, themselves or in what they refer to, get
different names; equal ones are written once.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard

import msgspec

Schema = dict[str, Any]

LOCAL = "#/$defs/"
SHARED = "#/components/schemas/"

_canonical = msgspec.json.Encoder(order="sorted").encode


class Schemas:
    """Collects `components/schemas` while schemas are added."""

    def __init__(self) -> None:
        self.shared: dict[str, Schema] = {}
        self._known: dict[tuple[str, bytes], str] = {}

    def add(self, component: str, schema: Schema) -> Schema:
        """The schema as it stands in the document: what it defines is shared, and referred to there."""
        definitions: dict[str, Schema] = schema.get("$defs", {})
        names: dict[str, str] = {}
        for name in definitions:
            reached = _reached(name, definitions)
            names[name] = self._named(f"{component}.{name}", _canonical([definitions[one] for one in reached]))
        for name, definition in definitions.items():
            self.shared[names[name]] = self._placed(component, definition, names)
        return self._placed(component, {key: value for key, value in schema.items() if key != "$defs"}, names)

    def _named(self, wanted: str, content: bytes) -> str:
        """A name for that content, free or given to the same content before."""
        wanted = re.sub(r"[^A-Za-z0-9._-]", "_", wanted)
        known = self._known.get((wanted, content))
        if known is None:
            taken = set(self._known.values())
            number, known = 1, wanted
            while known in taken:
                number += 1
                known = f"{wanted}.{number}"
            self._known[wanted, content] = known
        return known

    def _placed(self, component: str, schema: Schema, names: dict[str, str]) -> Schema:
        placed: Schema = self._discriminated(component, _referring(schema, names))
        return placed

    def _discriminated(self, component: str, part: Any) -> Any:
        """Cases of a union that a key tells apart, as OpenAPI says it: by a discriminator, which needs names for the cases."""
        if _is_list(part):
            return [self._discriminated(component, one) for one in part]
        if not _is_object(part):
            return part
        schema = {key: self._discriminated(component, value) for key, value in part.items()}
        cases = schema.get("oneOf")
        if not _is_list(cases):
            return schema
        tagged = [_tag_of(case) for case in cases]
        keys = {tag[0] for tag in tagged if tag is not None}
        if None in tagged or len(keys) != 1 or "discriminator" in schema:
            return schema
        mapping: dict[str, str] = {}
        for case, tag in zip(cases, tagged, strict=True):
            assert tag is not None
            name = self._named(f"{component}.{tag[1]}.tagged", _canonical(case))
            self.shared[name] = case
            mapping[tag[1]] = f"{SHARED}{name}"
        references = [{"$ref": reference} for reference in mapping.values()]
        return {**schema, "oneOf": references, "discriminator": {"propertyName": keys.pop(), "mapping": mapping}}


def _tag_of(case: Any) -> tuple[str, str] | None:
    """The key and the name of a case `{"allOf": [the class, its tag]}`, as `ankka.codecs.unions` writes it."""
    parts = case.get("allOf") if _is_object(case) else None
    tag = parts[1] if _is_list(parts) and len(parts) == 2 else None
    if not _is_object(tag) or not _is_object(tag.get("properties")) or len(tag["properties"]) != 1:
        return None
    ((key, value),) = tag["properties"].items()
    name = value.get("const") if _is_object(value) else None
    return (key, name) if isinstance(name, str) else None


def _reached(name: str, definitions: dict[str, Schema]) -> list[str]:
    """The definitions that one refers to, directly or not, itself first."""
    reached, waiting = [name], [name]
    while waiting:
        for reference in _references(definitions[waiting.pop()]):
            if reference in definitions and reference not in reached:
                reached.append(reference)
                waiting.append(reference)
    return reached


def _references(part: Any) -> list[str]:
    if _is_list(part):
        return [name for one in part for name in _references(one)]
    if not _is_object(part):
        return []
    reference = part.get("$ref")
    own = [reference.removeprefix(LOCAL)] if isinstance(reference, str) and reference.startswith(LOCAL) else []
    return own + [name for one in part.values() for name in _references(one)]


def _referring(part: Any, names: dict[str, str]) -> Any:
    """The same, with references to where the definitions are now."""
    if _is_list(part):
        return [_referring(one, names) for one in part]
    if not _is_object(part):
        return part
    schema = {key: _referring(value, names) for key, value in part.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        schema["$ref"] = _moved(reference, names)
    discriminator = schema.get("discriminator")
    if _is_object(discriminator) and _is_object(discriminator.get("mapping")):
        mapping = {key: _moved(str(value), names) for key, value in discriminator["mapping"].items()}
        schema["discriminator"] = {**discriminator, "mapping": mapping}
    return schema


def _moved(reference: str, names: dict[str, str]) -> str:
    name = names.get(reference.removeprefix(LOCAL)) if reference.startswith(LOCAL) else None
    return reference if name is None else SHARED + name


def _is_list(part: object) -> TypeGuard[list[Any]]:
    return isinstance(part, list)


def _is_object(part: object) -> TypeGuard[Schema]:
    return isinstance(part, dict)
