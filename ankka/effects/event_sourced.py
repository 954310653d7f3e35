"""What an event sourced entity's handlers return, and the builders that make it.

    self.effects.persist(ItemAdded("pen", 2)).then_reply(lambda cart: cart.total)      a command
    self.effects.reply(self.state)                                                     a query

The reply is computed from the state after the events.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, Never, TypeVar

from ankka.codec import Done
from ankka.effects.common import Error, ErrorCode, ExpireAfter, Reply, ReplyDone, ReplyState, ReplyValue, error_of, reply_from

S = TypeVar("S")
E = TypeVar("E")
R = TypeVar("R")
S_co = TypeVar("S_co", covariant=True)
E_co = TypeVar("E_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class EventSourcedEffect(Generic[S_co, E_co, R_co]):
    """What a command answers: events, a deletion, an expiry, and a reply; or an error, and nothing else."""

    reply: Reply = ReplyDone()
    error: Error | None = None
    events: tuple[Any, ...] = ()
    delete: bool = False
    expire_after: ExpireAfter | None = None


@dataclass(frozen=True, slots=True)
class ReadOnlyEffect(EventSourcedEffect[S_co, E_co, R_co]):
    """What a query answers (and a command that changes nothing): a reply or an error."""


@dataclass(frozen=True, slots=True)
class Persisting(Generic[S, E]):
    """A change that still needs its reply: `.then_reply(…)`, `.then_reply_state()` or `.then_no_reply()`."""

    events: tuple[Any, ...] = ()
    delete: bool = False
    expiry: ExpireAfter | None = None

    def delete_entity(self) -> "Persisting[S, E]":
        """Delete the entity, after the events; the state is then the empty one."""
        return replace(self, delete=True)

    def expire_after(self, after: timedelta) -> "Persisting[S, E]":
        """Delete the entity by itself when it has not changed for `after`."""
        return replace(self, expiry=ExpireAfter(after))

    def then_reply(self, function: Callable[[S], R]) -> EventSourcedEffect[S, E, R]:
        """Reply with what `function` makes of the state after the events, once they are journalled."""
        return EventSourcedEffect(reply_from(function), None, self.events, self.delete, self.expiry)

    def then_reply_state(self) -> EventSourcedEffect[S, E, S]:
        """Reply with the state after the events."""
        return EventSourcedEffect(ReplyState(), None, self.events, self.delete, self.expiry)

    def then_no_reply(self) -> EventSourcedEffect[S, E, Done]:
        """Reply with nothing; the caller sees `Done`."""
        return EventSourcedEffect(ReplyDone(), None, self.events, self.delete, self.expiry)


class EventSourcedEffects(Generic[S, E]):
    """`self.effects` of an event sourced entity."""

    __slots__ = ()

    def persist(self, event: E, *more: E) -> Persisting[S, E]:
        """Journal one event or several, all or none."""
        return Persisting((event, *more))

    def persist_all(self, events: Iterable[E]) -> Persisting[S, E]:
        """Journal these events, all or none; with no events nothing is journalled."""
        return Persisting(tuple(events))

    def delete_entity(self) -> Persisting[S, E]:
        """Delete the entity: its journal is removed, its state is the empty one."""
        return Persisting(delete=True)

    def reply(self, value: R) -> ReadOnlyEffect[S, E, R]:
        """Reply and change nothing."""
        return ReadOnlyEffect(ReplyValue(value))

    def no_reply(self) -> ReadOnlyEffect[S, E, Done]:
        """Change nothing and say nothing; the caller sees `Done`."""
        return ReadOnlyEffect(ReplyDone())

    def error(self, message: str, code: ErrorCode = ErrorCode.BAD_REQUEST) -> ReadOnlyEffect[S, E, Never]:
        """Refuse. Nothing is journalled."""
        return ReadOnlyEffect(error=error_of(message, code))
