"""I3: no effect is in the journal twice. I4: an idempotency key has one effect, and its reply."""

from __future__ import annotations

from collections.abc import Callable

from ankka_sidecar.ports.journal import Row
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import Violation, at_row

EFFECT, KEY = "I3", "I4"


class Effects(Checker):
    """See the module.

    A key may come again once its reply has been forgotten, so two effects of a key count only within `retention` µs.
    Memory grows with the rows of the largest instance, which are limited, and is given back behind it.
    """

    def __init__(self, report: Callable[[Violation], None], retention: int) -> None:
        super().__init__(report)
        self._retention = retention

    def begin(self, scene: Scene) -> None:
        self._effects: set[int] = set()
        self._keys: dict[bytes, Row] = {}

    def line(self, line: Line) -> None:
        row = line.row
        if row.effect in self._effects:
            what = "an effect is journalled twice"
            self.report(at_row(row, EFFECT, what, expected="an effect id of its own", found=f"effect {row.effect} of an earlier row"))
        self._effects.add(row.effect)
        beside = {"a fingerprint": row.fingerprint, "a reply": row.reply}
        if row.key is None:
            extra = [name for name, value in beside.items() if value is not None]
            if extra:
                self.report(at_row(row, KEY, "a row without a key", expected="neither fingerprint nor reply", found=" and ".join(extra)))
            return
        missing = [name for name, value in beside.items() if value is None]
        if missing:
            self.report(at_row(row, KEY, "a row with a key", expected="its fingerprint and its reply", found=f"not {' and not '.join(missing)}"))
        first = self._keys.get(row.key)
        if first is not None and row.at - first.at <= self._retention:
            found = f"another at generation {first.generation} sequence {first.sequence}"
            self.report(at_row(row, KEY, f"key {row.key.hex()} was carried out twice", expected="one effect", found=found))
        self._keys[row.key] = row
