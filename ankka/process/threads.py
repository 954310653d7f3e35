"""The threads sync steps run in: a fixed number, apart from asyncio's own, and never in the way of leaving."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

from ankka.process.daemon_threads import DaemonThreads

T = TypeVar("T")


class StepThreads:
    """At most `size` threads, made when they are first needed; what is beyond waits in order."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._threads = DaemonThreads(size, "ankka-step")
        self._waited_for: set[asyncio.Future[Any]] = set()

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Run `function` in a thread, with the caller's context variables; call from the loop's thread.

        The future is done on the loop. Cancelling it does not stop the thread, and its result is then dropped.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            try:
                result = context.run(function)
            except BaseException as error:
                _tell(loop, self._ended, future, None, error)
            else:
                _tell(loop, self._ended, future, result, None)

        self._waited_for.add(future)
        self._threads.run(job)
        return future

    def close(self) -> None:
        """Let idle threads end, and wait for no other: they end after what they run, or with the process."""
        self._threads.close()
        for future in self._waited_for:
            future.cancel()

    def _ended(self, future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
        self._waited_for.discard(future)
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


def _tell(loop: asyncio.AbstractEventLoop, ended: Callable[..., None], *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(ended, *arguments)
    except RuntimeError:  # the loop is closed: the process is leaving, nobody waits for the result
        return
