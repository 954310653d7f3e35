"""Work to processes: who gets it, who waits for credit, who waits for a process.

Credit is kept per lane (steps, threads, commands, nested commands, queries), so a process full of steps still answers
the commands its steps wait for. What finds no free process waits here, in order, per component.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import CancelStep, Fold, Frame, RunCommand, RunQuery, StepFaulted
from ankka.protocol.frames import RunStep as RunStepFrame
from ankka.protocol.spec import HandlerSpec
from ankka.protocol.wire import FrameTooLarge
from ankka_sidecar.core.actions import AskFold, AskHandler, RunStep
from ankka_sidecar.core.inputs import AskLost, Input, StepAnswered, StepSent
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.ports.clock import Clock
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.runtime.processes import Lane, Process

log = logging.getLogger("ankka.sidecar.processes")


class Work:
    """A command, query, fold or step attempt that waits for a process."""

    __slots__ = ("action", "dropped", "machine", "since")

    def __init__(self, machine: Instance, action: AskHandler | AskFold | RunStep, since: int) -> None:
        self.machine = machine
        self.action = action
        self.since = since
        self.dropped = False


class Dispatcher:
    """Sends work to attached processes; see the module."""

    def __init__(self, clock: Clock, faults: Faults, feed: Callable[[Instance, Input], None], handler_timeout: int) -> None:
        self._clock = clock
        self._faults = faults
        self._feed = feed
        self._handler_timeout = handler_timeout
        self._processes: list[Process] = []
        self._next = 0
        self._waiting: dict[str, deque[Work]] = {}

    @property
    def processes(self) -> list[Process]:
        """The processes that are attached or expected back."""
        return self._processes

    @property
    def attached(self) -> list[Process]:
        """Those that take work now."""
        return [process for process in self._processes if process.is_attached]

    def running(self) -> int:
        """What processes that are connected have now: step attempts, commands, queries, folds."""
        return sum(len(process.attempts) + len(process.asked) for process in self._processes if process.link is not None)

    def handler(self, component: str, name: str) -> tuple[bool, HandlerSpec | None]:
        """Whether an attached process declares the component, and the handler if one declares it."""
        known = False
        for process in self._processes:
            if process.is_attached and component in process.components:
                known = True
                handler = process.handlers.get((component, name))
                if handler is not None:
                    return True, handler
        return known, None

    # --- processes come and go -------------------------------------------------------------------------------------

    def add(self, process: Process) -> None:
        """A process is attached, or is so again."""
        if process not in self._processes:
            self._processes.append(process)
        self.pump(process)

    def remove(self, process: Process) -> None:
        """A process will not come back."""
        if process in self._processes:
            self._processes.remove(process)

    def freed(self, process: Process) -> None:
        """A process has credit again."""
        if self._waiting:
            self.pump(process)

    def pump(self, process: Process) -> None:
        """Give a process what waits for it."""
        for component in process.components:
            waiting = self._waiting.get(component)
            if not waiting or not process.is_attached:
                continue
            kept: deque[Work] = deque()
            while waiting:
                work = waiting.popleft()
                if work.dropped:
                    continue
                lane = self._lane(process, work)
                if lane is not None and lane.is_free:
                    self._send(process, lane, work)
                else:
                    kept.append(work)
            if kept:
                self._waiting[component] = kept
            else:
                del self._waiting[component]

    # --- work ------------------------------------------------------------------------------------------------------

    def submit(self, machine: Instance, action: AskHandler | AskFold | RunStep) -> None:
        """Send it to a process now, or when one is free."""
        work = Work(machine, action, self._clock.now())
        count = len(self._processes)
        for offset in range(count):  # in turn, so that several processes share the work
            process = self._processes[(self._next + offset) % count]
            if not process.is_attached:
                continue
            lane = self._lane(process, work)
            if lane is not None and lane.is_free:
                self._next = (self._next + offset + 1) % count
                self._send(process, lane, work)
                return
        self._waiting.setdefault(machine.component, deque()).append(work)

    def cancel_ask(self, machine: Instance, ask: int) -> None:
        """Nobody waits for that command, query or fold any more."""
        for work in self._waiting.get(machine.component, ()):
            if work.machine is machine and getattr(work.action, "ask", None) == ask:
                work.dropped = True
                return
        for process in self._processes:
            if process.cancel(machine, ask):
                return

    def cancel_step(self, token: Token) -> None:
        """The attempt was replaced: withdraw it, or tell its process."""
        for work in self._waiting.get(token.component, ()):
            if isinstance(work.action, RunStep) and work.action.token == token:
                work.dropped = True
                return
        for process in self._processes:
            if token in process.attempts:
                self._faults.point("cancel.before-send")
                process.send(CancelStep(token))
                return

    def expire(self, before: int) -> None:
        """Commands, queries and folds that waited since `before` or longer for a process get `UNAVAILABLE`.

        Only where no process declares the component: one that is merely busy answers in time, or its timeout does.
        """
        for component, waiting in list(self._waiting.items()):
            if any(component in process.components for process in self.attached):
                continue
            for work in list(waiting):
                if not isinstance(work.action, RunStep) and not work.dropped and work.since <= before:
                    work.dropped = True
                    self._feed(work.machine, AskLost(work.action.ask, unavailable(component)))
            kept = deque(work for work in waiting if not work.dropped)
            if kept:
                self._waiting[component] = kept
            else:
                del self._waiting[component]

    def _lane(self, process: Process, work: Work) -> Lane | None:
        """The lane of that process which the work takes a place of; `None` if it does not declare it."""
        component = work.machine.component
        action = work.action
        if isinstance(action, RunStep):
            step = process.step(component, action.step)
            if step is None:
                return None
            return process.threads if step.threaded else process.steps
        if component not in process.components:
            return None
        if isinstance(action, AskFold):
            return process.commands
        if (component, action.call.handler) not in process.handlers:
            return None
        if action.call.read_only:
            return process.queries
        return process.nested if action.call.chain else process.commands

    def _send(self, process: Process, lane: Lane, work: Work) -> None:
        machine, action = work.machine, work.action
        if isinstance(action, RunStep):
            self._send_step(process, machine, action)
            return
        request = process.next_request()
        self._faults.point(f"{_kind(action)}.before-send")
        frame = self._request_frame(machine, action, request)
        process.ask(request, machine, action.ask, lane)
        try:
            process.send(frame)
        except FrameTooLarge as error:
            process.answered(request)
            text = f"{machine.component}/{machine.instance} does not fit into a message: {error}"
            self._feed(machine, AskLost(action.ask, Error(ErrorCode.TOO_LARGE, text, {"limit": error.limit})))

    def _request_frame(self, machine: Instance, action: AskHandler | AskFold, request: int) -> Frame:
        if isinstance(action, AskFold):
            return Fold(request, machine.component, machine.instance, action.state, action.events)
        call = action.call
        timeout = min(self._handler_timeout, max(0, call.deadline - self._clock.now()))
        if call.read_only:
            return RunQuery(
                request, machine.component, machine.instance, call.handler, call.input, action.state, action.sequence, timeout, call.metadata
            )
        return RunCommand(
            request, machine.component, machine.instance, call.handler, call.input, action.state, action.sequence, timeout, call.metadata,
            call.chain, call.key,
        )  # fmt: skip

    def _send_step(self, process: Process, machine: Instance, action: RunStep) -> None:
        step = process.step(machine.component, action.step)
        assert step is not None
        spec = process.components[machine.component]
        self._faults.point("step.before-send")
        frame = RunStepFrame(action.token, step.name, action.input, action.state, action.base, action.sequence, step.timeout, action.trace)
        process.begin(action.token, step)
        self._feed(machine, StepSent(action.token, spec))
        try:
            process.send(frame)
        except FrameTooLarge as error:
            process.ended(action.token)
            fault = StepFaulted(action.token, ("FrameTooLarge",), f"step input and state do not fit into a message: {error}", retryable=False)
            self._feed(machine, StepAnswered(fault, spec))
        self._faults.point("step.after-send")


def unavailable(component: str) -> Error:
    """Nobody runs that component now."""
    text = f"no process that runs '{component}' is attached; nothing was done, try again when it is (its `start()` must be running)"
    return Error(ErrorCode.UNAVAILABLE, text)


def _kind(action: AskHandler | AskFold) -> str:
    if isinstance(action, AskFold):
        return "fold"
    return "query" if action.call.read_only else "command"


def declared_by(processes: Iterable[Process]) -> list[str]:
    """The components that any of them declares, sorted."""
    return sorted({component for process in processes for component in process.components})
