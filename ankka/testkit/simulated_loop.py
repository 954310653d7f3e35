"""An event loop on a kit's clock: sleeps and timeouts in handlers and steps take no real time.

The loop never moves its clock. It runs until nothing can go on at the present instant and stops there: it is *quiet*. Who
drives it then moves the clock to the next instant at which something is due, and runs it again. Only what is outside the
loop, a thread at work or an open socket, is waited for in real time, for no longer than the simulated wait would be; the
simulated clock stands still meanwhile.
"""

import asyncio
import math
import selectors
import threading
from asyncio import Future
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple, Unpack

from ankka.process.daemon_threads import DaemonExecutor
from ankka.process.threads import StepThreads

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREADS = 64
"""Sync steps at once, as a process has it by default; a kit runs one, and those it has replaced."""
LAST_TURNS = 1_000
"""Turns of a loop that ends, for what was cancelled to end too."""
HALF = 5e-7
"""Seconds: half a µs, the clock's unit. A timer that is due within it is due."""


UNKNOWN = 0.2
"""Seconds of real time for what waits for neither the clock nor anything the loop knows of: another library's thread may
be at work for it."""


class SimulatedClock:
    """The instant a kit is at, in µs since the epoch."""

    __slots__ = ("began", "now")

    def __init__(self, now: int) -> None:
        self.now: int = now
        self.began: int = now

    @property
    def seconds(self) -> float:
        """Seconds since it began: small numbers, so that a float holds them to the µs."""
        return (self.now - self.began) / 1_000_000


class SimulatedLoop(asyncio.SelectorEventLoop):
    """See the module. `at_most` limits a real wait (seconds); `outside` holds what works in threads."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._timer_at: int | None = None
        self.at_most: float | None = None
        self.outside: set[Hashable] = set()
        self.threads: set[int] = set()
        """The threads that run steps now, for the dump of one that blocks."""
        self._is_touched = True
        self.abandoned: bool = False
        """Nobody waits for it any more: it stops as soon as it can."""
        self.turns_left: int | None = None
        self._waits = _UntilQuiet(self)
        super().__init__(self._waits)
        self._clock_resolution = HALF
        self.steps: StepThreads = StepThreads(THREADS)
        self.set_default_executor(DaemonExecutor())

    def time(self) -> float:
        """The simulated time, in seconds."""
        return self._clock.seconds

    @property
    def now(self) -> int:
        """The simulated instant, in µs."""
        return self._clock.now

    @property
    def next_instant(self) -> int | None:
        """When the first of its timers is due (µs), as of when it became quiet."""
        return self._timer_at

    @property
    def is_at_rest(self) -> bool:
        """Running it now would change nothing: it became quiet, and since then nothing was scheduled and no timer has come."""
        timer = self._timer_at
        return not (self._is_touched or self.outside or self._waits.has_sockets or (timer is not None and timer <= self._clock.now))

    def quiet(self, next_timer: float | None) -> None:
        """Nothing goes on before the next timer, which is due in so many seconds."""
        self._timer_at = None if next_timer is None else self._clock.now + max(1, math.ceil((next_timer - HALF) * 1_000_000))
        self._is_touched = False
        self.stop()

    def call_soon(self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None) -> asyncio.Handle:
        """As any loop's: whatever goes on begins with it."""
        self._is_touched = True
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None) -> asyncio.Handle:
        """As any loop's; also while nobody runs it."""
        self._is_touched = True
        return super().call_soon_threadsafe(callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None) -> asyncio.TimerHandle:
        """As any loop's, on simulated time."""
        self._is_touched = True
        return super().call_at(when, callback, *args, context=context)

    def run_in_executor(self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts) -> "Future[T]":
        """As any loop's; the clock stands still until it is done."""
        future = super().run_in_executor(executor, func, *args)
        self.outside.add(future)
        future.add_done_callback(self.outside.discard)
        return future

    def run_in_step_thread(self, attempt: Hashable, function: Callable[[], T]) -> "Future[T]":
        """Run a sync step's function; `attempt` is outside until it has ended."""

        def in_thread() -> T:
            self.threads.add(threading.get_ident())
            try:
                return function()
            finally:
                self.threads.discard(threading.get_ident())

        self.outside.add(attempt)
        future = self.steps.run(in_thread)
        future.add_done_callback(lambda _: self.outside.discard(attempt))
        return future

    def may_stop(self) -> bool:
        """It is ending, and all has ended or does not within its turns."""
        if self.turns_left is None:
            return False
        self.turns_left -= 1
        return self.turns_left <= 0 or not asyncio.all_tasks(self)

    def end(self) -> None:
        """Cancel what still waits, let it end, threads too, and close; nobody runs this loop any more.

        What does not end is kept, and the thread that calls this with it: half-way it cannot be dropped.
        """
        self.abandoned = False
        self.at_most = None
        self.outside.add(self)  # from now on it waits in earnest
        self.turns_left = LAST_TURNS
        waiting = asyncio.all_tasks(self)
        for task in waiting:
            task.cancel()
        if waiting:
            self.run_forever()
        if asyncio.all_tasks(self):
            threading.Event().wait()
        self.steps.close()
        self.close()


class _UntilQuiet(selectors.BaseSelector):
    """A selector that says when a loop would have to wait; the real one beneath it knows sockets and wake-ups."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    @property
    def has_sockets(self) -> bool:
        """There is one beside that which wakes the loop from other threads."""
        return len(self._real.get_map()) > 1

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        loop = self._loop
        if loop.abandoned or loop.may_stop():
            loop.stop()
            return []
        events = self._real.select(0)
        if events or (timeout is not None and timeout <= HALF):
            return events
        if loop.outside or self.has_sockets:
            waits = [seconds for seconds in (timeout, loop.at_most) if seconds is not None]
            events = self._real.select(min(waits) if waits else None)
            if events:
                return events
        elif timeout is None and asyncio.all_tasks(loop):
            events = self._real.select(UNKNOWN)
            if events:
                return events
        loop.quiet(timeout)
        return []
