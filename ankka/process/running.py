"""What runs on the event loop right now, for whoever looks from another thread.

Async handlers and steps are tasks that carry their request in a context variable, which the tasks they start inherit.
Sync commands, queries, folds and merges run within the reader's task; for them there is one slot.
"""

import asyncio
import contextvars
import gc
from collections.abc import Callable
from typing import Any

from ankka.protocol.frames import Fold, Merge, RunCommand, RunQuery, RunStep

Running = RunCommand | RunQuery | RunStep | Fold | Merge

REQUEST: contextvars.ContextVar[Running | None] = contextvars.ContextVar("ankka_request", default=None)
"""The request that the present task works for."""


class OnLoop:
    """What runs on one loop; `sync` is set while a sync handler runs."""

    __slots__ = ("loop", "sync")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
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


def in_words(running: Running) -> str:
    """What it is, for a message.

    >>> in_words(Fold(1, "cart", "k1", None, ()))
    'apply_event of cart/k1'
    """
    match running:
        case RunStep(token=token, step=step):
            return f"step {step!r} of {token.component}/{token.instance}, attempt {token.attempt}"
        case RunCommand(component=component, instance=instance, handler=handler):
            return f"command {handler!r} of {component}/{instance}"
        case RunQuery(component=component, instance=instance, handler=handler):
            return f"query {handler!r} of {component}/{instance}"
        case Fold(component=component, instance=instance):
            return f"apply_event of {component}/{instance}"
        case Merge(component=component, instance=instance):
            return f"merge_state of {component}/{instance}"
