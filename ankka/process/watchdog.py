"""Notices from a thread of its own that the event loop is blocked, and says what blocks it (F77).

    look ──► the loop answers within a second ──► look again, half a second later
      └────► it does not: one warning, with the stack ──► it answers: one line, with how long it was

While all is well the loop is asked for nothing but one empty callback each half second. Code that holds the interpreter
itself (an extension that computes without letting others run) is seen only when it lets go.
"""

import asyncio
import logging
import sys
import threading
import time
import traceback

from ankka.process.running import OnLoop, Running, in_words
from ankka.protocol.frames import RunStep

logger: logging.Logger = logging.getLogger("ankka")

LOOK_EVERY = 0.5
BLOCKED_AFTER = 1.0
THAWED_WITHIN = 0.1
"""Seconds in which the loop answers after all, if it was the whole process that stood still (SIGSTOP, a suspended machine)."""
SHOWN_CALLS = 12


class Watchdog:
    """Watches the loop it is started on, between `start` and `stop`."""

    def __init__(self, on_loop: OnLoop) -> None:
        self._on_loop = on_loop
        self._stopped = threading.Event()
        self._watched = threading.get_ident()

    def start(self) -> None:
        """Begin to watch; called on the loop's own thread."""
        self._watched = threading.get_ident()
        threading.Thread(target=self._watch, name="ankka-watchdog", daemon=True).start()

    def stop(self) -> None:
        """Watch no longer."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_EVERY):
            answered = threading.Event()
            asked = time.monotonic()
            try:
                self._on_loop.loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop is closed
                return
            if answered.wait(BLOCKED_AFTER) or answered.wait(THAWED_WITHIN):
                continue
            running = self._on_loop.now()
            logger.warning("%s", self._blocked(running))
            while not answered.wait(LOOK_EVERY):
                if self._stopped.is_set():
                    return
            by = "" if running is None else f" by {in_words(running)}"
            logger.warning("the event loop is free again; it was blocked for %.1f s%s", time.monotonic() - asked, by)

    def _blocked(self, running: Running | None) -> str:
        # documented, in spite of its name, and the only way to the stack of another thread
        frame = sys._current_frames().get(self._watched)  # pyright: ignore[reportPrivateUsage]
        stack = "".join(traceback.format_stack(frame, SHOWN_CALLS)) if frame is not None else ""
        return f"the event loop does not answer for {BLOCKED_AFTER:g} s: {_culprit(running)}. It is now at\n{stack}"


def _culprit(running: Running | None) -> str:
    if running is None:
        return "code that is no handler of a component blocks it, and with it every handler of this process"
    who = f"{in_words(running)} blocks it, and with it every handler of this process"
    if isinstance(running, RunStep):
        return f"{who}; make the step a plain def, which runs in a thread, or hand what blocks to `await asyncio.to_thread(…)`"
    return f"{who}; commands and queries must not block: make it async and hand what blocks to `await asyncio.to_thread(…)`"


def watch(loop: asyncio.AbstractEventLoop) -> tuple[OnLoop, Watchdog]:
    """What runs on `loop`, and its watchdog, not started yet."""
    on_loop = OnLoop(loop)
    return on_loop, Watchdog(on_loop)
