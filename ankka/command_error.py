"""The exception a refused or failed call raises; public as `ankka.client.CommandError`."""

from typing import Any

from ankka.protocol.errors import Error, ErrorCode


class CommandError(Exception):
    """A call was refused or failed; `.error` has `.code`, `.message` and `.details`.

    Raised in a handler it is that handler's refusal, so a refusal passes through a call chain as it is. In details,
    `{"outcome": "unknown"}` says that the call may have been done; `UNAVAILABLE` says that it certainly was not.

    >>> raise CommandError("no such cart", ErrorCode.NOT_FOUND)
    Traceback (most recent call last):
    ankka.command_error.CommandError: NOT_FOUND: no such cart
    """

    def __init__(self, message: str | Error, code: ErrorCode = ErrorCode.BAD_REQUEST, details: dict[str, Any] | None = None) -> None:
        self.error: Error = message if isinstance(message, Error) else Error(code, message, details or {})
        super().__init__(self.error)

    def __str__(self) -> str:
        return f"{self.error.code}: {self.error.message}"
