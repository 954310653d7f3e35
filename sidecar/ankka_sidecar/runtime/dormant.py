"""Instances at rest: what their machines knew, packed into one block of bytes each.

A machine that has been idle for a moment goes; what it held stays here for a while, so that the next call needs no read
of the journal. There may be a hundred thousand of them: a machine takes a kilobyte, a block what its state takes and a
little more.
"""

from __future__ import annotations

import msgspec

from ankka.protocol.payload import Payload
from ankka_sidecar.core.inputs import Loaded
from ankka_sidecar.core.records import AnyRecord

Key = tuple[str, str]


class _Packed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    record: AnyRecord
    state: Payload | None
    snapshot_sequence: int
    schema: str
    is_folded: bool


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Packed).decode


class Dormant:
    """At most `most` instances, for one to two times `keep_for` µs each; those at rest longest go first."""

    def __init__(self, most: int, keep_for: int) -> None:
        self.most = most
        self._keep_for = keep_for
        self._turned_at = 0
        self._young: dict[Key, bytes] = {}
        self._old: dict[Key, bytes] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def put(self, key: Key, kept: Loaded) -> None:
        """Keep what a machine knew."""
        if kept.record is not None and kept.record.sequence:
            self._young[key] = _pack(_Packed(kept.record, kept.state, kept.snapshot_sequence, kept.schema, kept.is_folded))

    def take(self, key: Key) -> Loaded | None:
        """What is known of an instance, which is not at rest from now on."""
        packed = self._young.pop(key, None) or self._old.pop(key, None)
        if packed is None:
            return None
        known = _unpack(packed)
        return Loaded(known.record, known.state, snapshot_sequence=known.snapshot_sequence, schema=known.schema, is_folded=known.is_folded)

    def tidy(self, now: int, resident: int) -> None:
        """Forget what has rested long enough, and what there is no room for beside `resident` machines."""
        if now - self._turned_at >= self._keep_for:
            self._turned_at = now
            self._old, self._young = self._young, {}
        for generation in (self._old, self._young):
            excess = resident + len(self) - self.most
            for key in [key for key, _ in zip(generation, range(max(0, excess)), strict=False)]:
                del generation[key]
