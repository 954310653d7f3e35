"""I11: live instances move on. A journal shows only deadlines that have passed, so all this finds are warnings."""

from __future__ import annotations

from collections.abc import Callable

from ankka_sidecar.core import event_sourced, workflow
from ankka_sidecar.core.lifecycle import instant
from ankka_sidecar.core.records import WorkflowRecord
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import Violation, at_row

RULE = "I11"
LOOK = "start a sidecar if none runs; if one does, its log says why this instance does not move"


class Overdue(Checker):
    """Whether a deadline passed more than `after` µs before `now` and nothing came of it."""

    def __init__(self, report: Callable[[Violation], None], now: int, after: int) -> None:
        super().__init__(report)
        self._before = now - after

    def end(self, scene: Scene, last: Line | None) -> None:
        record = None if last is None else last.after
        if last is None or record is None:
            return
        if isinstance(record, WorkflowRecord):
            is_overdue, due = workflow.decide_deadline(record, self._before) is not None, workflow.deadline(record)
        else:
            is_overdue, due = event_sourced.decide_deadline(record, self._before) is not None, record.expires_at
        if not is_overdue:
            return
        expected, found = f"an event since its deadline, {instant(due):%Y-%m-%dT%H:%M:%SZ}", f"{last.row.type} as the last one"
        self.report(at_row(last.row, RULE, "a deadline has passed", expected=expected, found=found, advice=LOOK, warning=True))
