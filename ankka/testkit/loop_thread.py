"""The thread that user code of a kit runs in, and how long the kit waits for it.

The kit's own work (the machine, the journal, the clock) is done by the test's thread, between the runs of the loop. So a
handler or step that blocks cannot hang the test: after `patience` of real time it fails and says where it waits.
"""

import queue
import threading
import weakref
from typing import NoReturn

from ankka.testkit.simulated_loop import SimulatedClock, SimulatedLoop
from ankka.testkit.stacks import is_debugged, stacks_of

PATIENCE = 10.0
"""Seconds of real time a handler or step may keep a kit waiting, unless the kit is told otherwise.

More than the 5 s a replaced step has to stop: one that does not is abandoned then, as in production.
"""


class StepBlocked(AssertionError):
    """Tested code did not come to rest in time; the message shows where it waits."""


class LoopThread:
    """A simulated loop in a thread of its own, which ends with this object."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.patience: float | None = PATIENCE
        self.loop: SimulatedLoop = SimulatedLoop(clock)
        self._go: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._blocked: str | None = None
        self._thread = threading.Thread(target=_serve, args=(self.loop, self._go, self._done), name="ankka-test-kit", daemon=True)
        self._thread.start()
        weakref.finalize(self, _end, self.loop, self._go, self._thread)

    def settle(self, at_most: float | None) -> None:
        """Run the loop until it is quiet; `StepBlocked` if that takes more than `patience` seconds."""
        if self._blocked is not None:
            raise StepBlocked(f"this kit cannot go on: {self._blocked}")
        self.loop.at_most = at_most
        self._go.put(True)
        problem = self._outcome()
        if problem is not None:
            raise problem

    def _outcome(self) -> BaseException | None:
        while True:
            try:
                return self._done.get(timeout=self.patience)
            except queue.Empty:
                if not is_debugged(self.loop, self._thread):
                    self._give_up()
            except BaseException:  # Ctrl-C, or a test's own timeout: what comes of this run belongs to nobody
                self._blocked = "it was interrupted while it waited for tested code"
                raise

    def _give_up(self) -> NoReturn:
        where = "\n".join(stacks_of(self.loop, self._thread)) or "(nothing of it can be seen)"
        self._blocked = f"tested code was not at rest after {self.patience:g} s of real time (kit.patience). It waits here:\n{where}"
        self.loop.abandoned = True
        self.loop.call_soon_threadsafe(int)  # wakes it, if it waits for a thread or a socket
        self._go.put(False)
        raise StepBlocked(self._blocked)


def _serve(loop: SimulatedLoop, go: "queue.SimpleQueue[bool]", done: "queue.SimpleQueue[BaseException | None]") -> None:
    while go.get():
        problem: BaseException | None = None
        try:
            loop.run_forever()
        except BaseException as error:  # it belongs to the test's thread
            problem = error
        done.put(problem)
        del problem
    loop.end()


def _end(loop: SimulatedLoop, go: "queue.SimpleQueue[bool]", thread: threading.Thread) -> None:
    go.put(False)
    if not loop.abandoned and loop.turns_left is None and thread is not threading.current_thread():
        thread.join(1.0)
