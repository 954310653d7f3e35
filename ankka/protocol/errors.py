"""Error codes and the error value that a refusal carries, from the process to whoever called."""

from enum import StrEnum
from typing import Any

import msgspec


class ErrorCode(StrEnum):
    """Why a call was refused. `http_status` is the status the HTTP API answers with.

    >>> ErrorCode.CONFLICT.http_status
    409
    """

    INTERNAL = "INTERNAL"
    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    TIMEOUT = "TIMEOUT"
    UNAVAILABLE = "UNAVAILABLE"
    WORKFLOW_FAILED = "WORKFLOW_FAILED"
    TOO_LARGE = "TOO_LARGE"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"

    @property
    def http_status(self) -> int:
        """The HTTP status of this code."""
        return _HTTP_STATUS[self]


_HTTP_STATUS = {
    ErrorCode.INTERNAL: 500,
    ErrorCode.BAD_REQUEST: 400,
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.FORBIDDEN: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.CONFLICT: 409,
    ErrorCode.TIMEOUT: 504,
    ErrorCode.UNAVAILABLE: 503,
    ErrorCode.WORKFLOW_FAILED: 424,
    ErrorCode.TOO_LARGE: 413,
    ErrorCode.RESOURCE_EXHAUSTED: 429,
}


class Error(msgspec.Struct, frozen=True):
    """A refusal as data: what went wrong (`code`), in words (`message`), and machine-readable `details`."""

    code: ErrorCode
    message: str
    details: dict[str, Any] = {}


def clean_text(text: str) -> str:
    r"""`text` with NUL and lone surrogates escaped, so that every store and every JSON reader takes it.

    >>> clean_text("a\x00b")
    'a\\x00b'
    """
    cleaned = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return cleaned.replace("\x00", "\\x00")
