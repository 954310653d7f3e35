"""I7: a run ends at most once, and nothing of it comes behind its end; runs count up by one."""

from __future__ import annotations

from ankka_sidecar.core.records import WorkflowRecord
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import at_row

RULE = "I7"


class Ends(Checker):
    """See the module."""

    def line(self, line: Line) -> None:
        before, after, row = line.before, line.after, line.row
        if line.impossible is not None and line.impossible.startswith(RULE):
            assert isinstance(before, WorkflowRecord)
            expected = f"nothing more of run {before.run}, which is {before.status}"
            self.report(at_row(row, RULE, "an event behind the end of its run", expected=expected, found=row.type))
            return
        if not isinstance(before, WorkflowRecord) or not isinstance(after, WorkflowRecord) or after.sequence == 0:
            return
        if after.run == before.run:
            ended = before.run > 0 and not before.is_live
            if ended and (after.status is not before.status or after.pending is not None or after.pause is not None):
                expected = f"nothing more of run {before.run}, which is {before.status}"
                self.report(at_row(row, RULE, "an event behind the end of its run", expected=expected, found=row.type))
            return
        if after.run != before.run + 1:
            self.report(at_row(row, RULE, "runs do not count up by one", expected=f"run {before.run + 1}", found=f"run {after.run}"))
        if before.is_live:
            expected = f"the end of run {before.run} before it"
            self.report(at_row(row, RULE, "a run begins while another one lives", expected=expected, found=f"{before.status}"))
