"""Work on its way from the event loop to a thread, and results on their way back, both in groups."""

import asyncio
import queue
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")


class Inbox(Generic[Job]):
    """What a thread has been asked to do: filled from the loop, emptied by the thread all at once."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.jobs: deque[Job] = deque()
        """The thread's own: what it took and has not begun."""
        self.closing = False
        """The thread's own: nothing more will come."""

    def put(self, job: Job) -> None:
        """Ask for `job`; from any thread."""
        self._queue.put(job)

    def close(self) -> None:
        """Let the thread end when it has done what was put so far."""
        self._queue.put(None)

    def receive(self, timeout_seconds: float | None) -> None:
        """Take everything that was put; waits for the first if nothing is left to do. For the thread only."""
        with suppress(queue.Empty):
            if not self.jobs and not self.closing:
                self._accept(self._queue.get(timeout=timeout_seconds))
            while True:
                self._accept(self._queue.get_nowait())

    def _accept(self, job: Job | None) -> None:
        if job is None:
            self.closing = True
        else:
            self.jobs.append(job)


Result = tuple[asyncio.Future[Any], Any]
"""A future of the loop, and what it gets: a value, or an exception to raise."""


def deliver(loop: asyncio.AbstractEventLoop, results: Sequence[Result]) -> None:
    """Resolve futures of `loop` from a thread, all with one wake-up of the loop."""
    with suppress(RuntimeError):  # the loop has been closed, so nobody waits any more
        loop.call_soon_threadsafe(_resolve, results)


def _resolve(results: Sequence[Result]) -> None:
    for future, result in results:
        if future.done():  # cancelled by whoever waited
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
