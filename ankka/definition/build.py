"""From a class to its definition, or to everything that is wrong with it.

class statement ──► check_at_definition ──► RegistrationError      something is wrong
                                        ──► kept                   all is known
                                        ──► later                  a type is not known yet
registration    ──► definition_of       ──► kept, or RegistrationError with what is still wrong
"""

import inspect
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any, TypeGuard

from ankka.codec import Codec
from ankka.definition.collect import collect_marked, is_ours
from ankka.definition.component import Component, is_abstract
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition, StepDefinition
from ankka.definition.flow import check_failovers, check_targets, resolved_settings, with_settings
from ankka.definition.held import check_held
from ankka.definition.marks import Mark, Role
from ankka.definition.problems import Findings, RegistrationError
from ankka.definition.signatures import SignatureReader, resolves
from ankka.protocol.ids import RESERVED_PREFIX
from ankka.protocol.spec import ComponentKind

_DEFINITION = "__ankka_definition__"


def check_at_definition(cls: type[Component[Any]]) -> None:
    """Define the class as far as its types are known; `RegistrationError` with all that is wrong."""
    findings = Findings()
    definition = _build(cls, findings)
    if findings.problems:
        raise RegistrationError(findings.problems, f"{cls.__name__} cannot be used")
    if not findings.unresolved:
        setattr(cls, _DEFINITION, definition)
        cls.__ankka_locals__ = {}


def definition_of(cls: type[Any]) -> ComponentDefinition:
    """The definition of a component class; `RegistrationError` with all that is wrong, or still unknown.

    >>> definition_of(dict)
    Traceback (most recent call last):
    ankka.definition.problems.RegistrationError: dict cannot be registered: it is no component; inherit Workflow, EventSourcedEntity or KeyValueEntity
    """
    title = f"{getattr(cls, '__name__', cls)} cannot be registered"
    if isinstance(cls, Component):
        name = type(cls).__name__
        raise RegistrationError([f"register the class, not an object: .register({name})"], f"an object of {name} cannot be registered")
    if not _is_component(cls):
        raise RegistrationError(["it is no component; inherit Workflow, EventSourcedEntity or KeyValueEntity"], title)
    known = vars(cls).get(_DEFINITION)
    if isinstance(known, ComponentDefinition):
        return known
    if is_abstract(cls):
        raise RegistrationError(["it is abstract; register a subclass that fills it in"], title)
    findings = Findings()
    definition = _build(cls, findings)
    if findings.problems or findings.unresolved or definition is None:
        raise RegistrationError([*findings.problems, *findings.unresolved], title)
    setattr(cls, _DEFINITION, definition)
    return definition


def _build(cls: type[Component[Any]], findings: Findings) -> ComponentDefinition | None:
    """The definition; `None` if `findings` got anything that stands in its way."""
    component_id = _component_id(cls, findings)
    state_codec = _codec(cls, "state_codec", findings)
    is_event_sourced = cls.__ankka_kind__ is ComponentKind.EVENT_SOURCED_ENTITY
    event_codec = _codec(cls, "event_codec", findings) if is_event_sourced else None
    _required_methods(cls, findings)
    if is_event_sourced:
        _snapshots(cls, findings)
    elif cls.__ankka_kind__ is ComponentKind.WORKFLOW:
        _merge_state(cls, findings)
    marked = collect_marked(cls, findings)
    handlers, steps = _handlers(cls, marked, findings)
    settings = resolved_settings(cls, steps, findings)
    if cls.__ankka_effects__.step is not None:
        check_targets(cls, steps, findings)
        check_failovers(settings, steps, findings)
    if findings.problems or findings.unresolved or state_codec is None:
        return None
    return ComponentDefinition(
        component_id=component_id,
        kind=cls.__ankka_kind__,
        cls=cls,
        state_codec=state_codec,
        handlers=MappingProxyType(handlers),
        steps=MappingProxyType(with_settings(steps, settings)),
        event_codec=event_codec,
        settings=settings,
        snapshot_every=getattr(cls, "snapshot_every", 100),
        snapshot_version=getattr(cls, "snapshot_version", 1),
    )


def _is_component(cls: object) -> TypeGuard[type[Component[Any]]]:
    return isinstance(cls, type) and issubclass(cls, Component)


def _is_codec(value: object) -> TypeGuard[Codec[Any]]:
    return isinstance(value, Codec)


def _component_id(cls: type[Any], findings: Findings) -> str:
    name: object = getattr(cls, "component_id", None)
    if name is None:
        findings.add('component_id is missing; give it the name callers use: component_id = "checkout"')
    elif not isinstance(name, str) or not name.strip() or not name.isprintable():
        findings.add(f"component_id is {name!r}; a text that can be printed is expected")
    elif name.startswith(RESERVED_PREFIX):
        findings.add(f"component_id {name!r} begins with {RESERVED_PREFIX!r}, which is reserved")
    else:
        return name
    return ""


def _codec(cls: type[Any], attribute: str, findings: Findings) -> Codec[Any] | None:
    codec: object = getattr(cls, attribute, None)
    if codec is None:
        what = attribute.removesuffix("_codec")
        findings.add(f'{attribute} is missing; say how its {what} is stored: {attribute} = json_codec({what.title()}, "{what}")')
        return None
    if not _is_codec(codec):
        findings.add(f"{attribute} is {codec!r}; a codec is expected, as json_codec(…) makes it")
        return None
    check_held(cls, attribute, codec, findings)
    return codec if resolves(codec, attribute, findings) else None


def _required_methods(cls: type[Any], findings: Findings) -> None:
    required = {"empty_state": "empty_state(self): the state before anything happened"}
    if cls.__ankka_kind__ is ComponentKind.EVENT_SOURCED_ENTITY:
        required["apply_event"] = "apply_event(self, state, event): the state after an event"
    for method, line in required.items():
        function = getattr(cls, method)
        if is_ours(next(owner for owner in cls.__mro__ if method in vars(owner))):
            findings.add(f"{method} is missing; define {line}")
        elif inspect.iscoroutinefunction(function):
            findings.add(f"{method} must not be async: it is run while the state is being made")


def _snapshots(cls: type[Any], findings: Findings) -> None:
    for attribute, least in (("snapshot_every", 1), ("snapshot_version", 0)):
        value: object = getattr(cls, attribute)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            findings.add(f"{attribute} is {value!r}; a whole number of {least} or more is expected")


def _merge_state(cls: type[Any], findings: Findings) -> None:
    """An override of `merge_state` can be called as the runtime calls it."""
    function: object = inspect.getattr_static(cls, "merge_state", None)
    line = "define merge_state(self, base, current, mine): the state that holds both changes"
    if not inspect.isfunction(function):
        findings.add(f"merge_state is a {type(function).__name__}; {line}")
        return
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        findings.add("merge_state must not be async: it decides on its arguments alone")
    try:
        inspect.signature(function).bind(None, None, None, None)
    except TypeError:
        findings.add(f"merge_state takes ({', '.join(inspect.signature(function).parameters)}); {line}")


def _handlers(
    cls: type[Component[Any]], marked: Iterable[tuple[Mark, Any]], findings: Findings
) -> tuple[dict[str, HandlerDefinition], dict[str, StepDefinition]]:
    reader = SignatureReader(cls, cls.__ankka_effects__, cls.__ankka_locals__, findings)
    handlers: dict[str, HandlerDefinition] = {}
    steps: dict[str, StepDefinition] = {}
    for mark, function in marked:
        signature = reader.read(mark, function)
        is_async = inspect.iscoroutinefunction(function)
        summary = next(iter((inspect.getdoc(function) or "").splitlines()), "")
        if mark.role is Role.STEP:  # also one that is not usable: its name is declared
            steps.setdefault(mark.name, StepDefinition(mark.name, mark.method, function, is_async, signature.input, mark.aliases, summary=summary))
        elif signature.usable and signature.reply_codec is not None:
            read_only = mark.role is Role.QUERY
            definition = HandlerDefinition(
                mark.name, mark.method, function, read_only, is_async, signature.input, signature.reply, signature.reply_codec, summary
            )
            handlers.setdefault(mark.name, definition)
    return handlers, steps
