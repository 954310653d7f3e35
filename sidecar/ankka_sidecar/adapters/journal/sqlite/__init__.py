"""The journal in one SQLite file: one owner at a time, one thread that writes, one that loads, one that lists."""

from ankka_sidecar.adapters.journal.sqlite.journal import SqliteJournal

__all__ = ["SqliteJournal"]
