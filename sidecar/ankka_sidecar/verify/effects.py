"""I3: no effect is in the journal twice. I4: an idempotency key has one effect, and its reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ankka.protocol.payload import Payload
from ankka_sidecar.ports.journal import Row
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import KeyPlace, Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import BUG, Violation, at_row

EFFECT, KEY = "I3", "I4"
FINGERPRINT_BYTES: Final = 32

_decode_reply = msgspec.msgpack.Decoder(Payload).decode


class Effects(Checker):
    """See the module; that no two rows have one key is asked of the journal as a whole (`shared_key`).

    Memory grows with the rows of the largest instance, which are limited, and is given back behind it.
    """

    def begin(self, scene: Scene) -> None:
        self._effects: set[int] = set()

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
        self._contents(row)

    def _contents(self, row: Row) -> None:
        """What belongs to the key can be used when it comes again."""
        if row.fingerprint is not None and len(row.fingerprint) != FINGERPRINT_BYTES:
            expected, found = f"{FINGERPRINT_BYTES} bytes", f"{len(row.fingerprint)} bytes"
            self.report(at_row(row, KEY, "the fingerprint of a key has another length", expected=expected, found=found))
        if row.reply is None:
            return
        try:
            _decode_reply(row.reply)
        except ValueError as error:  # msgspec's errors are
            self.report(at_row(row, KEY, "the reply of a key cannot be decoded", expected="an encoded value", found=f"reply: {error}"))


def shared_key(key: bytes, places: Sequence[KeyPlace]) -> list[Violation]:
    """The violations where one key is at several places: one at each place but the first."""
    first = places[0]
    found = f"another at {first.component}/{first.instance} generation {first.generation} sequence {first.sequence}"
    what = f"key {key.hex()} was carried out twice"
    return [Violation(KEY, what, "one effect", found, BUG, place.component, place.instance, place.generation, place.sequence) for place in places[1:]]
