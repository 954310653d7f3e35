"""The decorators: they mark a method as a handler under its wire name and give it back unchanged.

The wire name is the contract with callers and with the journal; the method's name is not. The decorators are typed as
identities, so a checker keeps seeing the function itself; a class reads the marks when it is defined.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from types import FrameType
from typing import Any, TypeVar, cast

from ankka.definition.problems import RegistrationError

F = TypeVar("F", bound=Callable[..., Any])

MARKS = "__ankka_marks__"
"""Attribute of a marked function; in a class body, the list of all marks made there."""


class Role(Enum):
    """What a marked method is."""

    COMMAND = "command"
    QUERY = "query"
    STEP = "step"


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """One use of a decorator. Compared by identity, so that a mark whose method was replaced is noticed."""

    role: Role
    name: str
    method: str
    aliases: tuple[str, ...] = ()


def command(name: str) -> Callable[[F], F]:
    """Mark a method as the command `name`: it may change the state, and replies.

    >>> @command("start")
    ... def start(self, mode: str): ...
    """
    return _marker(Role.COMMAND, name, (), _body(inspect.currentframe()))


def query(name: str) -> Callable[[F], F]:
    """Mark a method as the query `name`: it reads the last journalled state and replies; it changes nothing.

    >>> @query("status")
    ... def status(self): ...
    """
    return _marker(Role.QUERY, name, (), _body(inspect.currentframe()))


def step(name: str, aliases: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Mark a method as the workflow step `name`; `aliases` are names it had before, still in the journal.

    >>> @step("charge", aliases=("pay",))
    ... async def charge(self): ...
    """
    return _marker(Role.STEP, name, aliases, _body(inspect.currentframe()))


def _body(frame: FrameType | None) -> dict[str, Any]:
    """The names of whoever called the function of `frame`: in a class body, those of the class being made."""
    return {} if frame is None or frame.f_back is None else frame.f_back.f_locals


def _marker(role: Role, name: object, aliases: object, namespace: dict[str, Any]) -> Callable[[F], F]:
    if not isinstance(name, str):
        raise RegistrationError([f'@{role.value} needs the wire name: write @{role.value}("name")'], f"@{role.value} got {name!r}")
    listed: tuple[object, ...] = (aliases,) if isinstance(aliases, str) else tuple(cast("Iterable[object]", aliases))
    names = tuple(alias for alias in listed if isinstance(alias, str))
    if names != listed:
        raise RegistrationError(["aliases are wire names, texts"], f'@{role.value}("{name}") got aliases={aliases!r}')

    def mark_it(function: F) -> F:
        mark = Mark(role, name, getattr(function, "__name__", repr(function)), names)
        try:
            setattr(function, MARKS, (*marks_of(function), mark))
        except AttributeError:
            problem = f"a method is expected, not a {type(function).__name__}; put @{role.value} directly above `def`"
            raise RegistrationError([problem], f'@{role.value}("{name}")') from None
        if "__qualname__" in namespace and "__module__" in namespace:  # a class body: lets the class miss what was replaced
            namespace.setdefault(MARKS, []).append(mark)
        return function

    return mark_it


def marks_of(function: object) -> tuple[Mark, ...]:
    """The marks of a function, none if it has no decorator of ours."""
    marks = getattr(function, MARKS, ())
    return cast("tuple[Mark, ...]", marks) if isinstance(marks, tuple) else ()


def step_name(target: object) -> str:
    """The wire name of a step given by name or by its method; `ValueError` for anything else.

    >>> @step("charge")
    ... def pay(self): ...
    >>> step_name(pay), step_name("charge")
    ('charge', 'charge')
    """
    if isinstance(target, str):
        return target
    for mark in marks_of(target):
        if mark.role is Role.STEP:
            return mark.name
        raise ValueError(f"{mark.method} is the {mark.role.value} {mark.name!r}, not a step; a transition goes to a step")
    if callable(target):
        raise ValueError(f'{getattr(target, "__qualname__", target)!s} is not a step; mark it with @step("…") or name a step')
    raise ValueError(f"{target!r} names no step: give its wire name, or the method itself")
