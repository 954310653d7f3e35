"""What can go wrong with a codec.

ValueError ── EncodingError      a value, or bytes, that do not fit: raised by `encode` and `decode`
TypeError ─── CodecError         a type that a codec cannot hold: all problems together
NameError ─── UnresolvedType     a type that names another one which is not defined yet
"""

from collections.abc import Iterable
from typing import Any

from ankka.codecs.describing import found


class EncodingError(ValueError):
    """A value that would not come back equal, or bytes that are not of the type.

    `subject` says what was encoded or decoded, `path` where in it (`$` is the whole), `reason` what is wrong there.

    >>> print(EncodingError("state 'checkout'", "$.items[2].quantity", "expected int, got str 'no'"))
    state 'checkout': $.items[2].quantity: expected int, got str 'no'
    """

    def __init__(self, subject: str, path: str, reason: str) -> None:
        super().__init__(subject, path, reason)
        self.subject = subject
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.subject}: {self.path}: {self.reason}"


class CodecError(TypeError):
    """A type that a codec cannot hold; `problems` lists everything that is wrong with it."""

    def __init__(self, subject: str, problems: Iterable[str]) -> None:
        self.subject = subject
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__(f"no codec for {subject}:" + "".join(f"\n  - {problem}" for problem in self.problems))


class UnresolvedType(NameError):
    """A type refers to `name`, which is not defined (yet): try again when it is."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(f"{where} refers to {name!r}, which is not defined at module level (yet)", name=name)
        self.where = where


class Mismatch(Exception):
    """Inside the codecs: what is wrong, and, collected on the way up, where."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self._segments: list[str] = []

    def within(self, segment: str) -> "Mismatch":
        """The same mismatch, seen from one level further out."""
        self._segments.append(segment)
        return self

    @property
    def path(self) -> str:
        """Where it is, from the outermost value: `$.items[2]`."""
        return "$" + "".join(reversed(self._segments))


class SlowWay(Exception):
    """Inside the codecs: a value that msgspec would not write as it is; it is lowered first."""


class OddOffset(SlowWay):
    """A UTC offset with seconds, which msgspec would cut off."""


class OddFields(SlowWay):
    """A dataclass value without some field of its own, and msgspec writes no others: the class's value shows through."""


def unexpected(expected: str, value: Any) -> Mismatch:
    """The mismatch of a value that is something else than expected."""
    return Mismatch(f"expected {expected}, got {found(value)}")
