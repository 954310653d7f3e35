"""What a checker is: it looks at one instance after the other and reports what does not hold."""

from __future__ import annotations

from collections.abc import Callable

from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import Violation


class Checker:
    """One concern of the verification. `begin` an instance, `line` with each of its rows in order, then `end`.

    What a checker keeps, it forgets with the next instance, so memory does not grow with the journal.
    """

    def __init__(self, report: Callable[[Violation], None]) -> None:
        self.report = report

    def begin(self, scene: Scene) -> None:
        """An instance's rows follow."""

    def line(self, line: Line) -> None:
        """The next row."""

    def end(self, scene: Scene, last: Line | None) -> None:
        """That was the last row; `None`: the instance has no rows."""
