"""A service: the components a process hosts, and how it is run.

Ankka.service().register(CheckoutWorkflow).register(ShoppingCartEntity).start()
"""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ankka.definition.component import Component
from ankka.process.lifespan import Lifespan
from ankka.process.registry import Registry
from ankka.process.run import RunningService, run_in_foreground
from ankka.protocol.spec import ComponentSpec

__all__ = ["Ankka", "ServiceBuilder"]


class Ankka:
    """Where a service begins: `Ankka.service()`."""

    @staticmethod
    def service(lifespan: Lifespan | None = None) -> "ServiceBuilder":
        """A service without components yet.

        `lifespan` is a context manager (sync or async), or a function without arguments that makes one: it is entered
        once per process, before anything runs, and what it yields is every handler's `self.context.resources`.
        """
        return ServiceBuilder(lifespan)


class ServiceBuilder:
    """Collects components and limits, then runs them. Every method but the last returns the builder itself.

    >>> from ankka import EventSourcedEntity, json_codec
    >>> class Counter(EventSourcedEntity[int, int]):
    ...     component_id = "counter"
    ...     state_codec = json_codec(int, "count")
    ...     event_codec = json_codec(int, "added")
    ...     def empty_state(self):
    ...         return 0
    ...     def apply_event(self, state, event):
    ...         return state + event
    >>> service = Ankka.service().register(Counter).limits(steps=100).validate()
    >>> [component.component for component in service.spec()]
    ['counter']
    """

    def __init__(self, lifespan: Lifespan | None = None) -> None:
        self._registry = Registry()
        self._lifespan = lifespan
        self._steps = 1_000
        self._sync_steps = 64

    def register(self, component: type[Component[Any]], create: Callable[[], Any] | None = None) -> "ServiceBuilder":
        """Add a component class. `create` makes its objects, one per call, instead of `component()`."""
        self._registry.add(component, create)
        return self

    def limits(self, steps: int | None = None, sync_steps: int | None = None) -> "ServiceBuilder":
        """How many steps this process runs at once: `steps` in all (1,000), of them `sync_steps` in threads (64)."""
        for name, value in (("steps", steps), ("sync_steps", sync_steps)):
            if value is not None and value < 1:
                raise ValueError(f"limits({name}={value}): at least 1 is needed")
        self._steps = self._steps if steps is None else steps
        self._sync_steps = self._sync_steps if sync_steps is None else sync_steps
        return self

    def validate(self) -> "ServiceBuilder":
        """Raise `RegistrationError` with every problem of every component at once; nothing if there is none."""
        self._registry.checked()
        return self

    def spec(self) -> tuple[ComponentSpec, ...]:
        """What the sidecar is told of this service, one entry per component."""
        return tuple(hosted.definition.spec() for hosted in self._registry.checked().values())

    def start(self) -> None:
        """Run until Ctrl-C or SIGTERM, then finish what runs and return; the last line of a main module.

        Connects to the sidecar at `ANKKA_SIDECAR`; without it, joins or starts the folder's own (`./.ankka`).
        A signal drains: no new steps, up to 30 s (`ANKKA_DRAIN`, seconds) for what runs. A second Ctrl-C ends the
        process at once with 130. If the sidecar refuses the process, its reasons are printed and the exit code is 1.
        """
        if _in_a_loop():
            raise RuntimeError("start() runs an event loop of its own; inside a running one write `await service.listen()`")
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("start() handles signals, so it runs in the main thread only; in another one run `asyncio.run(service.listen())`")
        run_in_foreground(self.running)

    async def listen(self, sidecar: str | None = None) -> None:
        """Run inside a running event loop until cancelled, then finish what runs; installs no signal handlers.

        `sidecar` is its address, instead of `ANKKA_SIDECAR` or the folder's own; `SessionRejected` if it refuses the process.
        Cancelled a second time, it leaves at once::

            listening = asyncio.create_task(Ankka.service().register(CheckoutWorkflow).listen())
            ...
            listening.cancel()
        """
        running = self.running(sidecar=sidecar)
        await running.open()
        try:
            await running.wait()
        finally:
            await running.close()

    def running(self, drain: timedelta | None = None, sidecar: str | None = None) -> RunningService:
        """This service to be opened and closed by hand: `async with service.running() as running: running.client`.

        `drain` is how long running steps get when it closes, `sidecar` is an address; without them the environment says.
        """
        return RunningService(self._registry.checked(), self._lifespan, self._steps, self._sync_steps, drain, sidecar)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
