"""What effects of all kinds share: refusals, expiry, and how a reply is made."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from ankka.definition.settings import check_duration
from ankka.protocol.errors import Error, ErrorCode

__all__ = ["ABSENT", "Absent", "Error", "ErrorCode", "ExpireAfter", "Reply", "ReplyDone", "ReplyFrom", "ReplyState", "ReplyValue", "error_of"]


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""No value was set, where `None` would be one."""


@dataclass(frozen=True, slots=True)
class ExpireAfter:
    """The instance is deleted when it has not changed for `after`.

    >>> ExpireAfter(timedelta(days=30)).after.days
    30
    """

    after: timedelta

    def __post_init__(self) -> None:
        check_duration(self.after, "expire_after")


@dataclass(frozen=True, slots=True)
class ReplyValue:
    """Reply with this value."""

    value: Any


@dataclass(frozen=True, slots=True)
class ReplyFrom:
    """Reply with what the function makes of the new state."""

    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ReplyState:
    """Reply with the new state."""


@dataclass(frozen=True, slots=True)
class ReplyDone:
    """Nothing to say: answered like `Done`."""


Reply = ReplyValue | ReplyFrom | ReplyState | ReplyDone


def reply_from(function: object) -> ReplyFrom:
    """The reply a `then_reply` asks for; `ValueError` if it was given a value instead of a function."""
    if not callable(function):
        raise ValueError(f"then_reply({function!r}) needs a function of the new state; write then_reply(lambda state: …)")
    return ReplyFrom(function)


def error_of(message: object, code: object) -> Error:
    """The error of a refusal or a failure; `ValueError` if code or message cannot be one.

    >>> error_of("already started", "CONFLICT")
    Error(code=<ErrorCode.CONFLICT: 'CONFLICT'>, message='already started', details={})
    """
    try:
        known = ErrorCode(str(code))
    except ValueError:
        raise ValueError(f"{code!r} is no error code; use a member of ErrorCode: {', '.join(ErrorCode)}") from None
    return Error(known, str(message))
