"""Which files a SQLite journal opens, which it refuses with what message, and that one sidecar has it at a time."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.adapters.journal.sqlite.lock import Holder, holder_of
from ankka_sidecar.ports.journal import CannotOpen, JournalLocked, JournalUnavailable

from tests.contract.journal import programs
from tests.contract.journal.rows import item, store


async def opens(path: str | Path) -> None:
    """Open and close a journal."""
    await (await SqliteJournal.open(path)).close()


async def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    await opens(tmp_path / "a" / "b c" / "50%?#" / "journal.db")
    assert (tmp_path / "a" / "b c" / "50%?#" / "journal.db").is_file()


async def test_a_name_with_special_characters_can_be_written_and_read(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "50% #1?mode=ro&x.db")
    await journal.leases().take()
    await store(journal, item("a"))
    assert await journal.last("checkout", "a") is not None
    await journal.close()


async def test_a_relative_path_starts_at_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    await opens(".ankka/journal.db")
    assert (tmp_path / ".ankka" / "journal.db").is_file()


async def test_a_folder_as_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotOpen, match="is a folder; give the path of a file, for example"):
        await opens(tmp_path)


async def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CannotOpen, match=r"its folder .*file cannot be made"):
        await opens(tmp_path / "file" / "journal.db")


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes, longer than a header of a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(CannotOpen, match=r"notes\.txt is not an SQLite database .*give another path"):
        await opens(path)
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    await opens(tmp_path / "journal.db")


async def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE customers (name TEXT)")
    other.close()
    with pytest.raises(CannotOpen, match=r"is the database of another program \(tables customers\)"):
        await opens(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("customers",)]
    other.close()


async def test_a_damaged_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    with pytest.raises(CannotOpen, match="not an SQLite database; give another path"):
        await opens(path)


async def test_a_damaged_page_is_unavailable_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    await store(journal, *(item(f"i-{number}", payload=bytes(500)) for number in range(100)))
    await journal.close()
    intact = path.read_bytes()
    with sqlite3.connect(path) as other:
        root = int(other.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'journal_place'").fetchone()[0])
    other.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4_096)
        file.write(b"\xee" * 4_096)
    journal = await SqliteJournal.open(path)
    await journal.leases().take()
    with pytest.raises(JournalUnavailable, match=r"the file is damaged; stop the sidecar and restore a backup"):
        await journal.last("checkout", "i-1")
    with pytest.raises(JournalUnavailable, match=r"the file is damaged"):
        await journal.append([item("i-1", 2, epoch=2)])
    await journal.close()
    path.write_bytes(intact)
    await opens(path)


UNWRITABLE = """
import asyncio, os, sys
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.ports.journal import CannotOpen
import concurrent.futures.thread  # now, for the user below may not be able to read the interpreter's folder
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
async def main():
    try:
        await SqliteJournal.open(sys.argv[1])
    except CannotOpen as error:
        print(error)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
@pytest.mark.parametrize("name", ["journal.db", "below/journal.db"])
@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_an_unwritable_folder_is_refused(name: str, mode: int) -> None:
    # Not below tmp_path: its parents are closed to the user that root becomes here.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(mode)
        said = subprocess.run([sys.executable, "-c", UNWRITABLE, f"{folder}/{name}"], capture_output=True, text=True, check=True, cwd="/").stdout
        Path(folder).chmod(0o700)
    assert "Permission denied" in said
    assert folder in said
    assert "this user" in said


async def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").symlink_to(tmp_path / "b.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    with pytest.raises(CannotOpen, match=r"cannot be (reached|read): .*symbolic links|cannot be reached: Symlink loop"):
        await opens(tmp_path / "a.db")


@pytest.mark.chaos
async def test_a_journal_that_is_open_is_refused_by_name_of_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    holder = programs.start(programs.HOLD, path, "http://127.0.0.1:9123")
    try:
        assert programs.line_of(holder) == "open"
        with pytest.raises(JournalLocked, match=rf"pid {holder.pid}, http://127\.0\.0\.1:9123.*ANKKA_SIDECAR=http://127\.0\.0\.1:9123") as refused:
            await SqliteJournal.open(path)
        assert (refused.value.pid, refused.value.http) == (holder.pid, "http://127.0.0.1:9123")
        # By another name of the same file, too.
        (tmp_path / "alias.db").symlink_to(path)
        with pytest.raises(JournalLocked):
            await SqliteJournal.open(tmp_path / "alias.db")
        holder.communicate(timeout=30)
        assert holder.returncode == 0
        await opens(path)
    finally:
        programs.end(holder)


@pytest.mark.chaos
async def test_a_holder_that_does_not_listen_yet_is_named_by_its_pid(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    holder = programs.start(programs.HOLD, path)
    try:
        assert programs.line_of(holder) == "open"
        with pytest.raises(JournalLocked, match=rf"pid {holder.pid}\), which is still starting"):
            await SqliteJournal.open(path)
    finally:
        programs.end(holder)


@pytest.mark.chaos
async def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    holder = programs.start(programs.HOLD, path, "http://127.0.0.1:9123")
    assert programs.line_of(holder) == "open"
    programs.end(holder)
    journal = await SqliteJournal.open(path)
    assert (await journal.leases().take()).epochs[0] == 2
    await journal.close()


async def test_the_lock_file_says_who_holds_it(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    lock = tmp_path / "journal.db.lock"
    assert msgspec.json.decode(lock.read_bytes()).keys() == {"pid", "startedAt", "http"}
    journal.tell_address("http://127.0.0.1:9000")
    holder = holder_of(lock)
    assert isinstance(holder, Holder)
    assert (holder.pid, holder.http) == (os.getpid(), "http://127.0.0.1:9000")
    await journal.close()
    assert lock.read_bytes() == b""


async def test_a_program_started_later_does_not_inherit_the_lock(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    child = programs.start("import sys; print('up', flush=True); sys.stdin.read()")
    try:
        assert programs.line_of(child) == "up"
        await journal.close()
        await opens(tmp_path / "journal.db")
    finally:
        programs.end(child)


async def test_two_opens_in_one_process_are_refused_too(tmp_path: Path) -> None:
    journal = await SqliteJournal.open(tmp_path / "journal.db")
    with pytest.raises(JournalLocked, match=str(os.getpid())):
        await SqliteJournal.open(tmp_path / "journal.db")
    await journal.close()


async def test_a_refused_open_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_text("no database at all, but long enough")
    with pytest.raises(CannotOpen):
        await SqliteJournal.open(path)
    path.unlink()
    await opens(path)
