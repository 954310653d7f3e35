"""SQLite's errors, told so that a person knows what to do."""

import sqlite3
from pathlib import Path
from typing import Final

from ankka_sidecar.ports.journal import JournalUnavailable

ITEM_ERRORS: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    UnicodeEncodeError,
)
"""Errors that are about the values of one item, not about the file."""

_ADVICE: Final = {
    "SQLITE_FULL": "the disk is full; free space there, the sidecar then goes on by itself",
    "SQLITE_READONLY": "the file or its folder is read-only; make both writable for this user",
    "SQLITE_CORRUPT": "the file is damaged; stop the sidecar and restore a backup, keeping the damaged file with its -wal file",
    "SQLITE_NOTADB": "the file is not an SQLite database; give another path, or move the file away",
    "SQLITE_BUSY": "another program holds a lock on it; close it (an open sqlite3 shell with a transaction, a backup tool)",
    "SQLITE_LOCKED": "another program holds a lock on it; close it (an open sqlite3 shell with a transaction, a backup tool)",
    "SQLITE_IOERR": "the disk failed to read or write; look at the system's log",
    "SQLITE_CANTOPEN": "it cannot be opened; does the folder still exist, and may this user write there?",
    "SQLITE_PERM": "this user may not open it; change its permissions",
}


def advice_for(error: BaseException) -> str:
    """What an error means and what to do about it."""
    name = str(getattr(error, "sqlite_errorname", "") or "")
    for known, advice in _ADVICE.items():
        if name.startswith(known):
            return f"{advice} ({name}: {error})"
    return f"{type(error).__name__}: {error}"


def unavailable(path: Path, error: BaseException) -> JournalUnavailable:
    """`error` as the port's: nothing was done."""
    failure = JournalUnavailable(f"journal {path}: {advice_for(error)}")
    failure.__cause__ = error
    return failure
