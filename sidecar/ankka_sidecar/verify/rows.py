"""Each row by itself: its shard, whether this version can decode it, its instants, its schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ankka.protocol.spec import ComponentKind
from ankka_sidecar.core.events import name_of
from ankka_sidecar.core.records import kind_of
from ankka_sidecar.core.sharding import shard_of
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import Violation, at_row

SHARD, DECODING, TIME, SCHEMA = "shards", "decoding", "time", "schemas"
UPDATE = "verify with the newest version of Ankka that has written to this journal; if that cannot read it either, restore a backup"
CLOCK = "nothing is lost, but deadlines moved with the clock: keep the machine's time in step"


class Shards(Checker):
    """Every row is in the shard of its instance's name."""

    def __init__(self, report: Callable[[Violation], None], shards: int) -> None:
        super().__init__(report)
        self._shards = shards

    def begin(self, scene: Scene) -> None:
        self._shard = shard_of(scene.component, scene.instance, self._shards)

    def line(self, line: Line) -> None:
        if line.row.shard != self._shard:
            expected = f"shard {self._shard} of {self._shards}"
            self.report(at_row(line.row, SHARD, "a row in another shard", expected=expected, found=f"shard {line.row.shard}"))


class Decoding(Checker):
    """Event and record can be decoded, and say of themselves what the row says of them."""

    def line(self, line: Line) -> None:
        row = line.row
        if line.unreadable is not None:
            what = "a row that cannot be decoded"
            self.report(at_row(row, DECODING, what, expected="what this version knows", found=line.unreadable, advice=UPDATE))
        if line.event is not None and name_of(line.event) != row.type:
            self.report(at_row(row, DECODING, "the row's type is not its event's", expected=name_of(line.event), found=row.type))


class Instants(Checker):
    """Instants do not fall along a generation, and a row's is its event's.

    Between two epochs the sidecar was started anew: a machine whose clock was set back meanwhile is worth a warning.
    """

    def line(self, line: Line) -> None:
        row, previous = line.row, line.previous
        if line.event is not None and line.event.at != row.at:
            self.report(at_row(row, TIME, "the row's instant is not its event's", expected=line.event.at, found=row.at))
        if previous is None or previous.generation != row.generation or row.at >= previous.at:
            return
        expected, found = f"{previous.at} or later, as the row before", row.at
        if row.epoch == previous.epoch:
            self.report(at_row(row, TIME, "time falls along a generation", expected=expected, found=found))
        else:
            what = "time fell between two starts of the sidecar"
            self.report(at_row(row, TIME, what, expected=expected, found=found, advice=CLOCK, warning=True))


class Schemas(Checker):
    """A row names a schema that the journal knows of its component; one instance is of one kind."""

    def __init__(self, report: Callable[[Violation], None], schemas: Mapping[str, frozenset[str]]) -> None:
        super().__init__(report)
        self._schemas = schemas

    def begin(self, scene: Scene) -> None:
        self._known = self._schemas.get(scene.component)
        self._kind: ComponentKind | None = None

    def line(self, line: Line) -> None:
        row = line.row
        if self._known is not None and row.schema and row.schema not in self._known:
            expected = f"one of the {len(self._known)} of '{row.component}' in the table `schema`"
            self.report(at_row(row, SCHEMA, "a schema that was never seen", expected=expected, found=row.schema))
        if line.record is None:
            return
        kind = kind_of(line.record)
        if self._kind is not None and kind is not self._kind:
            self.report(at_row(row, SCHEMA, "an instance changes its kind", expected=self._kind, found=kind))
        self._kind = kind
