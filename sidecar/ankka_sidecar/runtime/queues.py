"""Work that waits for a process: in order, per component and per handler or step, so that one kind cannot hide another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ankka.protocol.attempt import Token
from ankka_sidecar.core.actions import RunStep
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.runtime.framing import Asked, kind_of


class Work:
    """A command, query, fold, merge or step attempt that waits for a process."""

    __slots__ = ("action", "dropped", "machine", "since")

    def __init__(self, machine: Instance, action: Asked | RunStep, since: int) -> None:
        self.machine = machine
        self.action = action
        self.since = since
        self.dropped = False

    @property
    def name(self) -> str:
        """Which queue it waits in."""
        action = self.action
        if isinstance(action, RunStep):
            return f"step {action.step} alone" if action.alone else f"step {action.step}"
        call = getattr(action, "call", None)
        if call is None:
            return kind_of(action)
        # What needs no credit does not wait behind what does.
        return f"{kind_of(action)} {call.handler}{' nested' if call.chain else ''}"


class Queues:
    """All that waits."""

    def __init__(self) -> None:
        self._by_component: dict[str, dict[str, deque[Work]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_component)

    def put(self, work: Work) -> None:
        """Let it wait."""
        self._by_component.setdefault(work.machine.component, {}).setdefault(work.name, deque()).append(work)

    def of(self, component: str) -> list[deque[Work]]:
        """The queues of a component."""
        return list(self._by_component.get(component, {}).values())

    def components(self) -> list[str]:
        """The components that something waits for."""
        return list(self._by_component)

    def tidy(self, component: str) -> None:
        """Forget queues that are empty."""
        queues = self._by_component.get(component)
        if queues is None:
            return
        for name in [name for name, queue in queues.items() if not queue]:
            del queues[name]
        if not queues:
            del self._by_component[component]

    def drop_ask(self, machine: Instance, ask: int) -> bool:
        """Do not send that command, query, fold or merge any more; false if it does not wait here."""
        return self._drop(work for work in self._all(machine.component) if work.machine is machine and getattr(work.action, "ask", None) == ask)

    def drop_step(self, token: Token) -> bool:
        """Do not send that attempt any more; false if it does not wait here."""
        waiting = self._all(token.component)
        return self._drop(work for work in waiting if isinstance(work.action, RunStep) and work.action.token == token)

    def _all(self, component: str) -> Iterator[Work]:
        for queue in self.of(component):
            yield from queue

    def _drop(self, found: Iterator[Work]) -> bool:
        for work in found:
            if not work.dropped:
                work.dropped = True
                return True
        return False
