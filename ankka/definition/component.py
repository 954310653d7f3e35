"""What all component classes share: they are defined when Python defines them, and live for one call.

An object is made for one call, given its identity, state and context, and dropped after it: attributes do not survive.
A class that inherits `abc.ABC` directly, has abstract methods, or type parameters of its own is abstract: it may hold
handlers for its subclasses, nothing of it is checked until one of them is concrete. A subclass inherits handlers and
settings, and `component_id` too unless it sets its own.
"""

import abc
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

from ankka.codec import Codec
from ankka.context import CommandContext
from ankka.effects.common import ABSENT
from ankka.protocol.spec import ComponentKind

S = TypeVar("S")


@dataclass(slots=True)
class Scope:
    """What an object knows during its call. State and context are there only while a handler runs."""

    entity_id: str
    state: Any = ABSENT
    context: CommandContext | None = None

    def close(self) -> None:
        """The call is over."""
        self.state = ABSENT
        self.context = None


@dataclass(frozen=True, slots=True)
class EffectTypes:
    """The effects a kind's handlers return, and how many type arguments each has; steps only in workflows."""

    command: type[Any]
    query: type[Any]
    arity: int
    step: type[Any] | None = None


class Component(Generic[S]):
    """A workflow or an entity."""

    component_id: ClassVar[str]
    """The name callers and the journal know it by."""
    state_codec: ClassVar[Codec[Any]]
    """How its state is stored."""

    __ankka_kind__: ClassVar[ComponentKind]
    __ankka_effects__: ClassVar[EffectTypes]
    __ankka_locals__: ClassVar[Mapping[str, Any]] = {}
    __ankka_scope__: Scope | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_abstract(cls):
            return
        from ankka.definition.build import check_at_definition

        cls.__ankka_locals__ = _locals_around(cls)
        check_at_definition(cls)

    def empty_state(self) -> S:
        """The state before anything happened; `self.entity_id` is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define empty_state()")

    @property
    def entity_id(self) -> str:
        """The instance's id; also in `empty_state` and `apply_event`."""
        return self._scope("entity_id").entity_id

    @property
    def state(self) -> S:
        """The state of the instance as of its last journalled effect; only while a handler runs."""
        state = self._scope("state").state
        if state is ABSENT:
            raise RuntimeError(f"{type(self).__name__}.state is there only while a handler runs")
        return cast("S", state)

    def _scope(self, what: str) -> Scope:
        scope = self.__ankka_scope__
        if scope is None:
            raise RuntimeError(f"{type(self).__name__}.{what} is there only while a handler runs; to try one by hand use a test kit")
        return scope

    def _context(self) -> CommandContext:
        context = self._scope("context").context
        if context is None:
            raise RuntimeError(f"{type(self).__name__}.context is there only while a handler runs")
        return context


def is_abstract(cls: type[Any]) -> bool:
    """Whether the class is only there to be inherited from.

    >>> is_abstract(Component)
    True
    """
    if abc.ABC in cls.__bases__ or cls.__dict__.get("__parameters__"):
        return True
    return any(getattr(value, "__isabstractmethod__", None) is True for value in vars(cls).values())


def _locals_around(cls: type[Any]) -> Mapping[str, Any]:
    """The local names where the class is being defined inside a function, so that its annotations can be read."""
    frame = inspect.currentframe()
    while frame is not None and (frame.f_globals.get("__name__") != cls.__module__ or frame.f_globals is globals()):
        frame = frame.f_back
    return {} if frame is None or frame.f_code.co_name == "<module>" else dict(frame.f_locals)
