"""How a command fails: one exception for all that is said on stderr and ends it with exit code 1.

    CommandFailed
      ├─ Refused      the sidecar answered, and said no
      └─ Unreachable  no sidecar answered

Bad usage (exit code 2) is `typer.BadParameter`.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from ankka.cli.shown import shown


class CommandFailed(Exception):
    """The command could not do what it was asked; the message is shown as it is, so what comes from users is escaped."""


class Unreachable(CommandFailed):
    """No sidecar answers; nothing is known of what was asked, unless the message says so."""


class _Problem(msgspec.Struct, frozen=True):
    """What is read of an `application/problem+json`."""

    detail: str = ""
    code: str = ""
    details: dict[str, object] = {}


class Refused(CommandFailed):
    """The sidecar's answer to a request it did not carry out: `CONFLICT (409): checkout is already charged`."""

    def __init__(self, status: int, code: str, detail: str, details: Mapping[str, object] = MappingProxyType({})) -> None:
        self.status = status
        self.code = code
        self.detail = detail
        self.details = details
        message = f"{shown(code)} ({status}): {shown(detail, lines=True)}"
        if details.get("outcome") == "unknown":
            message += "\nIt may have been done, or may still be: ask for the state before you call again."
        super().__init__(message)

    @classmethod
    def of(cls, status: int, body: bytes) -> "Refused | None":
        """The refusal that a problem document says, or `None` if `body` is none: then it was no sidecar that answered."""
        try:
            problem = msgspec.json.decode(body, type=_Problem)
        except msgspec.MsgspecError:
            return None
        if not problem.code:
            return None
        return cls(status, problem.code, problem.detail, problem.details)
