"""I8: one result counts per attempt, that of the pending one; a visit is left once, and attempts count up by one."""

from __future__ import annotations

from ankka_sidecar.core.events import AnyEvent, Ended, Paused, Transitioned
from ankka_sidecar.core.records import Pending, WorkflowRecord
from ankka_sidecar.ports.journal import Row
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import at_row

RULE = "I8"


class Visits(Checker):
    """See the module."""

    def line(self, line: Line) -> None:
        before, after = line.before, line.after
        if line.impossible is not None and line.impossible.startswith(RULE):
            self._say(line.row, "a result without a pending step", "no result, for none is pending", line.row.type)
            return
        if not isinstance(before, WorkflowRecord) or not isinstance(after, WorkflowRecord):
            return
        if line.event is not None:
            self._fits(line.row, line.event, before)
        if after.pending is not None:
            self._continues(line.row, line.event, before.pending, after.pending)

    def _fits(self, row: Row, event: AnyEvent, before: WorkflowRecord) -> None:
        """An event that speaks for a step speaks for the pending one."""
        speaks_for: str | None = getattr(event, "step", None)
        if isinstance(event, Paused | Ended) or (isinstance(event, Transitioned) and not event.redirected):
            speaks_for = event.by
        pending = None if before.pending is None else before.pending.target.step
        if speaks_for is None or speaks_for == pending:
            return
        expected = "no step's event, for none is pending" if pending is None else f"step '{pending}', which is pending"
        self._say(row, "an event of a step that is not pending", expected, f"{row.type} of step '{speaks_for}'")

    def _continues(self, row: Row, event: AnyEvent | None, before: Pending | None, after: Pending) -> None:
        """The pending visit is a new one of this row, or goes on with this attempt or the next."""
        if after.visit == row.sequence:
            if after.attempt != 1:
                self._say(row, "a visit does not begin with its first attempt", "attempt 1", f"attempt {after.attempt}")
        elif before is None or after.visit != before.visit:
            expected = f"visit {row.sequence}" if before is None else f"visit {row.sequence} or {before.visit}"
            self._say(row, "a visit that was left is pending again", expected, f"visit {after.visit}")
        elif after.attempt not in (before.attempt, before.attempt + 1):
            self._say(row, "attempts do not count up by one", f"attempt {before.attempt} or {before.attempt + 1}", f"attempt {after.attempt}")
        elif after.target != before.target:
            self._say(row, "a visit goes on at another step", f"step '{before.target.step}'", f"step '{after.target.step}'")
        named: int | None = getattr(event, "attempt", None)
        if named is not None and named != after.attempt:
            self._say(row, "an event of an attempt that is not pending", f"attempt {after.attempt}", f"attempt {named}")

    def _say(self, row: Row, what: str, expected: str, found: str) -> None:
        self.report(at_row(row, RULE, what, expected=expected, found=found))
