"""The process that `ankka dev` runs: started, ready, ended, stopped."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence

from ankka.cli.shown import say
from ankka.process.readiness import READY_FD
from ankka.process.settings import drain_time

PATIENCE = 1.0
"""Seconds after which it is said what is waited for."""
KILL_AFTER = 10.0
"""Seconds beyond the drain time that a process gets to end."""


class DevProcess:
    """One start of the user's program, in this process's own group, so that a debugger in it can read the terminal."""

    def __init__(self, process: asyncio.subprocess.Process, ready: "asyncio.Future[bool]") -> None:
        self._process = process
        self.ready = ready
        """Done when it is attached (`True`), or cannot say so any more (`False`)."""
        self.ended: asyncio.Task[int] = asyncio.create_task(process.wait(), name="ankka dev's process")

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str]) -> "DevProcess":
        """Start `command`."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[bool] = loop.create_future()
        given = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        if sys.platform == "win32":
            ready.set_result(True)  # descriptors cannot be handed down there
            return cls(await asyncio.create_subprocess_exec(*command, env=given), ready)
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(*command, env={**given, READY_FD: str(writing)}, pass_fds=(writing,))
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)

        def readable() -> None:
            loop.remove_reader(reading)
            said = os.read(reading, 1)
            os.close(reading)
            if not ready.done():
                ready.set_result(said != b"")

        loop.add_reader(reading, readable)
        return cls(process, ready)

    @property
    def exit_code(self) -> int:
        """How it ended; negative is the number of a signal."""
        return self.ended.result()

    async def stop(self) -> None:
        """Have it finish what runs and end; what does not end in time is killed."""
        if self.ended.done():
            return
        self._signal("terminate")
        drain = drain_time()
        await asyncio.wait([self.ended], timeout=PATIENCE)
        if not self.ended.done():
            say(f"waiting for the process to finish what runs (at most {drain:g} s, ANKKA_DRAIN)")
            await asyncio.wait([self.ended], timeout=drain + KILL_AFTER)
        if not self.ended.done():
            say("the process did not end in time, it is killed")
            self.kill()
            await self.ended

    def kill(self) -> None:
        """End it at once."""
        self._signal("kill")

    def _signal(self, how: str) -> None:
        try:
            getattr(self._process, how)()
        except ProcessLookupError:
            return
