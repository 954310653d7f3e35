"""A workflow's simulation: its steps, run as a process runs them, or one at a time by the test's hand.

An attempt that the engine asks for waits until the kit lets it begin: `call` never runs a step, `run` and `advance` begin
each as soon as it is asked for, and `run_by_hand` runs one whose faults are the test's, not the engine's.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from ankka_sidecar.core import actions
from ankka_sidecar.core.inputs import CallsFound, StepAnswered, StepChosen, StepSent
from ankka_sidecar.core.workflow_instance import WorkflowInstance

from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.definition.definitions import StepDefinition
from ankka.definition.settings import microseconds
from ankka.process.dispatch_step import StepAnswer, StepAttempt, run_step
from ankka.process.requests import origin_of, with_calls
from ankka.process.running import REQUEST
from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.frames import RunStep, StepDone, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import NOTHING, Payload, StepTarget
from ankka.testkit.limits import LIMITS, UNBOUNDED
from ankka.testkit.scripted_link import ScriptedLink
from ankka.testkit.simulated_loop import SimulatedLoop
from ankka.testkit.simulation import Simulation
from ankka.testkit.tested import Tested

T = TypeVar("T")

BY_HAND = "ankka:run-step"
"""What the journal says led to a step that the test named."""
_DONE = Payload(b"", NOTHING)


class AttemptThreads:
    """The threads of one attempt of a sync step."""

    def __init__(self, loop: SimulatedLoop, token: Token) -> None:
        self._loop = loop
        self._token = token

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Run `function` in a thread with the caller's context variables."""
        return self._loop.run_in_step_thread(self._token, function)


@dataclass(slots=True)
class _Attempt:
    """An attempt that runs."""

    action: actions.RunStep
    task: "asyncio.Task[StepAnswer]"
    link: ScriptedLink


class WorkflowSimulation(Simulation):
    """See the module."""

    def __init__(self, tested: Tested, instance: str, began: int) -> None:
        self.machine: WorkflowInstance = WorkflowInstance(tested.definition.component_id, instance, LIMITS, 0)
        self.waiting: actions.RunStep | None = None
        """The attempt the engine has asked for, which has not begun."""
        self.last_done: StepDone | None = None
        """What the last step that ended said."""
        self._running: dict[Token, _Attempt] = {}
        self._tried: tuple[Token | None, int] = (None, 0)
        super().__init__(tested, self.machine, began)

    @property
    def is_running(self) -> bool:
        """A step's attempt has begun and not ended."""
        return bool(self._running)

    @property
    def rests(self) -> bool:
        """Nothing goes on by itself that `run` would wait for: over, or in need of something outside."""
        record = self.machine.record
        if record.status is LifecycleStatus.RUNNING or self._running:
            return False
        return record.pause is None or record.pause.until is None

    def step(self, name: str) -> StepDefinition:
        """A declared step, by name or alias."""
        found = self.tested.definition.step(name)
        assert found is not None, f"{self.tested.definition.component_id!r} leads to a step it does not declare: {name!r}"
        return found

    # --- as the engine runs them -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let the attempt that waits begin."""
        action = self.waiting
        assert action is not None
        step = self.step(action.step)
        if step.once and not action.journalled:
            self.waiting = None
            self.feed(StepChosen(action.token))  # journalled before it begins; the engine then asks again
            return
        action = self.machine.up_to_date(action)
        self.waiting = None
        self.feed(StepSent(action.token, self.spec))
        frame, link, origin = self._sent(action, step, action.token)
        task = self.loop.create_task(_run(self.tested, frame, link, origin, self.loop), name=_name(frame))
        self._running[action.token] = _Attempt(action, task, link)

    def perform(self, action: actions.Action) -> None:
        """Do one action."""
        match action:
            case actions.RunStep():
                self.waiting = action
            case actions.CancelStep():
                self._cancel(action.token)
            case actions.AbandonStep():
                self._running.pop(action.token, None)
                self.loop.outside.discard(action.token)
            case actions.FindCalls():
                prefix = keys.of_visit(action.token)
                recorded = self.tested.script.recorded
                found = tuple((key, one.what) for key, one in recorded.items() if key.startswith(prefix))
                self.feed(CallsFound(action.token, found))
            case _:
                super().perform(action)

    def collect(self) -> bool:
        """Take the answers of handlers and of attempts."""
        ended = [(token, attempt) for token, attempt in self._running.items() if attempt.task.done()]
        for token, attempt in ended:
            del self._running[token]
            if attempt.link.problem is not None:
                self.waiting = attempt.action  # once the script has an answer it may be tried again
                raise attempt.link.problem
            answer = attempt.task.result()
            if isinstance(answer, StepDone):
                self.last_done = answer
            self.feed(StepAnswered(answer, self.spec))
        return super().collect() or bool(ended)

    def unanswered(self, token: Token) -> tuple[str, ...]:
        """The calls an attempt has under way, in words."""
        attempt = self._running.get(token)
        return attempt.link.unanswered if attempt is not None else ()

    def _cancel(self, token: Token) -> None:
        if self.waiting is not None and self.waiting.token == token:
            self.waiting = None
        attempt = self._running.get(token)
        if attempt is not None:
            attempt.task.cancel()
            attempt.link.withdraw()

    # --- by hand ---------------------------------------------------------------------------------------------------

    def run_by_hand(self, target: StepTarget | None) -> StepDone:
        """Run one attempt: of the pending step, or of `target` as if a command had led there. What it raises is raised.

        The engine hears of it only when it has ended well. An attempt that raised leaves nothing behind but the calls it
        had done; the next one has a higher number, and gets their replies.
        """
        action = self.waiting if target is None else self._would_be(target)
        assert action is not None
        step = self.step(action.step)
        tried, tries = self._tried
        tries = tries + 1 if tried == action.token else 1
        self._tried = action.token, tries
        token = msgspec.structs.replace(action.token, attempt=action.token.attempt + tries - 1)
        frame, link, origin = self._sent(self.machine.up_to_date(action), step, token)
        client = ComponentClient.inside(link, origin)
        attempt = StepAttempt(self.tested.definition, step, frame, client, self.tested.resources, self.tested.create)
        task = self.loop.create_task(_by_hand(attempt, step, frame, self.loop), name=_name(frame))
        self._wait_for(task, link, microseconds(step.timeout), step)
        if link.problem is not None:
            raise link.problem
        done, error = task.result()
        if error is not None:
            raise error
        assert done is not None
        if target is not None:
            self.give(BY_HAND, WorkflowCommandDone(0, _DONE, transition=target))
        self._take(done)
        return done

    def _wait_for(self, task: "asyncio.Task[object]", link: ScriptedLink, timeout: int, step: StepDefinition) -> None:
        deadline = self.clock.now + timeout
        self.settle(deadline)
        while not task.done() and self.pass_time(deadline - 1):
            continue
        if task.done():
            return
        self.clock.now = deadline
        task.cancel()
        link.withdraw()
        self.settle()
        raise TimeoutError(f"step {step.name!r} of {self.spec.component}/{self.machine.instance} did not end within {step.timeout} (simulated)")

    def _would_be(self, target: StepTarget) -> actions.RunStep:
        """The attempt that would follow if a command led to `target` now."""
        record = self.machine.record
        run = record.run if record.is_live else record.run + 1
        generation = record.generation if record.sequence else max(self.clock.now, record.generation + 1)
        token = Token(self.spec.component, self.machine.instance, generation, run, record.sequence + 1, 1)
        now = self.clock.now
        return actions.RunStep(token, target.step, target.input, self.machine.state, record.state_sequence, record.sequence + 1, None, now)

    def _take(self, done: StepDone) -> None:
        """Tell the engine that the pending attempt has begun, and what it came to."""
        waiting = self.waiting
        if waiting is None:
            return  # the run ended or was redirected while the step ran: it counts for nothing
        if self.step(waiting.step).once and not waiting.journalled:
            self.feed(StepChosen(waiting.token))
        self.waiting = None
        self.feed(StepSent(waiting.token, self.spec))
        self.last_done = answer = msgspec.structs.replace(done, token=waiting.token, base=self.machine.record.state_sequence)
        self.feed(StepAnswered(answer, self.spec))
        self.settle()

    def _sent(self, action: actions.RunStep, step: StepDefinition, token: Token) -> tuple[RunStep, ScriptedLink, Origin]:
        timeout = microseconds(step.timeout)
        frame = RunStep(token, step.name, action.input, action.state, action.base, action.sequence, timeout, action.trace, action.since)
        link = self.link(timeout, token if step.threaded else None)
        return frame, link, origin_of(frame, UNBOUNDED)


async def _run(tested: Tested, frame: RunStep, link: ScriptedLink, origin: Origin, loop: SimulatedLoop) -> StepAnswer:
    """As a process runs it: the calls that were done go with the answer."""
    REQUEST.set(frame)
    client = ComponentClient.inside(link, origin)
    answer = await run_step(tested.definition, frame, client, tested.resources, AttemptThreads(loop, frame.token), tested.create)
    return with_calls(answer, origin)


async def _by_hand(attempt: StepAttempt, step: StepDefinition, frame: RunStep, loop: SimulatedLoop) -> tuple[StepDone | None, BaseException | None]:
    REQUEST.set(frame)
    try:
        return await (attempt.run_async() if step.is_async else attempt.run_threaded(AttemptThreads(loop, frame.token))), None
    except BaseException as error:  # also what would end the loop: it is raised in the test
        return None, error


def _name(frame: RunStep) -> str:
    return f"step '{frame.step}' of {frame.token}"
