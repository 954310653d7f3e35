"""What a key value entity's handlers return, and the builders that make it.

    self.effects.update_state(replace(self.state, email=email)).then_reply_state()     a command
    self.effects.reply(self.state)                                                     a query

The reply is computed from the new state.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, Never, TypeVar

from ankka.codec import Done
from ankka.effects.common import ABSENT, Error, ErrorCode, ExpireAfter, Reply, ReplyDone, ReplyState, ReplyValue, error_of, reply_from

S = TypeVar("S")
R = TypeVar("R")
S_co = TypeVar("S_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class KeyValueEffect(Generic[S_co, R_co]):
    """What a command answers: a new state, a deletion, an expiry, and a reply; or an error, and nothing else."""

    reply: Reply = ReplyDone()
    error: Error | None = None
    state: Any = ABSENT
    delete: bool = False
    expire_after: ExpireAfter | None = None


@dataclass(frozen=True, slots=True)
class KeyValueReadOnlyEffect(KeyValueEffect[S_co, R_co]):
    """What a query answers (and a command that changes nothing): a reply or an error."""


@dataclass(frozen=True, slots=True)
class Updating(Generic[S]):
    """A change that still needs its reply: `.then_reply(…)`, `.then_reply_state()` or `.then_no_reply()`."""

    state: Any = ABSENT
    delete: bool = False
    expiry: ExpireAfter | None = None

    def delete_entity(self) -> "Updating[S]":
        """Delete the entity; the state is then the empty one."""
        return replace(self, delete=True)

    def expire_after(self, after: timedelta) -> "Updating[S]":
        """Delete the entity by itself when it has not changed for `after`."""
        return replace(self, expiry=ExpireAfter(after))

    def then_reply(self, function: Callable[[S], R]) -> KeyValueEffect[S, R]:
        """Reply with what `function` makes of the new state, once it is journalled."""
        return KeyValueEffect(reply_from(function), None, self.state, self.delete, self.expiry)

    def then_reply_state(self) -> KeyValueEffect[S, S]:
        """Reply with the new state."""
        return KeyValueEffect(ReplyState(), None, self.state, self.delete, self.expiry)

    def then_no_reply(self) -> KeyValueEffect[S, Done]:
        """Reply with nothing; the caller sees `Done`."""
        return KeyValueEffect(ReplyDone(), None, self.state, self.delete, self.expiry)


class KeyValueEffects(Generic[S]):
    """`self.effects` of a key value entity."""

    __slots__ = ()

    def update_state(self, state: S) -> Updating[S]:
        """Replace the state, whole."""
        return Updating(state)

    def delete_entity(self) -> Updating[S]:
        """Delete the entity: its journal is removed, its state is the empty one."""
        return Updating(delete=True)

    def reply(self, value: R) -> KeyValueReadOnlyEffect[S, R]:
        """Reply and change nothing."""
        return KeyValueReadOnlyEffect(ReplyValue(value))

    def no_reply(self) -> KeyValueReadOnlyEffect[S, Done]:
        """Change nothing and say nothing; the caller sees `Done`."""
        return KeyValueReadOnlyEffect(ReplyDone())

    def error(self, message: str, code: ErrorCode = ErrorCode.BAD_REQUEST) -> KeyValueReadOnlyEffect[S, Never]:
        """Refuse. Nothing is journalled."""
        return KeyValueReadOnlyEffect(error=error_of(message, code))
