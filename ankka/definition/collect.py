"""The marked methods of a class with their marks, in the order they were written; what is wrong with names."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Generic, cast

from ankka.definition.component import Component
from ankka.definition.marks import MARKS, Mark, Role, marks_of
from ankka.definition.problems import Findings
from ankka.protocol.ids import RESERVED_PREFIX

Marked = tuple[Mark, Callable[..., Any]]


def collect_marked(cls: type[Component[Any]], findings: Findings) -> list[Marked]:
    """The handlers and steps of a class, inherited ones too."""
    marked: list[Marked] = []
    for method, value, owner in members(cls):
        marks = marks_of(value)
        first = next(iter(marks), None)
        if first is None:
            _overridden(cls, method, owner, findings)
            continue
        if len(marks) > 1:
            listed = ", ".join(f'@{mark.role.value}("{mark.name}")' for mark in marks)
            findings.add(f"{method} has {len(marks)} marks ({listed}); a method is one handler")
        if not _is_method(value):
            findings.add(f"{method} is a {type(value).__name__}; a handler is an ordinary method")
            continue
        if hasattr(Component, method) or method in _RESERVED:
            findings.add(f"the method {method!r} hides self.{method}; name the method otherwise, its wire name may stay {first.name!r}")
        marked.append((first, cast("Callable[..., Any]", value)))
    _lost(cls, findings)
    _names(cls, [mark for mark, _ in marked], findings)
    return marked


_RESERVED = {"context", "effects", "step_effects", "settings", "merge_state", "apply_event", "event_codec", "snapshot_every", "snapshot_version"}


def _is_method(value: object) -> bool:
    return callable(value) and not isinstance(value, staticmethod | classmethod)


def is_ours(owner: type[Any]) -> bool:
    """Whether a class of a method resolution order is Ankka's or Python's own, not the user's."""
    return owner is Component or owner in (object, Generic) or "__ankka_kind__" in vars(owner)


def members(cls: type[Any]) -> Iterator[tuple[str, Any, type[Any]]]:
    """Attributes of the user's classes: name, value, and the class it is from; overridden ones as they are now."""
    found: dict[str, tuple[Any, type[Any]]] = {}
    for owner in reversed(cls.__mro__):
        if not is_ours(owner):
            found |= {name: (value, owner) for name, value in vars(owner).items()}
    for name, (value, owner) in found.items():
        yield name, value, owner


def _overridden(cls: type[Any], method: str, owner: type[Any], findings: Findings) -> None:
    """A plain method over an inherited handler would silently take the handler away."""
    if not inspect.isfunction(vars(owner).get(method)):
        return
    for base in cls.__mro__[cls.__mro__.index(owner) + 1 :]:
        for mark in marks_of(vars(base).get(method)):
            decorator = f'@{mark.role.value}("{mark.name}")'
            findings.add(f"{method} replaces the {mark.role.value} {mark.name!r} of {base.__qualname__} without a decorator; add {decorator}")
            return


def _lost(cls: type[Any], findings: Findings) -> None:
    """Marks made in a class body whose method is not there any more."""
    for owner in cls.__mro__:
        made = vars(owner).get(MARKS, [])
        kept = {mark for value in vars(owner).values() for mark in marks_of(value)}
        for mark in made:
            if mark not in kept:
                why = f"another {mark.method!r} replaces it further down, or a decorator above it hides it (use functools.wraps)"
                findings.add(f"the {mark.role.value} {mark.name!r} is lost: {why}")


def _names(cls: type[Any], marks: list[Mark], findings: Findings) -> None:
    taken: dict[tuple[bool, str], str] = {}
    for mark in marks:
        is_step = mark.role is Role.STEP
        for name in (mark.name, *mark.aliases):
            where = f"{mark.role.value} {name!r} ({mark.method})"
            if not name.strip() or not name.isprintable():
                findings.add(f"{where}: a wire name is a text that can be printed")
            elif name.startswith(RESERVED_PREFIX):
                findings.add(f"{where}: names that begin with {RESERVED_PREFIX!r} are reserved")
            other = taken.setdefault((is_step, name), mark.method)
            if other != mark.method:
                kind = "steps" if is_step else "handlers"
                findings.add(f"two {kind} have the wire name {name!r}: {other} and {mark.method}")
        if is_step and cls.__ankka_effects__.step is None:
            findings.add(f"step {mark.name!r} ({mark.method}): only a workflow has steps")
