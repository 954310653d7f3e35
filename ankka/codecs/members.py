"""Compiling unions: which members there are, whether JSON tells them apart, and under which names."""

import types
import typing
from collections.abc import Mapping
from typing import Any, Protocol

from ankka.codecs.classes import DataclassRecord, StructRecord
from ankka.codecs.hints import unwrapped
from ankka.codecs.plan import Kind, Plan, Refused
from ankka.codecs.records import Record
from ankka.codecs.scalars import JsonValue
from ankka.codecs.unions import TaggedUnion, Union, clashes

_UNIONS = (typing.Union, types.UnionType)


class Owner(Protocol):
    """The compiler, as far as unions need it."""

    def plan(self, annotation: Any, where: str) -> Plan: ...
    def refuse(self, where: str, annotation: Any, problem: str) -> Plan: ...


class UnionCompiler:
    """Compiles the unions of one type; `names` and `aliases` count for all of them."""

    def __init__(self, owner: Owner, tag: str, names: Mapping[type, str], aliases: Mapping[str, type]) -> None:
        self._owner = owner
        self._tag = tag
        self._names = names
        self._aliases = aliases
        self._made: list[tuple[TaggedUnion, str]] = []

    def plan(self, annotation: Any, where: str) -> Plan:
        """The plan of a union."""
        annotations = _merged(_members(annotation))
        members = [self._owner.plan(member, where) for member in annotations]
        if any(isinstance(member, Refused) for member in members):
            return Refused(" | ".join(member.name for member in members))
        for member in members:
            if isinstance(member, JsonValue):
                return member
        members = _distinct(members)
        classes = [member for member in members if member.kinds is Kind.OBJECT and self._taggable(member)]
        if len(classes) > 1:
            tagged = self._tagged(classes, annotation, where)
            members = [tagged, *(member for member in members if member not in classes)]
        unclear = clashes(members)
        if unclear:
            return self._owner.refuse(where, annotation, f"JSON cannot tell {'; '.join(unclear)} apart; put each in a dataclass of its own")
        return members[0] if len(members) == 1 else Union(members)

    def _taggable(self, plan: Plan) -> bool:
        return isinstance(plan, DataclassRecord | StructRecord) or hasattr(plan, "keys")

    def _tagged(self, classes: list[Plan], annotation: Any, where: str) -> Plan:
        members: dict[str, Plan] = {}
        types_seen: set[type] = set()
        for plan in classes:
            cls = plan.types[0]
            name = self._name(plan)
            if cls in types_seen:
                return self._owner.refuse(where, annotation, f"{cls.__name__} is in it twice, with different parameters")
            if name in members:
                return self._owner.refuse(
                    where, annotation, f"two of its classes are named {name!r}; give json_codec(…, names={{{cls.__name__}: 'another name'}})"
                )
            types_seen.add(cls)
            members[name] = plan
        by_class = {plan.types[0]: plan for plan in classes}
        aliases = {name: by_class[cls] for name, cls in self._aliases.items() if cls in by_class}
        for name in aliases.keys() & members.keys():
            self._owner.refuse(where, annotation, f"the alias {name!r} is the name of one of its classes")
        tagged = TaggedUnion(members, aliases, self._tag)
        self._made.append((tagged, where))
        return tagged

    def _name(self, plan: Plan) -> str:
        cls = plan.types[0]
        if cls in self._names:
            return self._names[cls]
        own = plan.tag if isinstance(plan, StructRecord) and self._is_own_tag(plan) else None
        return own if isinstance(own, str) else cls.__name__

    def _is_own_tag(self, plan: StructRecord) -> bool:
        return plan.own_tag_field == self._tag

    def finish(self) -> None:
        """Say which classes have a field named like the tag, and which names and aliases are of no class here."""
        for tagged, where in self._made:
            for name, member in tagged.members.items():
                self._finish_member(name, member, where)
        used = {of for tagged, _ in self._made for of in tagged.types}
        for cls in [*self._names, *self._aliases.values()]:
            if cls not in used:
                self._owner.refuse("names and aliases", cls, f"{cls.__name__} is in no union of this type")

    def _finish_member(self, name: str, member: Plan, where: str) -> None:
        keys = {field.key for field in member.fields} if isinstance(member, Record) else getattr(member, "keys", frozenset[str]())
        fix = f"give json_codec(…, tag=…) another name than {self._tag!r}"
        if self._tag in keys:
            self._owner.refuse(where, member.name, f"{member.name} has a field named like the tag, {self._tag!r}; {fix}")
        if isinstance(member, StructRecord) and member.own_tag_field is not None:
            if member.own_tag_field != self._tag:
                field = member.own_tag_field
                self._owner.refuse(where, member.name, f"{member.name} has a tag of its own, {field!r}; give json_codec(…, tag={field!r})")
            elif member.tag != name:
                self._owner.refuse(where, member.name, f"{member.name} is tagged {member.tag!r} by itself, which is not {name!r}: leave its tag out")
        if isinstance(member, StructRecord) and member.array_like:
            self._owner.refuse(where, member.name, f"{member.name} is an array_like struct, which has no place for a tag")


def _members(annotation: Any) -> list[Any]:
    """The members of a union, those of named unions within it included."""
    bare = unwrapped(annotation)
    if typing.get_origin(bare) in _UNIONS:
        return [member for argument in typing.get_args(bare) for member in _members(argument)]
    return [annotation if annotation is not None else type(None)]


def _merged(members: list[Any]) -> list[Any]:
    """All literals as one; those that a whole type among the members covers are dropped."""
    literals = [member for member in members if typing.get_origin(member) is typing.Literal]
    others = [member for member in members if typing.get_origin(member) is not typing.Literal]
    values = [value for literal in literals for value in typing.get_args(literal) if type(value) not in others]
    return [*others, typing.Literal[tuple(values)]] if values else others


def _distinct(members: list[Plan]) -> list[Plan]:
    """Members of one and the same type, under different names, count once."""
    found: list[Plan] = []
    for member in members:
        if not any(member is other or (not isinstance(member, Record) and member.name == other.name) for other in found):
            found.append(member)
    return found
