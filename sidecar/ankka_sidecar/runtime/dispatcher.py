"""Work to processes: who gets it, who waits for credit, who waits for a process.

Credit is kept per lane (steps, threads, commands, folds with merges and fingerprints, queries), so a process full of steps still answers
the commands its steps wait for, and one full of commands still folds the instances they call; what a command or query
calls needs no credit. What finds no free process waits in `queues`.

An instance that a newer version of the code has written is not given to an older one while the newer is attached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import CancelStep, StepFaulted
from ankka.protocol.spec import ComponentSpec, HandlerSpec
from ankka.protocol.wire import FrameTooLarge
from ankka_sidecar.core.actions import AskFingerprint, AskFold, AskMerge, RunStep
from ankka_sidecar.core.attempting import Attempting
from ankka_sidecar.core.durations import in_words
from ankka_sidecar.core.inputs import AskLost, Input, StepAnswered, StepChosen, StepSent
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.ports.clock import Clock
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.runtime.framing import Asked, kind_of, request_frame, step_frame
from ankka_sidecar.runtime.processes import Lane, Process
from ankka_sidecar.runtime.queues import Queues, Work


class Dispatcher:
    """Sends work to attached processes; see the module."""

    def __init__(self, clock: Clock, faults: Faults, feed: Callable[[Instance, Input], None], handler_timeout: int) -> None:
        self._clock = clock
        self._faults = faults
        self._feed = feed
        self._handler_timeout = handler_timeout
        self._processes: list[Process] = []
        self._next = 0
        self._queues = Queues()
        self.broke: Callable[[Instance, Input | None, Exception], None] = _raise
        """Told of an instance on whose work this broke."""
        self.schemas: Mapping[tuple[str, str], int] = {}
        """(component, fingerprint) in the order in which the journal first saw them."""

    # --- what is attached ------------------------------------------------------------------------------------------

    @property
    def processes(self) -> list[Process]:
        """The processes that are attached or expected back."""
        return self._processes

    @property
    def attached(self) -> list[Process]:
        """Those that take work now."""
        return [process for process in self._processes if process.is_attached]

    def has(self, token: Token) -> bool:
        """Whether a process has that attempt."""
        return any(token in process.attempts for process in self._processes)

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

    def spec_of(self, component: str) -> ComponentSpec | None:
        """What an attached process declares of a component: the newest version of it."""
        specs = [process.components[component] for process in self.attached if component in process.components]
        return max(specs, key=self._age, default=None)

    def _age(self, spec: ComponentSpec) -> int:
        return self.schemas.get((spec.component, spec.fingerprint), -1)

    # --- processes come and go -------------------------------------------------------------------------------------

    def add(self, process: Process) -> None:
        """A process is attached, or is so again."""
        if process not in self._processes:
            self._processes.append(process)
        self.pump(process)

    def remove(self, process: Process) -> None:
        """A process will not come back; what waited for a newer version may go to an older one now."""
        if process in self._processes:
            self._processes.remove(process)
        for other in self._processes:
            self.freed(other)

    def freed(self, process: Process) -> None:
        """A process has credit again."""
        if self._queues and process.is_attached:
            self.pump(process)

    def pump(self, process: Process) -> None:
        """Give a process what waits for it."""
        for component in process.components:
            queues = self._queues.of(component)
            for queue in queues:
                self._pump(process, queue)
            if queues:
                self._queues.tidy(component)

    def _pump(self, process: Process, queue: deque[Work]) -> None:
        """A queue holds one handler or step: what has no credit ends the look, what is not for this process is passed over."""
        passed: list[Work] = []
        while queue:
            work = queue.popleft()
            if work.dropped:
                continue
            lane = self._lane(process, work)
            if lane is not None and lane.is_free:
                self._send_from_queue(process, lane, work)
                continue
            passed.append(work)
            if lane is not None or not process.is_attached or not passed_over(work, process):
                break
        queue.extendleft(reversed(passed))

    # --- work ------------------------------------------------------------------------------------------------------

    def submit(self, machine: Instance, action: Asked | RunStep) -> None:
        """Send it to a process now, or when one is free."""
        work = Work(machine, action, self._clock.now())
        if not self._offer(work, draining=False) and not (self._draining and self._offer(work, draining=True)):
            self._queues.put(work)

    def _offer(self, work: Work, *, draining: bool) -> bool:
        """Give the work to a process that is free; to one that drains only where no other takes it."""
        count = len(self._processes)
        for offset in range(count):  # in turn, so that several processes share the work
            process = self._processes[(self._next + offset) % count]
            if not process.is_attached or process.draining is not draining:
                continue
            lane = self._lane(process, work)
            if lane is not None and lane.is_free:
                self._next = (self._next + offset + 1) % count
                self._send(process, lane, work)
                return True
        return False

    @property
    def _draining(self) -> bool:
        return any(process.draining for process in self._processes)

    def abandon(self, token: Token) -> None:
        """The attempt did not stop in time, and nobody waits for it any more."""
        for process in self._processes:
            if token in process.attempts:
                process.abandon(token)
                self.freed(process)

    def cancel_ask(self, machine: Instance, ask: int) -> None:
        """Nobody waits for that command, query, fold or merge any more."""
        if not self._queues.drop_ask(machine, ask):
            any(process.cancel(machine, ask) for process in self._processes)

    def cancel_step(self, token: Token) -> None:
        """The attempt was replaced: withdraw it, or tell its process."""
        if self._queues.drop_step(token):
            self._unreserve(token)
            return
        for process in self._processes:
            if token in process.attempts:
                self._faults.point("cancel.before-send")
                process.send(CancelStep(token))
                return

    def expire(self, now: int, waited: int) -> None:
        """Commands, queries and folds that have waited for a process for that long get `UNAVAILABLE`.

        Only where no process declares the component: one that is merely busy answers in time, or its timeout does.
        """
        for component in self._queues.components():
            if any(component in process.components for process in self.attached):
                continue
            late = [work for queue in self._queues.of(component) for work in queue if work.since <= now - waited and not work.dropped]
            for work in late:
                if not isinstance(work.action, (RunStep, AskMerge)):
                    work.dropped = True
                    self._feed(work.machine, AskLost(work.action.ask, unavailable(component, waited)))

    # --- who gets it -----------------------------------------------------------------------------------------------

    def _lane(self, process: Process, work: Work) -> Lane | None:
        """The lane of that process which the work takes a place of; `None` if it is not for this process now."""
        machine, action = work.machine, work.action
        component = machine.component
        spec = process.components.get(component)
        if spec is None or (machine.schema and machine.schema != spec.fingerprint and self._is_older(spec, machine.schema)):
            return None
        if isinstance(action, RunStep):
            return self._step_lane(process, component, action)
        if isinstance(action, (AskFold, AskMerge)):
            return process.folds
        if (component, action.call.handler) not in process.handlers:
            return None
        if isinstance(action, AskFingerprint):
            return process.folds
        if action.call.chain:
            return process.nested
        return process.queries if action.call.read_only else process.commands

    def _is_older(self, spec: ComponentSpec, schema: str) -> bool:
        """Whether a process with `spec` is older than what wrote the state, and a process that is not is attached."""
        wrote = self.schemas.get((spec.component, schema), -1)
        if self._age(spec) >= wrote:
            return False
        others = (process.components.get(spec.component) for process in self.attached)
        return any(other is not None and self._age(other) >= wrote for other in others)

    def _step_lane(self, process: Process, component: str, action: RunStep) -> Lane | None:
        step = process.step(component, action.step)
        if (
            step is None
            or process.draining
            or process.cannot_read(action.token, action.base)
            or (process.reserved is not None and process.reserved != action.token)
        ):
            return None
        if action.alone and process.attempts:
            # It gets this process when what runs there has ended; nothing new is given to it meanwhile.
            if process.reserved is None:
                process.reserved = action.token
            return None
        return process.threads if step.threaded else process.steps

    def _unreserve(self, token: Token) -> None:
        for process in self._processes:
            if process.reserved == token:
                process.reserved = None
                self.freed(process)

    # --- sending ---------------------------------------------------------------------------------------------------

    def _send_from_queue(self, process: Process, lane: Lane, work: Work) -> None:
        """What breaks on one piece of work stops its instance; the others get theirs."""
        try:
            self._send(process, lane, work)
        except Exception as error:
            self.broke(work.machine, None, error)

    def _send(self, process: Process, lane: Lane, work: Work) -> None:
        machine, action = work.machine, work.action
        if isinstance(action, RunStep):
            self._send_step(process, machine, action)
            return
        request = process.next_request()
        self._faults.point(f"{kind_of(action)}.before-send")
        frame = request_frame(machine, action, request, self._clock.now(), self._handler_timeout)
        process.ask(request, machine, action.ask, lane)
        try:
            process.send(frame)
        except FrameTooLarge as error:
            process.answered(request)
            text = f"{machine.component}/{machine.instance} does not fit into a message: {error}"
            self._feed(machine, AskLost(action.ask, Error(ErrorCode.TOO_LARGE, text, {"limit": error.limit})))

    def _send_step(self, process: Process, machine: Instance, action: RunStep) -> None:
        assert isinstance(machine, Attempting)
        step = process.step(machine.component, action.step)
        assert step is not None
        if step.once and not action.journalled:
            self._feed(machine, StepChosen(action.token))
            return
        spec = process.components[machine.component]
        self._faults.point("step.before-send")
        frame = step_frame(machine.up_to_date(action), step)
        process.begin(action.token, step, alone=action.alone)
        self._feed(machine, StepSent(action.token, spec))
        try:
            process.send(frame)
        except FrameTooLarge as error:
            process.ended(action.token)
            fault = StepFaulted(action.token, ("FrameTooLarge",), f"step input and state do not fit into a message: {error}", retryable=False)
            self._feed(machine, StepAnswered(fault, spec))
        self._faults.point("step.after-send")


def passed_over(work: Work, process: Process) -> bool:
    """Whether others of its queue may go to a process that does not get this one: the instance decides, not the handler."""
    action = work.action
    return bool(work.machine.schema) or (isinstance(action, RunStep) and (action.alone or process.cannot_read(action.token, action.base)))


def unavailable(component: str, waited: int | None = None) -> Error:
    """Nobody runs that component now; `waited` is how long (µs) a call waited for somebody."""
    within = "" if waited is None else f" within {in_words(waited)} (attach-wait)"
    text = f"no process that runs '{component}' is attached; nothing was done{within}, try again when it is (its `start()` must be running)"
    return Error(ErrorCode.UNAVAILABLE, text)


def declared_by(processes: Iterable[Process]) -> list[str]:
    """The components that any of them declares, sorted."""
    return sorted({component for process in processes for component in process.components})


def _raise(machine: Instance, given: Input | None, error: Exception) -> None:
    raise error
