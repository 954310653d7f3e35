"""What a check finds: where, what was expected, what is there, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from ankka_sidecar.ports.journal import Row

BUG: Final = "keep a copy of the journal, leave this instance alone, and report it: a file that was not edited shows a bug of Ankka here"
"""What to do about rows that the engine should never have written."""

REBUILD: Final = "the journal itself is not concerned: the listing is a cache, which `ankka journal rebuild` makes anew"
"""What to do about a wrong listing."""

_LONGEST: Final = 240


class Violation(msgspec.Struct, frozen=True):
    """An invariant that does not hold at one place of a journal.

    `rule` is a key of `INVARIANTS`. `generation` and `sequence` are `None` where the whole instance is meant, and
    `component` and `instance` are empty where the whole journal is. A warning does not make a journal unclean.

    >>> print(Violation("I1", "two rows", "one", "two", "report it", "checkout", "c1", 1700, 4))
    I1 checkout/c1 generation 1700 sequence 4: two rows (expected one, found two); report it
    """

    rule: str
    what: str
    expected: str
    found: str
    advice: str
    component: str = ""
    instance: str = ""
    generation: int | None = None
    sequence: int | None = None
    warning: bool = False

    @property
    def place(self) -> str:
        """Where it is, for people; empty where the whole journal is meant."""
        if not self.component:
            return ""
        generation = "" if self.generation is None else f" generation {self.generation}"
        sequence = "" if self.sequence is None else f" sequence {self.sequence}"
        return f"{self.component}/{self.instance}{generation}{sequence}"

    def __str__(self) -> str:
        place = f" {self.place}" if self.place else ""
        return f"{self.rule}{place}: {self.what} (expected {self.expected}, found {self.found}); {self.advice}"


def at_row(row: Row, rule: str, what: str, *, expected: object, found: object, advice: str = BUG, warning: bool = False) -> Violation:
    """A violation at a row."""
    return Violation(rule, what, str(expected), str(found), advice, row.component, row.instance, row.generation, row.sequence, warning)


Data = TypeVar("Data", bound=msgspec.Struct)


def differences(expected: Data, found: Data) -> tuple[str, str]:
    """The fields of two structs of one type that differ, as `(expected, found)`; nested structs by their fields.

    >>> from ankka_sidecar.core.records import EntityRecord
    >>> differences(EntityRecord(100, 2), EntityRecord(100, 3))
    ('sequence=2', 'sequence=3')
    """
    pairs = list(_differing("", expected, found))
    return tuple(_shortened(", ".join(f"{name}={pair[side]!r}" for name, *pair in pairs)) for side in (0, 1))  # type: ignore[return-value]


def _differing(prefix: str, expected: msgspec.Struct, found: msgspec.Struct) -> Iterator[tuple[str, Any, Any]]:
    for name in expected.__struct_fields__:
        one, other = getattr(expected, name), getattr(found, name)
        if one == other:
            continue
        if isinstance(one, msgspec.Struct) and type(one) is type(other):
            yield from _differing(f"{prefix}{name}.", one, other)
        else:
            yield f"{prefix}{name}", one, other


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
