"""Runs all checkers over a journal in one pass: rows, listings and snapshots are merged instance by instance.

What concerns all instances at once, the keys, is asked of the contents behind that pass, which can sort outside of memory.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final

import msgspec

from ankka_sidecar.ports.journal import Found, Row, Snapshot
from ankka_sidecar.verify.checker import Checker
from ankka_sidecar.verify.contents import Contents, Given, Scene, StoredRow, Unreadable
from ankka_sidecar.verify.effects import Effects, shared_key
from ankka_sidecar.verify.ends import Ends
from ankka_sidecar.verify.epochs import Epochs
from ankka_sidecar.verify.folds import Folds
from ankka_sidecar.verify.line import Line
from ankka_sidecar.verify.listings import Listings
from ankka_sidecar.verify.overdue import Overdue
from ankka_sidecar.verify.places import Places
from ankka_sidecar.verify.replay import Replay
from ankka_sidecar.verify.retries import Retries
from ankka_sidecar.verify.rows import Decoding, Instants, Schemas, Shards
from ankka_sidecar.verify.snapshots import Snapshots
from ankka_sidecar.verify.violation import Violation
from ankka_sidecar.verify.visits import Visits

PROGRESS_EVERY: Final = 1_000

_Entry = tuple[tuple[str, str, int], Found | Snapshot | StoredRow]


class Bounds(msgspec.Struct, frozen=True):
    """What a verification goes by. Instants and durations in µs.

    `now` (`None`: nothing is overdue) and `overdue_after` are for I11. Of each rule the first `most` violations are
    kept, the rest are counted.
    """

    now: int | None = None
    overdue_after: int = 60_000_000
    most: int = 1_000


class Report:
    """The result: the violations and warnings that are kept, how many there are of each rule, and what was looked at."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.violations: list[Violation] = []
        self.warnings: list[Violation] = []
        self.counts: Counter[str] = Counter()
        self.warning_counts: Counter[str] = Counter()
        self.rows = 0
        self.instances = 0
        self.snapshots = 0

    @property
    def is_clean(self) -> bool:
        """No violation; there may be warnings."""
        return not self.counts

    def add(self, violation: Violation) -> None:
        """Count a violation, and keep it while there is room."""
        kept, counts = (self.warnings, self.warning_counts) if violation.warning else (self.violations, self.counts)
        counts[violation.rule] += 1
        if counts[violation.rule] <= self._most:
            kept.append(violation)


def run(contents: Contents, bounds: Bounds | None = None, progress: Callable[[int], None] | None = None) -> Report:
    """Check everything; `progress` is told now and then how many rows are through.

    Memory does not grow with the journal. Contents that cannot be read to their end are a violation of `file`.
    """
    bounds = bounds or Bounds()
    report = Report(bounds.most)
    checkers = _checkers(contents, bounds, report.add)
    try:
        for scene, rows in _scenes(contents):
            report.instances += 1
            report.snapshots += len(scene.snapshots)
            _check(scene, rows, checkers, report, progress)
        for key, places in contents.shared_keys():
            for violation in shared_key(key, places):
                report.add(violation)
    except Unreadable as error:
        advice = "stop the sidecar, keep the file with its -wal file, and restore a backup"
        report.add(Violation("file", "the journal cannot be read on", "rows to the end", str(error), advice))
    if progress is not None:
        progress(report.rows)
    return report


def verify(
    rows: Iterable[Row | StoredRow], listings: Iterable[Found], shards: int, *, snapshots: Iterable[Snapshot] = (),
    epochs: Mapping[int, int] | None = None, schemas: Mapping[str, Iterable[str]] | None = None, bounds: Bounds | None = None,
) -> list[Violation]:  # fmt: skip
    """All violations in rows and listings that are held in memory, warnings behind them; an empty list is a clean journal.

    >>> verify([], [], 256)
    []
    """
    report = run(Given(rows, listings, shards, snapshots=snapshots, epochs=epochs, schemas=schemas), bounds)
    return report.violations + report.warnings


def _checkers(contents: Contents, bounds: Bounds, report: Callable[[Violation], None]) -> list[Checker]:
    checkers: list[Checker] = [
        Places(report), Epochs(report, contents.epochs), Effects(report), Folds(report),
        Snapshots(report, contents.shards), Ends(report), Visits(report), Listings(report), Retries(report),
        Shards(report, contents.shards), Decoding(report), Instants(report), Schemas(report, contents.schemas),
    ]  # fmt: skip
    if bounds.now is not None:
        checkers.append(Overdue(report, bounds.now, bounds.overdue_after))
    return checkers


def _scenes(contents: Contents) -> Iterator[tuple[Scene, Iterator[StoredRow]]]:
    """Each instance with what is stored of it; its rows come one by one."""
    listings: Iterator[_Entry] = (((one.component, one.instance, 0), one) for one in contents.listings())
    snapshots: Iterator[_Entry] = (((one.component, one.instance, 1), one) for one in contents.snapshots())
    rows: Iterator[_Entry] = (((one.row.component, one.row.instance, 2), one) for one in contents.rows())
    merged = heapq.merge(listings, snapshots, rows, key=itemgetter(0))
    for (component, instance), group in itertools.groupby(merged, key=lambda entry: entry[0][:2]):
        listing: Found | None = None
        found: list[Snapshot] = []
        first: StoredRow | None = None
        stored = (one for _, one in group)
        for one in stored:
            if isinstance(one, StoredRow):
                first = one
                break
            if isinstance(one, Found):
                listing = one
            else:
                found.append(one)
        rows_left = (one for one in stored if isinstance(one, StoredRow))
        yield Scene(component, instance, listing, found), rows_left if first is None else itertools.chain((first,), rows_left)


def _check(scene: Scene, rows: Iterator[StoredRow], checkers: list[Checker], report: Report, progress: Callable[[int], None] | None) -> None:
    replay = Replay()
    last: Line | None = None
    for checker in checkers:
        checker.begin(scene)
    for stored in rows:
        last = replay.next(stored)
        for checker in checkers:
            checker.line(last)
        report.rows += 1
        if progress is not None and report.rows % PROGRESS_EVERY == 0:
            progress(report.rows)
    for checker in checkers:
        checker.end(scene, last)
