"""I2: the writer's epoch never falls along an instance's journal, and none is above that of its shard."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import Violation, at_row

RULE = "I2"


class Epochs(Checker):
    """See the module."""

    def __init__(self, report: Callable[[Violation], None], epochs: Mapping[int, int]) -> None:
        super().__init__(report)
        self._epochs = epochs

    def line(self, line: Line) -> None:
        row, previous = line.row, line.previous
        if previous is not None and row.epoch < previous.epoch:
            expected = f"epoch {previous.epoch} or above, as the row before"
            self.report(at_row(row, RULE, "a node wrote that had lost the shard", expected=expected, found=f"epoch {row.epoch}"))
        present = self._epochs.get(row.shard)
        if present is not None and not 0 < row.epoch <= present:
            expected = f"1 to {present}, the epoch of shard {row.shard}"
            self.report(at_row(row, RULE, "an epoch that nobody was given", expected=expected, found=f"epoch {row.epoch}"))
