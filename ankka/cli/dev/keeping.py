"""Keeps the folder's sidecar while `ankka dev` runs, also when no process is attached because its code is broken.

An embedded sidecar leaves with its last process; a keeper's session counts as one. If the sidecar dies, the keeper
starts it again, as any process of the folder does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ankka.embedded.folder import Folder
from ankka.embedded.membership import FolderSidecar
from ankka.process.connection import Connection
from ankka.process.session import Session
from ankka.protocol.frames import KEEPER
from ankka.protocol.process_identity import this_process
from ankka.version import SDK

CLOSE_WITHIN = 2.0


@asynccontextmanager
async def kept_sidecar(folder: Folder) -> AsyncGenerator[None]:
    """Join or start the folder's sidecar and keep it; at the end stop it, if nobody else needs it."""
    sidecar = FolderSidecar(folder)
    await sidecar.join()
    connection = Connection(Session(this_process(), time.monotonic, sdk=SDK, service=KEEPER), sidecar.locate)
    keeping = asyncio.create_task(connection.run(), name="ankka dev keeps the sidecar")
    try:
        await connection.opened.wait()
        yield
    finally:
        connection.close()
        await asyncio.wait([keeping], timeout=CLOSE_WITHIN)
        keeping.cancel()
        await sidecar.leave()
