"""Verification of a journal: the invariants I1 to I12, as far as a journal shows them, over one moment of it.

    contents ──► scene (one instance: listing, snapshots, rows) ──► replay ──► line ──► checkers ──► report
    a file, or       driver: merged, one pass                     the core's      one small file
    lists                                                          own `evolve`    each

A checker relies on the core's functions, not on lists of events, so it goes on holding as the core learns new ones.

>>> verify([], [], 256)
[]
"""

from ankka_sidecar.verify.contents import Contents, Given, StoredRow, Unreadable
from ankka_sidecar.verify.driver import Bounds, Report, run, verify
from ankka_sidecar.verify.invariants import INVARIANTS, NOT_IN_A_JOURNAL, ONLY_WARNINGS
from ankka_sidecar.verify.sqlite_file import NotAJournal, check_sqlite, open_for_reading
from ankka_sidecar.verify.violation import Violation

__all__ = [
    "INVARIANTS",
    "NOT_IN_A_JOURNAL",
    "ONLY_WARNINGS",
    "Bounds",
    "Contents",
    "Given",
    "NotAJournal",
    "Report",
    "StoredRow",
    "Unreadable",
    "Violation",
    "check_sqlite",
    "open_for_reading",
    "run",
    "verify",
]
