"""Runs what a session asks for through dispatch, and sends the answers back.

A sync command or query, a fold, a merge or a fingerprint is answered at once, without a task. An async one, and every
step, is a task; sync steps run in threads, where a task of their own waits for them.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from typing import Any

from ankka.calls.caller import CallLink
from ankka.client import ComponentClient
from ankka.process.dispatch import CommandAnswer, QueryAnswer
from ankka.process.dispatch_step import run_step
from ankka.process.overdue import OverdueAttempts
from ankka.process.registry import Hosted
from ankka.process.requests import answer_to, origin_of, with_calls
from ankka.process.running import REQUEST, OnLoop, in_words
from ankka.process.session import HandlerRequest, Session
from ankka.process.threads import StepThreads
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Refused, RunCommand, RunQuery, RunStep, StepStopped

COUNT_AGAIN = 0.5
"""Seconds after which who waits for the running steps looks which of them do not end."""
CANCEL_GRACE = 5_000_000
"""µs a cancelled attempt has, where no sidecar has said otherwise yet."""


class HandlerWork:
    """The handlers of a process at work. `link` is what their clients call through; `on_loop` is told what runs."""

    def __init__(
        self, session: Session, link: CallLink, components: Mapping[str, Hosted], threads: StepThreads, resources: Any, on_loop: OnLoop
    ) -> None:
        self._session = session
        self._link = link
        self._components = components
        self._threads = threads
        self._resources = resources
        self._requests: dict[int, asyncio.Task[None]] = {}
        self._steps: dict[Token, tuple[RunStep, asyncio.Task[None]]] = {}
        self._reasons: dict[Token, str] = {}
        self._on_loop = on_loop
        self.overdue: OverdueAttempts = OverdueAttempts(link.loop, threads.size)

    # --- commands, queries, folds, merges ------------------------------------------------------------------------

    def request(self, frame: HandlerRequest) -> None:
        """Answer a command, query, fold, merge or fingerprint; an async handler answers from a task."""
        hosted = self._components.get(frame.component)
        if hosted is None:
            message = f"this process does not host the component {frame.component!r}; it hosts {', '.join(self._components)}"
            self._session.answer(Refused(frame.request, Error(ErrorCode.NOT_FOUND, message)), frame.request)
            return
        self._on_loop.sync = frame
        before = REQUEST.set(frame)
        client = None
        if isinstance(frame, (RunCommand, RunQuery)):
            client = ComponentClient.inside(self._link, origin_of(frame, time.monotonic() + frame.timeout / 1_000_000))
        answer = answer_to(frame, hosted.definition, hosted.create, client, self._resources)
        REQUEST.reset(before)
        self._on_loop.sync = None
        if asyncio.iscoroutine(answer):
            task = self._link.loop.create_task(self._answer_later(frame, answer))
            self._requests[frame.request] = task
        else:
            self._session.answer(answer, frame.request)

    def cancel_request(self, request: int) -> None:
        """Nobody waits for it any more: its task is cancelled. It is answered all the same, which frees its place."""
        task = self._requests.get(request)
        if task is not None:
            self._cancel(task)

    def drop_requests(self) -> None:
        """The session they came by is over: whoever waits asks again."""
        requests, self._requests = self._requests, {}
        for task in requests.values():
            self._cancel(task)

    async def _answer_later(self, frame: HandlerRequest, coming: Coroutine[Any, Any, CommandAnswer | QueryAnswer]) -> None:
        request = frame.request
        REQUEST.set(frame)
        try:
            answer = await coming
        except asyncio.CancelledError:
            answer = Refused(request, Error(ErrorCode.UNAVAILABLE, "the request was cancelled"))
        # After a loss the number may be another request's of the next session, so the task is what counts.
        if self._requests.get(request) is asyncio.current_task():
            del self._requests[request]
            self._session.answer(answer, request)

    def _cancel(self, task: "asyncio.Task[None]") -> None:
        # Soon, so that a task that has not begun begins: a handler's coroutine that is never awaited is a warning.
        self._link.loop.call_soon(task.cancel)

    # --- steps ---------------------------------------------------------------------------------------------------

    def step(self, frame: RunStep) -> None:
        """Run a step attempt."""
        token = frame.token
        hosted = self._components.get(token.component)
        if hosted is None:
            self._session.answer_step(StepStopped(token, f"this process does not host the component {token.component!r}"))
            return
        task = self._link.loop.create_task(self._run_step(hosted, frame), name=f"ankka step {frame.step} of {token}")
        self._steps[token] = frame, task
        task.add_done_callback(lambda _: self._step_ended(token))

    def cancel_step(self, token: Token, reason: str = "cancelled") -> None:
        """Cancel an attempt: an async step's task is cancelled, a sync one sees `context.is_cancelled`."""
        running = self._steps.get(token)
        if running is None:
            return
        frame, task = running
        self._reasons.setdefault(token, reason)
        step = self._components[token.component].definition.step(frame.step)
        welcome = self._session.welcome
        grace = (CANCEL_GRACE if welcome is None else welcome.cancel_grace) / 1_000_000
        self.overdue.watch(token, in_words(frame), task.cancel, threaded=step is not None and step.threaded, grace=grace)
        task.cancel()

    async def _run_step(self, hosted: Hosted, frame: RunStep) -> None:
        REQUEST.set(frame)
        origin = origin_of(frame, time.monotonic() + frame.timeout / 1_000_000)
        client = ComponentClient.inside(self._link, origin)
        answer = await run_step(hosted.definition, frame, client, self._resources, self._threads, hosted.create)
        if isinstance(answer, StepStopped) and answer.token in self._reasons:
            answer = StepStopped(answer.token, self._reasons[answer.token])
        self._session.answer_step(with_calls(answer, origin))

    def _step_ended(self, token: Token) -> None:
        del self._steps[token]
        self.overdue.ended(token)
        reason = self._reasons.pop(token, "cancelled")
        # A task that was cancelled before it began has answered nothing; for any other this is dropped.
        self._session.answer_step(StepStopped(token, reason))

    # --- stopping ------------------------------------------------------------------------------------------------

    async def idle(self) -> None:
        """Wait until no step runs but replaced ones that do not end, and no command or query that runs now."""
        while steps := [task for token, (_, task) in self._steps.items() if token not in self.overdue]:
            await asyncio.wait(steps, timeout=COUNT_AGAIN)
        if self._requests:
            await asyncio.wait(self._requests.values())

    def cancel_steps(self, reason: str) -> None:
        """Cancel every step that runs; none of them calls anything any more."""
        for token in list(self._steps):
            self._session.replace(token)
            self.cancel_step(token, reason)

    def give_back_steps(self, reason: str) -> None:
        """Answer for the steps that have not ended, so that they run again elsewhere; what they still come to is dropped."""
        for token in list(self._session.attempts.running()):
            self._session.answer_step(StepStopped(token, reason))

    def cancel_all(self, reason: str) -> None:
        """Cancel everything; nobody is told."""
        self.drop_requests()
        self.cancel_steps(reason)
        self.overdue.close()
