"""The lock under which a process of the folder joins, starts or stops the sidecar."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from ankka.embedded.folder import FolderUnusable

POLL = 0.02
"""Seconds between tries: waiting in a thread could not be given up when the process is told to stop."""


@asynccontextmanager
async def start_lock(path: Path) -> AsyncGenerator[None]:
    """Hold the lock at `path`; the system releases it if this process dies. Not inherited by the sidecar."""
    try:
        descriptor = (
            os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if sys.platform != "win32" else os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        )
    except OSError as error:
        raise FolderUnusable(f"{path} cannot be opened ({error.strerror}); run in a folder you can write, or set ANKKA_SIDECAR") from None
    try:
        while not _try_lock(descriptor):  # noqa: ASYNC110 - another process holds it, no event tells of that
            await asyncio.sleep(POLL)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
