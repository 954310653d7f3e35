"""I10: retries are counted as they happened, and since a step succeeded each step is entered by failover at most once.

How many retries a step may have is its process's to say and not in the journal.
"""

from __future__ import annotations

from collections import Counter

from ankka_sidecar.core.events import FailedOver, Retried
from ankka_sidecar.core.records import WorkflowRecord
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import at_row

RULE = "I10"


class Retries(Checker):
    """See the module."""

    def begin(self, scene: Scene) -> None:
        self._counted: Counter[str] = Counter()
        self._in_visit = 0
        self._known_run = self._known_visit = False

    def line(self, line: Line) -> None:
        before, after, event = line.before, line.after, line.event
        if not isinstance(before, WorkflowRecord) or not isinstance(after, WorkflowRecord) or line.impossible is not None:
            self._known_run = self._known_visit = False
            return
        if after.run != before.run or line.begins:
            self._counted.clear()
            self._known_run = True
        pending = after.pending
        if pending is not None and pending.visit == line.row.sequence:
            self._in_visit = 0
            self._known_visit = True
        if isinstance(event, Retried):
            self._counted[event.step] += 1
            self._in_visit += 1
        if isinstance(event, FailedOver) and event.target.step in before.failovers:
            expected = f"another step than {', '.join(before.failovers)}"
            what = "a step is entered by failover twice, and none has succeeded in between"
            self.report(at_row(line.row, RULE, what, expected=expected, found=event.target.step))
        if self._known_run and after.sequence and after.retries != self._counted:
            expected, found = str(dict(self._counted)), str(after.retries)
            self.report(at_row(line.row, RULE, "the run's retries are not those that happened", expected=expected, found=found))
            self._known_run = False  # said once for a run
        if self._known_visit and pending is not None and pending.retries != self._in_visit:
            what = "the visit's retries are not those that happened"
            self.report(at_row(line.row, RULE, what, expected=self._in_visit, found=pending.retries))
            self._known_visit = False
