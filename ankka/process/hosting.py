"""A process that hosts components: one session with the sidecar, from attaching to drained.

    attach ──► attached ──drain──► draining ──idle or out of time──► closed

While it drains it takes no new steps, gives back those that come, answers the commands that running steps wait for,
and lets what runs finish within the drain time; what is left then is cancelled and given back. It drains by itself when
replaced attempts that do not end hold half of its threads (W5).
"""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ankka.process.address import Address
from ankka.process.calls import check_loop
from ankka.process.connection import Connection
from ankka.process.overdue import ThreadsExhausted
from ankka.process.registry import Hosted
from ankka.process.session import Session
from ankka.process.settings import DRAIN
from ankka.process.threads import StepThreads
from ankka.process.watchdog import watch
from ankka.process.work import HandlerWork
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import Payload
from ankka.protocol.process_identity import this_process
from ankka.version import SDK

logger: logging.Logger = logging.getLogger("ankka")

STOP_WITHIN = 1.0
"""Seconds for cancelled steps to end, after the drain time."""
ACKNOWLEDGED_WITHIN = 2.0
"""Seconds to wait for the sidecar's word on the last answers; without it they are sent by nobody, and the steps run again."""
CLOSE_WITHIN = 2.0


class Hosting:
    """Hosts components for one sidecar. `locate` says where it is, before every attempt to connect.

    `drain` is how many seconds running steps get when the process drains by itself.
    """

    def __init__(
        self,
        components: Mapping[str, Hosted],
        locate: Callable[[], Awaitable[Address]],
        *,
        resources: Any = None,
        steps: int = 1_000,
        threads: int = 64,
        token: str | None = None,
        drain: float = DRAIN,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.session: Session = Session(
            this_process(),
            time.monotonic,
            sdk=SDK,
            service=program_name(),
            components=tuple(hosted.definition.spec() for hosted in components.values()),
            steps=steps,
            threads=threads,
        )
        self._threads = StepThreads(threads)
        on_loop, self._watchdog = watch(self.loop)
        self._work = HandlerWork(self.session, self, components, self._threads, resources, on_loop)
        self._work.overdue.exhausted = self._exhausted
        self.session.work = self._work
        self.connection: Connection = Connection(self.session, locate, token=token)
        self.connection.on_lost = self._begin_grace
        self.connection.on_opened = self._end_grace
        self._grace: asyncio.TimerHandle | None = None
        self._drain = drain
        self._draining: asyncio.Task[None] | None = None
        self._failure: ThreadsExhausted | None = None

    async def run(self) -> None:
        """Keep the session until `drain` has closed it.

        `SessionRejected` if the sidecar refuses this process, `ThreadsExhausted` if it drained for want of threads.
        """
        self._watchdog.start()
        try:
            await self.connection.run()
        finally:
            self._watchdog.stop()
            self._end_grace()
            self._work.cancel_all("the process is stopping")
            self._threads.close()
            self.session.calls.close(Error(ErrorCode.UNAVAILABLE, "this process is stopping"))
        if self._failure is not None:
            raise self._failure

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Make a call on the process's session; `loop` and `ask` are what the component client needs."""
        check_loop(self.loop)
        return await self.session.calls.ask(call, repeatable=repeatable)

    async def drain(self, seconds: float) -> None:
        """Take no new steps, let what runs finish within `seconds`, then close the session: `run` returns."""
        self._work.overdue.exhausted = None  # it is on its way out
        self.session.drain()
        try:
            async with asyncio.timeout(seconds):
                await self._work.idle()
        except TimeoutError:
            names = ", ".join(str(token) for token in self.session.attempts.running())
            logger.warning("not finished within the drain time of %g s, given back to run again: %s", seconds, names)
            await self._stop_steps()
        if self.session.is_open:
            await _wait(self.session.acknowledged.wait(), ACKNOWLEDGED_WITHIN)
        self.connection.close()

    async def _stop_steps(self) -> None:
        self._work.cancel_steps("drained")
        await _wait(self._work.idle(), STOP_WITHIN)
        self._work.give_back_steps("drained")

    def _exhausted(self, failure: ThreadsExhausted) -> None:
        logger.error("%s", failure)
        self._failure = failure
        self._draining = self.loop.create_task(self.drain(self._drain), name="ankka-drain")

    def _begin_grace(self) -> None:
        welcome = self.session.welcome
        if welcome is not None and self._grace is None:
            self._grace = self.loop.call_later(welcome.cancel_grace / 1_000_000, self._abandoned)

    def _end_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def _abandoned(self) -> None:
        """The sidecar has given this process up by now: what runs here would run twice."""
        running = len(list(self.session.attempts.running()))
        if running:
            logger.warning("no sidecar for the cancel grace time: the %d running steps are cancelled", running)
            self._work.cancel_steps("the sidecar was away")


def program_name() -> str:
    """How the sidecar's log names this process: the module it runs, or its script."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None:
        return str(spec.name).removesuffix(".__main__")
    return Path(sys.argv[0]).stem if sys.argv and sys.argv[0] else "python"


async def _wait(what: Awaitable[Any], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await what
    except TimeoutError:
        return
