"""Opening a journal file: the path, the lock, then a new database by script or an older one by migration.

A database says which revision it has (`alembic_version`) and which code may use it (`meta.min_code`). Migrations only
add, so a database of a newer revision is used as it is, unless its `min_code` is above ours.
"""

import logging
import sqlite3
import time
from importlib import resources
from pathlib import Path
from typing import Final

from ankka_sidecar.adapters.journal.sqlite.connections import connect_writer
from ankka_sidecar.adapters.journal.sqlite.failures import advice_for
from ankka_sidecar.adapters.journal.sqlite.lock import FileLock
from ankka_sidecar.ports.journal import CannotOpen

CODE: Final = 1
"""The format this code writes: it opens databases whose `min_code` is at most this."""

REVISIONS: Final = ("0001",)
"""The schema revisions this code knows, oldest first."""

DEFAULT_SHARDS: Final = 256
_OLDEST_SQLITE: Final = (3, 35, 0)

log = logging.getLogger("ankka.sidecar.journal")


def prepare_path(path: str | Path) -> Path:
    """The file's real path, its folder made where it is missing; `CannotOpen` where it can be no journal."""
    given = Path(path).expanduser()
    try:
        real = given.resolve()  # two names of one file must meet at one lock
        is_folder, is_other = real.is_dir(), real.exists() and not real.is_file()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links is a RuntimeError
        raise CannotOpen(f"journal {given} cannot be reached: {error}; give a path this user may read and write") from error
    if is_folder:
        raise CannotOpen(f"journal {given} is a folder; give the path of a file, for example {given / 'journal.db'}")
    if is_other:
        raise CannotOpen(f"journal {given} is not a regular file; give the path of a file on a local disk")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotOpen(f"journal {given}: its folder {real.parent} cannot be made: {error.strerror}; give a path this user may write to") from error
    return real


def open_database(path: Path, shards: int | None) -> tuple[sqlite3.Connection, int]:
    """The writer's connection to the database at `path`, whose lock is held, and its number of shards.

    Makes the database with `shards` (256 where `None`) if there is none; the number of one that exists stands.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise CannotOpen(f"SQLite {sqlite3.sqlite_version} is too old for the journal; use a Python with SQLite 3.35 or newer")
    if shards is not None and not 1 <= shards <= 65_536:
        raise CannotOpen(f"{shards} shards: expected 1 to 65536")
    _check_header(path)
    try:
        connection = connect_writer(path)
    except sqlite3.Error as error:
        raise CannotOpen(f"journal {path}: {advice_for(error)}") from error
    try:
        _bring_to_format(connection, path)
        return connection, _settle_shards(connection, path, shards)
    except sqlite3.Error as error:
        connection.close()
        raise CannotOpen(f"journal {path}: {advice_for(error)}") from error
    except BaseException:
        connection.close()
        raise


def lock_path(path: Path) -> Path:
    """Where the lock of the journal at `path` lies."""
    return path.with_name(f"{path.name}.lock")


def acquire_lock(path: Path) -> FileLock:
    """The lock of the journal at `path`, or `JournalLocked`."""
    return FileLock.acquire(lock_path(path), path)


def create_by_script(connection: sqlite3.Connection) -> None:
    """Make all tables of a new database, stamped with the newest revision; all or nothing."""
    script = resources.files(__package__ or "").joinpath("schema.sql").read_text("utf-8")
    connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nINSERT INTO alembic_version VALUES ('{REVISIONS[-1]}');\nCOMMIT;")


def _check_header(path: Path) -> None:
    """Refuse what is no database before SQLite touches it: it would make one of a file of zero length only."""
    try:
        with path.open("rb") as file:
            header = file.read(16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CannotOpen(f"journal {path} cannot be read: {error.strerror}; make it readable and writable for this user") from error
    if header and header != b"SQLite format 3\0":
        raise CannotOpen(f"journal {path} is not an SQLite database (it begins with {header!r}); give another path, or move the file away")


def _bring_to_format(connection: sqlite3.Connection, path: Path) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")}
    if not tables:
        create_by_script(connection)
        return
    if "alembic_version" not in tables or not ({"journal", "meta"} <= tables or tables == {"alembic_version"}):
        raise CannotOpen(f"journal {path} is the database of another program (tables {', '.join(sorted(tables)[:5])}); give another path")
    found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    revision = found[0] if found else None
    if revision == REVISIONS[-1] or (revision is not None and revision not in REVISIONS):
        _check_format(connection, path, str(revision))
        return
    # Imported here only: Alembic and SQLAlchemy would double the time a sidecar takes to start.
    from ankka_sidecar.adapters.journal.sqlite.migrations import upgrade

    log.info("journal %s: upgrading its tables from revision %s to %s", path, revision, REVISIONS[-1])
    upgrade(connection)


def _check_format(connection: sqlite3.Connection, path: Path, revision: str) -> None:
    """Refuse rows that this code cannot read, be their tables those it knows or newer ones."""
    is_newer = revision != REVISIONS[-1]
    row = connection.execute("SELECT value FROM meta WHERE name = 'min_code'").fetchone()
    if row is None and not is_newer:
        return  # whoever made the tables died before it said so: there are no rows
    min_code = int(row[0]) if row else None
    if min_code is None or min_code > CODE:
        raise CannotOpen(
            f"journal {path} was written by a newer version of Ankka: its tables are of revision {revision} and need format {min_code}, "
            f"this version has {CODE}; update Ankka, or use another journal"
        )
    if is_newer:
        log.warning("journal %s has tables of a newer revision (%s); this version uses what it knows of them", path, revision)


def _settle_shards(connection: sqlite3.Connection, path: Path, shards: int | None) -> int:
    connection.execute("BEGIN IMMEDIATE")
    wanted = shards or DEFAULT_SHARDS
    connection.execute(
        "INSERT OR IGNORE INTO meta (name, value) VALUES ('min_code', ?), ('shards', ?), ('created_at', ?)", (CODE, wanted, time.time_ns() // 1_000)
    )
    there = int(connection.execute("SELECT value FROM meta WHERE name = 'shards'").fetchone()[0])
    connection.execute(
        "WITH RECURSIVE n(shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM n WHERE shard + 1 < ?) "
        "INSERT OR IGNORE INTO shard (shard, epoch) SELECT shard, 0 FROM n",
        (there,),
    )
    connection.execute("COMMIT")
    if shards is not None and shards != there:
        log.warning("journal %s was made with %d shards, which stands; %d were asked for", path, there, shards)
    return there
