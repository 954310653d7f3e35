"""Connections to the file, with the settings that make commits durable and reads independent of them."""

import sqlite3
import sys
from pathlib import Path
from typing import Final

_BUSY_MS: Final = 5_000
"""How long to wait for another program's lock; within the sidecar nothing ever waits for one."""

_STATEMENTS: Final = 256
"""Prepared statements kept per connection."""

_CHECKPOINT_PAGES: Final = 4_000
"""Size of the write-ahead log, in pages of 4 KiB, from which a commit moves it into the database."""

_WRITER_CACHE_KIB: Final = 64 * 1024
_READER_CACHE_KIB: Final = 16 * 1024


def connect_writer(path: Path) -> sqlite3.Connection:
    """The connection that writes. Commits are durable when they return (WAL, `synchronous=FULL`)."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise sqlite3.OperationalError(f"write-ahead log not possible here (journal mode {mode!r}); use a local disk")
        connection.execute("PRAGMA synchronous = FULL")
        if sys.platform == "darwin":
            # There fsync stops at the drive's cache.
            connection.execute("PRAGMA fullfsync = 1")
            connection.execute("PRAGMA checkpoint_fullfsync = 1")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that reads, and can do nothing else."""
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
        connection.create_function("contains_any_case", 2, _contains_any_case, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return connection


def settle(connection: sqlite3.Connection) -> None:
    """Make what the log holds durable in the database itself.

    After a commit whose sync failed, the system may have dropped what it could not write and report the next sync as
    good; what a reader sees then is in memory only. Writing it once more, into the database, settles it.
    """
    busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise sqlite3.OperationalError("another program reads the database, so the last commit cannot be settled")


def _contains_any_case(text: str | None, part: str) -> bool:
    # LIKE knows the case of ASCII letters only, and gives % and _ a meaning.
    return text is not None and part.casefold() in text.casefold()
