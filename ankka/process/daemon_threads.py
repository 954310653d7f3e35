"""Threads that never keep a program alive: those of sync steps, and asyncio's default executor in a foreground service.

The threads of `concurrent.futures` are joined when the interpreter ends, so that one call that does not return (a step
that ignores its cancellation, a blocking call in `asyncio.to_thread`) keeps a stopping process alive. These are daemons.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads:
    """At most `size` daemon threads, made when they are first needed; what is beyond waits in order."""

    def __init__(self, size: int, name: str) -> None:
        self.size = size
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._unfinished = 0

    def run(self, job: Callable[[], None]) -> None:
        """Run `job`, which must not raise, in one of the threads."""
        with self._lock:
            self._unfinished += 1
            if self._unfinished > self._started and self._started < self.size:
                self._started += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        self._jobs.put(job)

    def close(self) -> None:
        """Let idle threads end, and wait for no other: they end after what they run, or with the process."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job
            with self._lock:
                self._unfinished -= 1


class DaemonExecutor(ThreadPoolExecutor):
    """An executor for `loop.set_default_executor` whose shutdown waits for nobody."""

    def __init__(self, size: int = 32) -> None:
        super().__init__(max_workers=size)  # which starts threads only in its own `submit`
        self._daemons = DaemonThreads(size, "ankka-default")
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run `fn` in a thread; `RuntimeError` after the shutdown."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._daemons.run(job)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more; what runs ends by itself, or with the process."""
        self._closed = True
        self._daemons.close()
        super().shutdown(wait=False, cancel_futures=cancel_futures)
