"""Replaced attempts that do not end (rule W5, F79).

    cancelled ──ends within the grace time──► forgotten
        └──────► overdue: abandoned by the sidecar, cancelled once more each grace time ──ends──► forgotten

An async step that swallows its cancellation costs a task. A sync step that never returns costs a thread: when half of
the threads are held so, the process is of little use any more, and `exhausted` is called, once.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from ankka.protocol.attempt import Token

logger: logging.Logger = logging.getLogger("ankka")


class ThreadsExhausted(Exception):
    """Half of a process's step threads are held by attempts that were replaced and do not end: it stops, to be started anew."""

    def __init__(self, held: list[str], size: int) -> None:
        self.held = held
        super().__init__(
            f"{len(held)} of {size} step threads are held by attempts that were replaced and do not end: {'; '.join(held)}. "
            "The process stops and has to be started anew. A sync step must bound its waiting, or look at self.context.is_cancelled"
        )


@dataclass(slots=True)
class _Cancelled:
    name: str
    threaded: bool
    cancel: Callable[[], object]
    grace: float
    timer: asyncio.TimerHandle
    overdue: bool = False


class OverdueAttempts:
    """The cancelled attempts of one process; `threads` is how many sync steps it runs at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: int) -> None:
        self._loop = loop
        self._threads = threads
        self._cancelled: dict[Token, _Cancelled] = {}
        self.exhausted: Callable[[ThreadsExhausted], None] | None = None

    def __contains__(self, token: Token) -> bool:
        """Whether it was cancelled longer than its grace time ago, and still runs."""
        attempt = self._cancelled.get(token)
        return attempt is not None and attempt.overdue

    def watch(self, token: Token, name: str, cancel: Callable[[], object], *, threaded: bool, grace: float) -> None:
        """The attempt was cancelled now and should end within `grace` seconds; `cancel` cancels it once more."""
        if token not in self._cancelled:
            timer = self._loop.call_later(grace, self._late, token)
            self._cancelled[token] = _Cancelled(name, threaded, cancel, grace, timer)

    def ended(self, token: Token) -> None:
        """The attempt is over."""
        attempt = self._cancelled.pop(token, None)
        if attempt is None:
            return
        attempt.timer.cancel()
        if attempt.overdue:
            logger.warning("%s, which was replaced, has ended at last; its result was dropped", attempt.name)

    def close(self) -> None:
        """Watch nothing any more."""
        for attempt in self._cancelled.values():
            attempt.timer.cancel()

    def _late(self, token: Token) -> None:
        attempt = self._cancelled[token]
        if not attempt.overdue:
            attempt.overdue = True
            why = "its thread cannot be stopped and stays taken" if attempt.threaded else "it swallows its cancellation, and is cancelled again"
            logger.warning("%s was replaced and has not ended within %g s: its result is dropped; %s", attempt.name, attempt.grace, why)
            self._count()
        if not attempt.threaded:
            attempt.timer = self._loop.call_later(attempt.grace, self._late, token)
            attempt.cancel()

    def _count(self) -> None:
        held = [attempt.name for attempt in self._cancelled.values() if attempt.overdue and attempt.threaded]
        if self.exhausted is not None and held and len(held) * 2 >= self._threads:
            exhausted, self.exhausted = self.exhausted, None
            exhausted(ThreadsExhausted(held, self._threads))
