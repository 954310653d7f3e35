"""I1: (instance, generation, sequence) is unique and without gaps; a generation begins after the one before was deleted."""

from __future__ import annotations

from ankka_sidecar.core.records import KeyValueRecord
from ankka_sidecar.ports.journal import DELETED, Row
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import BUG, Violation, at_row

RULE = "I1"
LOST = f"rows are lost; restore a backup if there is one, otherwise {BUG}"
MOST_GAPS = 100
"""Gaps of one generation that are kept until it is known whether it was deleted, and so pruned."""


class Places(Checker):
    """See the module.

    Of a deleted generation any row before its end may be gone: the oldest without a key were pruned first, and those
    with a key when it had been forgotten. So a gap counts only where the generation lives; and not in a key value
    entity's, of which old rows go behind the first.
    """

    def begin(self, scene: Scene) -> None:
        self._gaps: list[Violation] = []

    def line(self, line: Line) -> None:
        row, previous = line.row, line.previous
        if line.begins:
            self._flush(previous)
            if previous is not None and previous.type != DELETED:
                self._say(row, "a generation begins while the one before it lives", "a deletion before it", f"{previous.type} at its end")
            if row.sequence != 1:
                self._gap(row, 1)
            elif line.event is not None and row.generation < line.event.at:
                self._say(row, "a generation is older than its first event", f"{line.event.at} or above", row.generation)
        elif previous is not None:
            if row.sequence == previous.sequence:
                self._say(row, "two rows have one place", "one row", "another one")
            elif row.sequence != previous.sequence + 1 and not isinstance(line.record, KeyValueRecord):
                self._gap(row, previous.sequence + 1)
            if previous.type == DELETED:
                self._say(row, "a row behind the deletion of its generation", "nothing, or a new generation", row.type)
        self._agrees(line)

    def end(self, scene: Scene, last: Line | None) -> None:
        self._flush(None if last is None else last.row)

    def _agrees(self, line: Line) -> None:
        """The record knows its own place; where it is not the fold, that is said elsewhere (I6)."""
        row, record = line.row, line.record
        if record is None or record.sequence == 0 or (line.folded is not None and line.folded != record):
            return
        if record.sequence != row.sequence or record.generation < row.generation:
            found = f"generation {record.generation} sequence {record.sequence} in its record"
            self._say(row, "a row that is not at its place", f"generation {row.generation} sequence {row.sequence}", found)

    def _say(self, row: Row, what: str, expected: str, found: object) -> None:
        self.report(at_row(row, RULE, what, expected=expected, found=found))

    def _gap(self, row: Row, expected: int) -> None:
        what = f"sequence {expected} is missing" if row.sequence == expected + 1 else f"sequences {expected} to {row.sequence - 1} are missing"
        if len(self._gaps) < MOST_GAPS:
            self._gaps.append(at_row(row, RULE, what, expected=f"sequence {expected}", found=f"sequence {row.sequence}", advice=LOST))

    def _flush(self, last: Row | None) -> None:
        """The generation that ends with `last` is over: gaps count unless it was deleted."""
        if last is not None and last.type != DELETED:
            for gap in self._gaps:
                self.report(gap)
        self._gaps = []
