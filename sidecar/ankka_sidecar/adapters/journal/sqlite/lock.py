"""The lock that makes a journal file one sidecar's: a lock the system takes back when its holder dies, however it dies.

It lies on a file of its own beside the database and holds JSON that names the holder. The file is never removed: a
waiter could lock the removed one while another locks its successor.
"""

import os
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from ankka_sidecar.ports.journal import CannotOpen, JournalLocked

_READ_TRIES: Final = 50
"""Looks, 10 ms apart, at a lock file whose holder has locked it but not yet written itself into it."""


class Holder(msgspec.Struct, frozen=True, rename="camel"):
    """Who has a journal open; `http` is its URL, `None` until it listens. `started_at` in µs since the epoch."""

    pid: int
    started_at: int
    http: str | None = None


class FileLock:
    """A held lock; made by `acquire`, given back by `release` or by the death of the process."""

    def __init__(self, path: Path, descriptor: int, holder: Holder) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self.holder = holder

    @classmethod
    def acquire(cls, path: Path, journal: Path) -> "FileLock":
        """Lock `path` for `journal`, or `JournalLocked` naming the holder. Not inherited by programs started later."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        except OSError as error:
            raise CannotOpen(f"journal {journal}: its lock file {path} cannot be opened: {error.strerror}; may this user write there?") from error
        if not _try_lock(descriptor):
            os.close(descriptor)
            raise _locked_by(holder_of(path), journal)
        held = cls(path, descriptor, Holder(os.getpid(), time.time_ns() // 1_000))
        held._write()
        return held

    def tell_address(self, http: str) -> None:
        """Write into the lock the URL at which this sidecar listens, for whoever meets the lock."""
        self.holder = msgspec.structs.replace(self.holder, http=http)
        self._write()

    def release(self) -> None:
        """Give the lock back; a second time does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def _write(self) -> None:
        if self._descriptor is None:
            raise RuntimeError(f"the lock {self._path} was given back")
        text = msgspec.json.encode(self.holder)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text)
        os.ftruncate(self._descriptor, len(text))


def holder_of(lock: Path) -> Holder | None:
    """Who holds the lock file `lock`, as far as it says so."""
    holder = None
    for _ in range(_READ_TRIES):
        try:
            holder = msgspec.json.decode(lock.read_bytes(), type=Holder)
        except (OSError, msgspec.MsgspecError):
            holder = None
        # A holder that died left its name; its successor writes its own in a moment.
        if holder is not None and _is_alive(holder.pid):
            return holder
        time.sleep(0.01)
    # Named all the same: seen from another container, a holder's pid does not exist.
    return holder


def _locked_by(holder: Holder | None, journal: Path) -> JournalLocked:
    if holder is None:
        return JournalLocked(f"journal {journal} is open in another sidecar, which does not say who it is; stop it, or use another journal")
    if holder.http is None:
        return JournalLocked(
            f"journal {journal} is open in another sidecar (pid {holder.pid}), which is still starting; use that one, stop it or use another journal",
            holder.pid,
        )
    return JournalLocked(
        f"journal {journal} is open in another sidecar (pid {holder.pid}, {holder.http}); "
        f"to use that one set ANKKA_SIDECAR={holder.http}, else stop it or use another journal",
        holder.pid,
        holder.http,
    )


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # there `os.kill` would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        # Far behind the text, because a locked byte cannot be read by others there.
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
