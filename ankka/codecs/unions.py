"""Unions: told apart by the kind of JSON value, and, between classes, by a tag."""

from typing import Any

from ankka.codecs.describing import found
from ankka.codecs.errors import Mismatch, unexpected
from ankka.codecs.plan import DICT, Kind, Plan, type_of
from ankka.codecs.schemas import Definitions


def json_kind(data: Any) -> Kind:
    """The kind of a parsed JSON value."""
    return _KIND_OF[type_of(data)]


_KIND_OF: dict[type, Kind] = {
    type(None): Kind.NULL,
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.STRING,
    list: Kind.ARRAY,
    dict: Kind.OBJECT,
}


def clashes(members: list[Plan]) -> list[str]:
    """Which members JSON cannot tell apart, as pairs of names."""
    found: list[str] = []
    for index, member in enumerate(members):
        for other in members[index + 1 :]:
            if member.kinds & other.kinds:
                found.append(f"{member.name} and {other.name}")
    return found


class Union(Plan):
    """Members that are written as different kinds of JSON values; `Optional` is one."""

    def __init__(self, members: list[Plan]) -> None:
        kinds = Kind(0)
        for member in members:
            kinds |= member.kinds
        types = tuple(of for member in members for of in member.types)
        super().__init__(" | ".join(member.name for member in members), kinds, types, tuple(members))
        self._by_type = {of: member for member in members for of in member.types}
        self._by_kind = {kind: member for kind in Kind for member in members if kind & member.kinds}
        for member in sorted(members, key=lambda member: member.also_reads.value):  # of a number a float is made before a Decimal
            for kind in Kind:
                if kind & member.also_reads:
                    self._by_kind.setdefault(kind, member)

    def is_hashable(self) -> bool:
        return all(part.is_hashable() for part in self.parts)

    def _member(self, value: Any) -> Plan:
        member = self._by_type.get(type_of(value))
        if member is None:
            raise unexpected(self.name, value)
        return member

    def check(self, value: Any) -> None:
        member = self._by_type.get(type_of(value))
        if member is None:
            raise unexpected(self.name, value)
        member.check(value)

    def lower(self, value: Any) -> Any:
        return self._member(value).lower(value)

    def lift(self, data: Any) -> Any:
        member = self._by_kind.get(json_kind(data))
        if member is None:
            raise unexpected(self.name, data)
        return member.lift(data)

    def fill(self, value: Any) -> None:
        member = self._by_type.get(type_of(value))
        if member is not None and member.fills:
            member.fill(value)

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        return {"anyOf": [part.schema(definitions) for part in self.parts]}


class TaggedUnion(Plan):
    """Classes told apart by a key of their JSON objects, by default `"type": "<Class>"`."""

    own_native = False
    own_lowered = True

    def __init__(self, members: dict[str, Plan], aliases: dict[str, Plan], tag: str) -> None:
        plans = tuple(members.values())
        super().__init__(" | ".join(plan.name for plan in plans), Kind.OBJECT, tuple(plan.types[0] for plan in plans), plans)
        self.tag = tag
        self.members = members
        self._by_name = {**aliases, **members}
        self._cases = ", ".join(repr(name) for name in self._by_name)
        self._by_type = {plan.types[0]: (name, plan) for name, plan in members.items()}

    def is_hashable(self) -> bool:
        return all(part.is_hashable() for part in self.parts)

    def check(self, value: Any) -> None:
        self._member(value)[1].check(value)

    def lower(self, value: Any) -> Any:
        name, member = self._member(value)
        return {self.tag: name, **member.lower(value)}

    def _member(self, value: Any) -> tuple[str, Plan]:
        member = self._by_type.get(type_of(value))
        if member is None:
            raise unexpected(self.name, value)
        return member

    def lift(self, data: Any) -> Any:
        if type(data) is not DICT:
            raise unexpected(self.name, data)
        given = data
        if self.tag not in given:
            raise Mismatch(f"the key {self.tag!r}, which says which case it is ({self._cases}), is missing").within(f".{self.tag}")
        name = given[self.tag]
        member = self._by_name.get(name) if type(name) is str else None
        if member is None:
            raise Mismatch(f"expected one of {self._cases}, got {found(name)}").within(f".{self.tag}")
        # the tag is no field of the class, which may refuse keys it does not know, and an alias is not its own tag
        return member.lift({key: item for key, item in given.items() if key != self.tag})

    def schema(self, definitions: Definitions) -> dict[str, Any]:
        cases: list[dict[str, Any]] = []
        for name, member in self.members.items():
            tag = {"properties": {self.tag: {"const": name}}, "required": [self.tag]}
            cases.append({"allOf": [member.schema(definitions), tag]})
        return {"oneOf": cases}
