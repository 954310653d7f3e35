"""I6: the record in each row is the fold of the events up to it, and the state it points to is there."""

from __future__ import annotations

import msgspec

from ankka_sidecar.core.records import AnyRecord, KeyValueRecord, WorkflowRecord
from ankka_sidecar.ports.journal import DELETED
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import at_row, differences

RULE = "I6"


class Folds(Checker):
    """See the module."""

    def begin(self, scene: Scene) -> None:
        self._payload_at: int | None = None
        self._known = False

    def line(self, line: Line) -> None:
        if line.impossible is not None and not line.impossible.startswith(("I7", "I8")):  # their own checkers say those
            self.report(at_row(line.row, RULE, "the event cannot follow", expected=f"one that may follow {line.before}", found=line.impossible))
        if line.folded is not None and line.record is not None and line.folded != line.record:
            self._differ(line, line.folded, line.record)
        self._states(line)

    def _differ(self, line: Line, folded: AnyRecord, record: AnyRecord) -> None:
        if type(folded) is type(record):
            expected, found = differences(folded, record)
        else:
            expected, found = type(folded).__name__, type(record).__name__
        self.report(at_row(line.row, RULE, "the record is not the fold of the events", expected=expected, found=found))

    def _states(self, line: Line) -> None:
        """What points to the last state points to a row that has one."""
        row = line.row
        if line.begins:
            self._payload_at, self._known = None, row.sequence == 1
        elif not line.follows:
            self._known = False
        is_state = row.payload is not None
        if is_state:
            self._payload_at, self._known = row.sequence, True
        if row.type == DELETED:
            return
        if isinstance(line.record, (WorkflowRecord, KeyValueRecord)):
            changed = bool(getattr(line.event, "changed", False))
            if line.event is not None and changed is not is_state:
                names = {True: "a state", False: "none"}
                self.report(at_row(row, RULE, "event and state do not go together", expected=names[changed], found=names[is_state]))
            elif self._known and isinstance(line.record, WorkflowRecord):
                self._points(line, "the record's state_sequence", line.record.state_sequence or None, line.folded)
        if self._known and not isinstance(line.state_sequence, msgspec.UnsetType):
            self._points(line, "the column state_sequence", line.state_sequence, None)

    def _points(self, line: Line, name: str, found: int | None, folded: AnyRecord | None) -> None:
        if found == self._payload_at or (folded is not None and folded != line.record):  # then the difference has been said
            return
        expected = "none" if self._payload_at is None else f"sequence {self._payload_at}"
        self.report(at_row(line.row, RULE, f"{name} is not the last row with a state", expected=expected, found=f"{found}"))
