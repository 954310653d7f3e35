"""One row of an instance as the checkers get it: decoded, and with what replay says about it."""

from __future__ import annotations

import msgspec

from ankka_sidecar.core.events import AnyEvent
from ankka_sidecar.core.records import AnyRecord
from ankka_sidecar.ports.journal import Row


class Line(msgspec.Struct, frozen=True, gc=False):
    """A row and its surroundings; what could not be decoded, or is not known because rows are missing, is `None`.

    `event` and `record` are what the row holds, `before` is the record before it and `folded` the record after it by
    replay. `impossible` says why the core would not fold `event` onto `before`. `previous` is the instance's row before
    this one, of whatever generation.
    """

    row: Row
    state_sequence: int | msgspec.UnsetType | None
    previous: Row | None
    event: AnyEvent | None
    record: AnyRecord | None
    before: AnyRecord | None
    folded: AnyRecord | None
    impossible: str | None
    unreadable: str | None
    """Why event or record could not be decoded."""

    @property
    def begins(self) -> bool:
        """It is the first of its generation that is there."""
        return self.previous is None or self.previous.generation != self.row.generation

    @property
    def follows(self) -> bool:
        """The row before it in its generation is there."""
        previous = self.previous
        return previous is not None and previous.generation == self.row.generation and previous.sequence == self.row.sequence - 1

    @property
    def after(self) -> AnyRecord | None:
        """The record after it: events are the truth, so replay's, and the stored one only where replay has none."""
        return self.folded if self.folded is not None else self.record
