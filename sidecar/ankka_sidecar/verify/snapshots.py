"""I6: a snapshot stands for a row that is, or was, in the journal. What is in it only the user's code can say."""

from __future__ import annotations

from collections.abc import Callable

from ankka_sidecar.core.sharding import shard_of
from ankka_sidecar.ports.journal import DELETED, Snapshot
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import Violation

RULE = "I6"
DELETABLE = "a snapshot is a cache: stop the sidecar, delete this row of the table `snapshot`, and report it"


class Snapshots(Checker):
    """See the module."""

    def __init__(self, report: Callable[[Violation], None], shards: int) -> None:
        super().__init__(report)
        self._shards = shards

    def begin(self, scene: Scene) -> None:
        self._open = {snapshot.generation: snapshot for snapshot in scene.snapshots}
        for snapshot in scene.snapshots:
            shard = shard_of(snapshot.component, snapshot.instance, self._shards)
            if snapshot.shard != shard:
                self._say(snapshot, "a snapshot in another shard", f"shard {shard}", f"shard {snapshot.shard}")

    def line(self, line: Line) -> None:
        if not self._open:
            return
        row, previous = line.row, line.previous
        if line.begins and previous is not None:
            self._over(previous.generation, previous.sequence)
        snapshot = self._open.get(row.generation)
        if snapshot is not None and snapshot.sequence == row.sequence and row.type != DELETED:
            if snapshot.epoch < row.epoch:
                self._say(snapshot, "a snapshot that is older than its row", f"epoch {row.epoch} or above", f"epoch {snapshot.epoch}")
            del self._open[row.generation]
        elif snapshot is not None and row.type == DELETED and 0 < snapshot.sequence < row.sequence:
            del self._open[row.generation]  # its row may be pruned already

    def end(self, scene: Scene, last: Line | None) -> None:
        if last is not None:
            self._over(last.row.generation, last.row.sequence)
        for snapshot in self._open.values():
            self._say(snapshot, "a snapshot of a generation that is not in the journal", "rows of that generation", "none")

    def _over(self, generation: int, last: int) -> None:
        """The rows of a generation are through, and none was that of its snapshot."""
        snapshot = self._open.pop(generation, None)
        if snapshot is not None:
            self._say(snapshot, "a snapshot without its row", f"a sequence of 1 to {last} that is there", f"sequence {snapshot.sequence}")

    def _say(self, snapshot: Snapshot, what: str, expected: str, found: str) -> None:
        place = (snapshot.component, snapshot.instance, snapshot.generation, snapshot.sequence)
        self.report(Violation(RULE, what, expected, found, DELETABLE, *place))
