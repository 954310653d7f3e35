"""From an annotation to its plan; what a codec cannot hold is collected, not raised one by one."""

import collections.abc
import dataclasses
import enum
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, ForwardRef, TypeVar, cast

import msgspec

from ankka.codecs import classes, containers, mappings
from ankka.codecs.choices import Choice, LiteralChoice, has_json_form
from ankka.codecs.constraints import Constrained, constraints_of
from ankka.codecs.describing import type_name
from ankka.codecs.done import Done
from ankka.codecs.errors import CodecError, UnresolvedType
from ankka.codecs.hints import class_hints, is_typed_dict, unwrapped
from ankka.codecs.members import UnionCompiler
from ankka.codecs.plan import Plan, Refused
from ankka.codecs.records import Field, Record
from ankka.codecs.scalars import Instant, JsonValue, scalar_plan

_ABSTRACT: Final[dict[Any, type]] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Collection: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}
_INSTEAD: Final = "use a dataclass, a msgspec struct, a TypedDict or a Pydantic model"
_WITH_CONTENT: Final = (list, tuple, dict, set, frozenset, str, bytes, bytearray, int, float)
_BARE_TUPLES: Final = (tuple, typing.Tuple)  # noqa: UP006 - whoever writes the old name gets what the new one means
_UNIONS: Final = (typing.Union, types.UnionType)


def compile_type(annotation: Any, tag: str = "type", names: Mapping[type, str] | None = None, aliases: Mapping[str, type] | None = None) -> Plan:
    """The plan of a type. Raises `CodecError` with all problems, or `UnresolvedType`."""
    compiler = Compiler(tag, names or {}, aliases or {})
    where = type_name(annotation)
    plan = compiler.plan(annotation, where)
    compiler.finish(plan)
    if compiler.problems:
        raise CodecError(where, compiler.problems)
    return plan


class Compiler:
    """Compiles one type and all it is made of; classes once each, so that they may be recursive."""

    def __init__(self, tag: str, names: Mapping[type, str], aliases: Mapping[str, type]) -> None:
        self.problems: list[str] = []
        self._classes: dict[Any, Plan] = {}
        self._in_progress: list[Any] = []
        self._hashed: list[tuple[containers.Unordered, str]] = []
        self.unions: UnionCompiler = UnionCompiler(self, tag, names, aliases)

    def refuse(self, where: str, annotation: Any, problem: str) -> Plan:
        """Note a problem and go on."""
        message = f"{where}: {problem}"
        if message not in self.problems:
            self.problems.append(message)
        return Refused(type_name(annotation))

    def plan(self, annotation: Any, where: str) -> Plan:
        """The plan of an annotation; `where` is what a problem is reported against."""
        constraints = constraints_of(annotation)
        if constraints is not None:
            inner = self.plan(typing.get_args(annotation)[0], where)
            return inner if isinstance(inner, Refused) else Constrained(inner, annotation)
        bare = unwrapped(annotation)
        if bare is not annotation and any(bare is known for known in self._in_progress):
            return self.refuse(where, annotation, "a type alias that refers to itself: use a dataclass for what repeats")
        if isinstance(bare, ForwardRef | str):
            raise UnresolvedType(bare if isinstance(bare, str) else bare.__forward_arg__, where)
        if bare is Any or bare is object:
            return JsonValue("Any" if bare is Any else "object")
        if isinstance(bare, TypeVar):
            return self._type_parameter(bare, where)
        return self._known(bare, where)

    def _type_parameter(self, parameter: TypeVar, where: str) -> Plan:
        if parameter.__constraints__:
            return self.plan(typing.Union[parameter.__constraints__], where)  # noqa: UP007 - from values
        return self.plan(Any if parameter.__bound__ is None else parameter.__bound__, where)

    def _known(self, annotation: Any, where: str) -> Plan:
        origin = typing.get_origin(annotation)
        if origin in _UNIONS:
            self._in_progress.append(annotation)
            try:
                return self.unions.plan(annotation, where)
            finally:
                self._in_progress.pop()
        if origin is typing.Literal:
            return self._literal(annotation, typing.get_args(annotation), where)
        if annotation is typing.LiteralString:
            annotation = str
        cls = _ABSTRACT.get(origin or annotation, origin or annotation)
        if cls in (list, tuple, set, frozenset, dict):
            return self._container(cls, annotation, where)
        if not isinstance(cls, type):
            return self.refuse(where, annotation, f"{type_name(annotation)} is not a type that a codec can hold; {_INSTEAD}")
        return scalar_plan(cls) or self._class(cls, annotation, where)

    def _container(self, cls: type, annotation: Any, where: str) -> Plan:
        arguments = typing.get_args(annotation)
        if cls is dict:
            key, item = arguments or (str, Any)
            return self._mapping(key, item, annotation, where)
        if cls is tuple:
            if arguments[1:] == (...,) or annotation in _BARE_TUPLES:
                return containers.Items(tuple, self.plan(arguments[0] if arguments else Any, where))
            return containers.FixedTuple(tuple(self.plan(argument, where) for argument in arguments))
        item = self.plan(arguments[0] if arguments else Any, where)
        if cls is list:
            return containers.Items(list, item)
        plan = containers.Unordered(cls, item)
        self._hashed.append((plan, where))
        return plan

    def _mapping(self, key: Any, item: Any, annotation: Any, where: str) -> Plan:
        keys, items = self.plan(key, where), self.plan(item, where)
        if not isinstance(keys, Refused) and not mappings.can_be_key(keys):
            return self.refuse(where, annotation, f"{keys.name} cannot be the key of a JSON object; a key may be {mappings.KEYS}")
        return mappings.Mapping(keys, items)

    def _literal(self, annotation: Any, values: tuple[Any, ...], where: str) -> Plan:
        for value in values:
            plain = value.value if isinstance(value, enum.Enum) else value
            if not has_json_form(plain):
                return self.refuse(where, annotation, f"the literal {value!r} has no JSON form; use str, int, bool, None or enum members")
        plan = LiteralChoice(annotation, values)
        if len(plan.values) < len(values):
            return self.refuse(where, annotation, "two of its values have the same JSON form")
        return plan

    def _class(self, cls: Any, annotation: Any, where: str) -> Plan:
        known = self._classes.get(annotation)
        if known is not None:
            return known
        if issubclass(cls, enum.Enum):
            plan = self._enum(cls, where)
        elif cls is Done:
            plan = self.refuse(where, cls, "Done is only ever a whole reply, never a part of a value; use None")
        elif "pydantic" in sys.modules and (model := self._model(cls, annotation, where)) is not None:
            plan = model
        else:
            return self._record(cls, annotation, where)
        self._classes[annotation] = plan
        return plan

    def _enum(self, cls: type[enum.Enum], where: str) -> Plan:
        wrong = [member.name for member in cls if not has_json_form(member.value)]
        if wrong or not cls.__members__:
            reason = f"{', '.join(wrong)} of {cls.__name__} has a value without a JSON form" if wrong else f"{cls.__name__} has no members"
            return self.refuse(where, cls, f"{reason}; enums travel by value, which must be str, int, float, bool or None")
        return Choice(cls)

    def _model(self, cls: type, annotation: Any, where: str) -> Plan | None:
        from ankka.codecs import models  # only here: a program without Pydantic models never loads Pydantic

        if not models.is_model(cls):
            return None
        plan = models.model_plan(cls, annotation, cls.__name__)
        if isinstance(plan, NameError):
            raise UnresolvedType(plan.name or "?", where)
        return self.refuse(where, cls, plan) if isinstance(plan, str) else plan

    def _record(self, cls: Any, annotation: Any, where: str) -> Plan:
        try:
            if dataclasses.is_dataclass(cls):
                return self._dataclass(cast("Any", cls), annotation, where)
            if issubclass(cls, msgspec.Struct):
                return self._struct(cls, annotation)
            if is_typed_dict(cls):
                return self._typed_dict(cls, annotation)
        except NameError as error:
            if isinstance(error, UnresolvedType):
                raise
            raise UnresolvedType(error.name or str(error), type_name(annotation)) from error
        except AttributeError as error:  # a module that is still being imported
            raise UnresolvedType(str(error.name or error), type_name(annotation)) from error
        except (SyntaxError, TypeError) as error:
            return self.refuse(where, annotation, f"the annotations of {type_name(annotation)} cannot be read: {error}")
        return self.refuse(where, annotation, f"{type_name(annotation)} is not a type that a codec can hold; {_INSTEAD}")

    def _dataclass(self, cls: type, annotation: Any, where: str) -> Plan:
        pseudo = classes.init_only_names(cls)
        if pseudo:
            return self.refuse(where, cls, f"InitVar {', '.join(pseudo)} of {cls.__name__} is not kept, so that it could not be made again")
        content = next((base.__name__ for base in cls.__mro__ if base in _WITH_CONTENT), None)
        if content is not None:
            problem = f"{cls.__name__} is a dataclass and a {content} at once, of which only the fields would be kept; make what it holds a field"
            return self.refuse(where, cls, problem)
        plan = classes.DataclassRecord(cls, annotation, type_name(annotation))
        self._classes[annotation] = plan
        hints, standard = class_hints(annotation)
        fields: list[Field] = []
        for name, required, default, factory in classes.dataclass_fields(cls):
            part = self.plan(hints[name], f"{cls.__name__}.{name}")
            fields.append(Field(name, name, part, required, default, factory))
        plan.own_native = standard and not any(not field.required and field.has_no_default for field in fields)
        plan.complete(tuple(fields))
        return plan

    def _struct(self, cls: type, annotation: Any) -> Plan:
        plan = classes.StructRecord(cls, annotation, type_name(annotation))
        self._classes[annotation] = plan
        fields: list[Field] = []
        for name, key, hint, required, default, factory in classes.struct_fields(annotation):
            fields.append(Field(name, key, self.plan(hint, f"{cls.__name__}.{name}"), required, default, factory))
        plan.complete(tuple(fields))
        return plan

    def _typed_dict(self, cls: Any, annotation: Any) -> Plan:
        plan = classes.TypedDictRecord(cls, annotation, type_name(annotation))
        self._classes[annotation] = plan
        hints, plan.own_native = class_hints(annotation)
        required = classes.required_keys(cls, hints)
        fields = [Field(name, name, self.plan(hint, f"{cls.__name__}.{name}"), name in required) for name, hint in hints.items()]
        plan.complete(tuple(fields))
        return plan

    def finish(self, plan: Plan) -> None:
        """What can only be said when the whole tree is there."""
        for unordered, where in self._hashed:
            if not isinstance(unordered.item, Refused) and not unordered.item.is_hashable():
                self.problems.append(
                    f"{where}: {unordered.item.name} is not hashable, so it cannot be in a {unordered.of.__name__}; make it frozen, or use a list"
                )
        self.unions.finish()
        if self.problems:
            return
        for unordered, _ in self._hashed:
            # two of its moments may come back as one, see `check_distinct`; within its items only decoding shows it
            unordered.own_proven = unordered.of_moments or not any(isinstance(part, Instant) for part in unordered.item.reached())
        reached = plan.reached()
        seal(reached)
        foreign = [part for part in reached if _is_foreign_to_msgspec(part)]
        if foreign:
            seal(reached)
        for part in reached:
            if isinstance(part, classes.StructRecord) and part.array_like and (part.lowered or not part.native):
                self.problems.append(f"{part.name}: an array_like struct cannot hold sets or unions of classes; make it an ordinary struct")


def seal(plans: list[Plan]) -> None:
    """Derive the flags of all plans of a tree."""
    for plan in plans:
        plan.seal()
    for plan in plans:
        if isinstance(plan, Record):
            plan.link()


def _is_foreign_to_msgspec(plan: Plan) -> bool:
    """Ask msgspec itself whether it reads a class natively; note it where it does not."""
    if not plan.native or not isinstance(plan, Record):
        return False
    plan.own_native = readable(plan.annotation) is not None
    return not plan.own_native


def readable(annotation: Any) -> Callable[[bytes], Any] | None:
    """msgspec's own decoder for a type, if it has one."""
    try:
        return msgspec.json.Decoder(cast("type[Any]", annotation)).decode
    except (TypeError, NameError, NotImplementedError):  # the last: enums and literals of numbers beyond 64 bits
        return None
