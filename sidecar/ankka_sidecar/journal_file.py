"""Whether the journal's file is still where it was opened.

A file that was deleted can be written as long as it is open: every command would be answered as journalled, and nothing of
it be there at the next start. So a sidecar whose journal has gone ends, at once and without a drain, which would be lost too.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

LOOK_EVERY = 1.0
"""Seconds between two looks."""


class JournalRemoved(Exception):
    """The file is not there any more, or is another one; the message says which."""


class JournalFile:
    """The file at `path`, as it is now."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()
        self._opened = _identity(self._path)

    async def watch(self) -> None:
        """Look every second; `JournalRemoved` once it is another file, or none."""
        while (now := _identity(self._path)) == self._opened:  # noqa: ASYNC110 - no event tells of that on every system
            await asyncio.sleep(LOOK_EVERY)
        what = "deleted" if now is None else "replaced by another file"
        raise JournalRemoved(
            f"the journal {self._path} was {what} while this sidecar used it: what was in it is lost, and the sidecar ends; "
            "stop the sidecar, or the last process of its folder, before you move or delete a journal"
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode; `None` if there is no such file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
