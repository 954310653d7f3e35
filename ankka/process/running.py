"""What runs in this process right now: for the code that runs, its logs, and for whoever looks from another thread.

Every handler runs with its request in a context variable. The tasks and `asyncio.to_thread` calls it makes inherit it, and so
do the threads of sync steps. Async handlers and steps are tasks of their own; sync commands, queries, folds and merges run
within the reader's task, so for those who look from outside there is one slot.
"""

import asyncio
import contextvars
import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ankka.protocol.frames import Fingerprint, Fold, Merge, RunCommand, RunQuery, RunStep

Running = RunCommand | RunQuery | RunStep | Fold | Merge | Fingerprint

REQUEST: contextvars.ContextVar[Running | None] = contextvars.ContextVar("ankka_request", default=None)
"""The request that the present task or thread works for."""


@dataclass(frozen=True, slots=True)
class CurrentWork:
    """What the present code runs for.

    >>> print(CurrentWork("checkout", "c1", "step", "charge", attempt=2))
    step 'charge' of checkout/c1, attempt 2
    """

    component_id: str
    """The component's id."""
    entity_id: str
    """The instance's id."""
    kind: Literal["command", "query", "step", "apply_event", "merge_state"]
    """What runs of it."""
    handler: str
    """The wire name of the command, query or step; of an entity's `apply_event` and a workflow's `merge_state` that name."""
    attempt: int | None = None
    """Which attempt of this visit to the step it is, from 1; `None` outside steps."""
    trace: str | None = None
    """The `traceparent` that the caller sent along (of a step: whoever started the run), `None` if there was none."""

    @property
    def step(self) -> str | None:
        """The wire name of the step, `None` outside steps."""
        return self.handler if self.kind == "step" else None

    def __str__(self) -> str:
        what = self.kind if self.kind == self.handler else f"{self.kind} {self.handler!r}"
        attempt = "" if self.attempt is None else f", attempt {self.attempt}"
        return f"{what} of {self.component_id}/{self.entity_id}{attempt}"


class OnLoop:
    """What runs on one loop; `sync` is set while a sync handler runs."""

    __slots__ = ("loop", "sync")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop: asyncio.AbstractEventLoop = loop
        self.sync: Running | None = None

    def now(self) -> Running | None:
        """The request whose code runs now; `None` if it is none of ours. May be called from any thread."""
        if self.sync is not None:
            return self.sync
        task = asyncio.current_task(self.loop)
        context = None if task is None else _context_of(task)
        return None if context is None else context.get(REQUEST)


def _context_of(task: "asyncio.Task[Any]") -> contextvars.Context | None:
    get: Callable[[], contextvars.Context] | None = getattr(task, "get_context", None)  # Python 3.12
    if get is not None:
        return get()
    return next((one for one in gc.get_referents(task) if isinstance(one, contextvars.Context)), None)


def work_of(running: Running) -> CurrentWork:
    """A request, as the code that runs for it sees it."""
    match running:
        case RunStep(token=token, step=step, trace=trace):
            return CurrentWork(token.component, token.instance, "step", step, token.attempt, trace)
        case RunCommand(component=component, instance=instance, handler=handler, trace=trace):
            return CurrentWork(component, instance, "command", handler, trace=trace)
        case Fingerprint(component=component, instance=instance, handler=handler):  # decodes the command's input
            return CurrentWork(component, instance, "command", handler)
        case RunQuery(component=component, instance=instance, handler=handler, trace=trace):
            return CurrentWork(component, instance, "query", handler, trace=trace)
        case Fold(component=component, instance=instance):
            return CurrentWork(component, instance, "apply_event", "apply_event")
        case Merge(component=component, instance=instance):
            return CurrentWork(component, instance, "merge_state", "merge_state")


def in_words(running: Running) -> str:
    """What it is, for a message.

    >>> in_words(Fold(1, "cart", "k1", None, ()))
    'apply_event of cart/k1'
    """
    return str(work_of(running))
