"""An instance's timeline, read from its journal: page by page, or on and on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ankka.protocol.errors import Error, ErrorCode
from ankka_sidecar.core.events import AnyEvent, decode_event
from ankka_sidecar.core.records import AnyRecord, decode_record
from ankka_sidecar.core.timeline import items_of
from ankka_sidecar.http.problems import Problem, bad_request
from ankka_sidecar.ports.journal import Journal, Row

CHUNK = 100
"""Rows read at once, at most: each may hold a state of megabytes, which the timeline drops."""
FIRST_CHUNK = 10
CHUNK_SIZE = 2 * 1024 * 1024
"""Bytes of states and events that one reading should hold: where rows are large, it is fewer of them."""

Item = dict[str, Any]


class Timeline:
    """Reads an instance's timeline from a place on: `generation:sequence`, or `generation:sequence:number` within a row."""

    def __init__(self, journal: Journal, component: str, instance: str, after: str, called: str = "after") -> None:
        """Begin behind `after`, or at the beginning if it is empty; a `Problem` names it as it is `called`."""
        self._journal = journal
        self._component = component
        self._instance = instance
        generation, sequence, self._given = _place(after, called)
        self._behind = (generation, sequence - 1 if self._given else sequence)  # a place within a row: that row is read again
        # The row before the first one says which attempt that one may end.
        self._read = (generation, max(self._behind[1] - 1, 0))
        self._before: AnyRecord | None = None
        self._chunk = FIRST_CHUNK
        self.is_at_end = False
        """Whether the last reading came to the end of what there was."""

    async def more(self) -> Iterator[tuple[str, Item]] | None:
        """The next items, each with its place, to be taken before there is more; `None`: there are no more now.

        They are made as they are taken: a row of an entity may have a thousand.
        """
        rows: list[Row] = []
        self.is_at_end = False
        while not rows and not self.is_at_end:
            found = await self._journal.read(self._component, self._instance, self._read, self._chunk)
            self.is_at_end = len(found) < self._chunk
            if found:
                size = sum(len(row.event) + len(row.payload or b"") for row in found)
                self._chunk = max(1, min(CHUNK, CHUNK_SIZE * len(found) // max(size, 1)))
                self._read = (found[-1].generation, found[-1].sequence)
            for row in found:
                if (row.generation, row.sequence) > self._behind:
                    rows.append(msgspec.structs.replace(row, payload=None))
                else:
                    self._before = self._decoded(row)[1]
        return (item for row in rows for item in self._items(row)) if rows else None

    def _items(self, row: Row) -> list[tuple[str, Item]]:
        event, record = self._decoded(row)
        before, self._before = self._before, record
        made = items_of(row.generation, row.sequence, event, record, before)
        place = f"{row.generation}:{row.sequence}"
        given, self._given = self._given, 0
        if (row.generation, row.sequence) != (self._behind[0], self._behind[1] + 1):
            given = 0  # the row they were of has been pruned
        return [(place if number == len(made) else f"{place}:{number}", item) for number, item in enumerate(made, 1)][given:]

    def _decoded(self, row: Row) -> tuple[AnyEvent, AnyRecord]:
        try:
            return decode_event(row.event), decode_record(row.record)
        except msgspec.MsgspecError as error:
            text = f"the row at sequence {row.sequence} of {self._component}/{self._instance} is one this version cannot read: {error}"
            raise Problem(Error(ErrorCode.INTERNAL, text)) from None


async def page_of(journal: Journal, component: str, instance: str, after: str, limit: int) -> dict[str, Any]:
    """A page of at most `limit` items behind the place `after`, the `next` of the page before."""
    timeline = Timeline(journal, component, instance, after)
    items: list[tuple[str, Item]] = []
    while len(items) <= limit and not timeline.is_at_end:
        items += await timeline.more() or ()
    page = items[:limit]
    return {"items": [item for _, item in page], "next": page[-1][0] if len(items) > limit else None}


def _place(text: str, called: str) -> tuple[int, int, int]:
    """(generation, sequence) behind which to read, and how many items of that row were given already (0: all)."""
    if not text:
        return 0, 0, 0
    match = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})(?::([0-9]{1,9}))?", text)
    if match is None:
        use = "the 'next' of the page before" if called == "after" else "the 'id' of an event"
        raise bad_request(f"{called}={text[:80]!r} is not a place in a journal; use {use}")
    return int(match[1]), int(match[2]), int(match[3] or 0)
