"""Event sourced entities: commands journal events, and the state is what the events come to."""

from typing import Any, ClassVar, Generic, TypeVar, cast

from ankka.codec import Codec
from ankka.context import CommandContext
from ankka.definition.component import Component, EffectTypes
from ankka.definition.marks import command, query
from ankka.definition.problems import RegistrationError
from ankka.effects.event_sourced import EventSourcedEffect, EventSourcedEffects, ReadOnlyEffect
from ankka.protocol.spec import ComponentKind

__all__ = ["EventSourcedEntity", "RegistrationError", "command", "query"]

S = TypeVar("S")
E = TypeVar("E")


class EventSourcedEntity(Component[S], Generic[S, E]):
    """An entity on a state `S` made of events `E`; subclass it.

    `apply_event` must be a pure function of state and event: it runs again whenever the entity is loaded. One command
    at a time runs on an instance; a snapshot is kept every `snapshot_every` effects, read only if its
    `snapshot_version` is still the class's.

    >>> from ankka.codec import json_codec
    >>> class Counter(EventSourcedEntity[int, int]):
    ...     component_id = "counter"
    ...     state_codec = json_codec(int, "count")
    ...     event_codec = json_codec(int, "added")
    ...     def empty_state(self) -> int:
    ...         return 0
    ...     def apply_event(self, state: int, event: int) -> int:
    ...         return state + event
    ...     @command("add")
    ...     def add(self, number: int) -> EventSourcedEffect[int, int, int]:
    ...         return self.effects.persist(number).then_reply_state()
    >>> from ankka.testkit import EventSourcedTestKit
    >>> EventSourcedTestKit.of(Counter).call("add", 3).reply
    3
    """

    event_codec: ClassVar[Codec[Any]]
    """How its events are stored."""
    snapshot_every: ClassVar[int] = 100
    snapshot_version: ClassVar[int] = 1

    __ankka_kind__ = ComponentKind.EVENT_SOURCED_ENTITY
    __ankka_effects__: ClassVar[EffectTypes] = EffectTypes(command=EventSourcedEffect, query=ReadOnlyEffect, arity=3)

    def apply_event(self, state: S, event: E) -> S:
        """The state after `event`; pure, `self.entity_id` is known."""
        raise NotImplementedError(f"{type(self).__name__} does not define apply_event(state, event)")

    @property
    def effects(self) -> EventSourcedEffects[S, E]:
        """What a command or a query can return."""
        return cast("EventSourcedEffects[S, E]", _EFFECTS)

    @property
    def context(self) -> CommandContext:
        """Who is called, with which metadata, and the client; only while a handler runs."""
        return self._context()


_EFFECTS: EventSourcedEffects[Any, Any] = EventSourcedEffects()
