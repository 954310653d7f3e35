"""I9: every instance has its listing and the reverse, and it shows the status, deadline, run and failure of the last row."""

from __future__ import annotations

from ankka_sidecar.core.records import AnyRecord, EntityRecord
from ankka_sidecar.core.workflow import deadline
from ankka_sidecar.ports.journal import DELETED, Found, Listing
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Scene
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.violation import REBUILD, Violation, differences

RULE = "I9"


class Listings(Checker):
    """See the module.

    Sequence, instant and step reach a listing later than the row, and after a crash perhaps never. But they are those
    of one row, which is not older than the last one that changed what the listing shows.
    """

    def begin(self, scene: Scene) -> None:
        self._listing = scene.listing
        self._changed_at = 0

    def line(self, line: Line) -> None:
        row, listing, after = line.row, self._listing, line.after
        before = line.before
        if line.begins or (after is not None and before is not None and shown_of(before, row.type)[:4] != shown_of(after, row.type)[:4]):
            self._changed_at = row.sequence
        if listing is None or (listing.generation, listing.sequence) != (row.generation, row.sequence):
            return
        if listing.updated_at != row.at:
            self._say(listing, "the listing's instant is not that of its row", f"updated_at {row.at}", f"updated_at {listing.updated_at}")
        records = _records(line)
        if records and not any(shown_of(record, row.type)[4] == listing.listing.step for record in records):
            self._say(listing, "the listing's step is not that of its row", f"{shown_of(records[0], row.type)[4]}", f"{listing.listing.step}")

    def end(self, scene: Scene, last: Line | None) -> None:
        listing = scene.listing
        if listing is None or last is None:
            what, expected = ("an instance without a listing", "one") if listing is None else ("a listing without an instance", "rows")
            self.report(Violation(RULE, what, expected, "none", REBUILD, scene.component, scene.instance))
            return
        row = last.row
        if listing.shard != row.shard:
            self._say(listing, "the listing is in another shard than its rows", f"shard {row.shard}", f"shard {listing.shard}")
        if listing.generation != row.generation:
            self._say(listing, "the listing is of another generation", f"generation {row.generation}", f"generation {listing.generation}")
            return
        if not self._changed_at <= listing.sequence <= row.sequence:
            expected = f"sequence {self._changed_at} to {row.sequence}"
            self._say(listing, "the listing is not that of the last change", expected, f"sequence {listing.sequence}")
        records = _records(last)
        if not records:
            return
        wanted = [_listing(record, row.type, listing.listing.step) for record in records]
        if listing.listing not in wanted:
            self._say(listing, "the listing does not show what the last row says", *differences(wanted[0], listing.listing))

    def _say(self, listing: Found, what: str, expected: str, found: str) -> None:
        place = (listing.component, listing.instance, listing.generation, listing.sequence)
        self.report(Violation(RULE, what, expected, found, REBUILD, *place))


def shown_of(record: AnyRecord, row_type: str) -> tuple[str, int | None, str | None, int, str | None]:
    """What a listing shows after a row: status, deadline, failure, run and pending step."""
    if isinstance(record, EntityRecord):
        return DELETED if row_type == DELETED else "active", record.expires_at, None, 0, None
    status = DELETED if row_type == DELETED else str(record.status)
    failure = record.failure.message if record.failure else None
    return status, deadline(record), failure, record.run, record.pending.target.step if record.pending else None


def _listing(record: AnyRecord, row_type: str, step: str | None) -> Listing:
    status, due, failure, run, _ = shown_of(record, row_type)
    return Listing(status, due, step, failure, run)


def _records(line: Line) -> list[AnyRecord]:
    """Where a row's record is not the fold, that is said elsewhere: the listing may agree with either."""
    return [record for record in (line.record, line.folded) if record is not None]
