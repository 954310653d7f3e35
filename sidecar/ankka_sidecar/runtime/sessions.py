"""One peer's connection: its frames become inputs and calls, and what it called is answered on it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ankka.protocol import frames
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.wire import FrameTooLarge
from ankka_sidecar.core.inputs import HandlerAnswered, StepAnswered
from ankka_sidecar.core.workflow_instance import WorkflowInstance
from ankka_sidecar.ports.processes import Link
from ankka_sidecar.runtime.callers import Request, Result
from ankka_sidecar.runtime.limits import answer_within, step_within
from ankka_sidecar.runtime.node import Node
from ankka_sidecar.runtime.processes import Process

if TYPE_CHECKING:
    from ankka_sidecar.runtime.attachments import Attachments

log = logging.getLogger("ankka.sidecar.processes")

PING_EVERY = 1_000_000
SILENT_AFTER = 2_000_000
"""µs without any frame after which a process gets no new work (it is pinged every second)."""
CLOSED_AFTER = 30_000_000


class PeerSession:
    """A process's or client's connection; `process` is `None` for a client."""

    def __init__(self, node: Node, host: Attachments, link: Link, hello: frames.Hello) -> None:
        self._node = node
        self._host = host
        self.link = link
        self._hello = hello
        self.process: Process | None = None
        self._calls: dict[int, int] = {}
        self.heard_at = node.clock.now()
        """When the peer's last frames came: any frame shows that it lives."""
        self._closed = False
        self._pinged_at = 0
        self._limit = min(node.settings.max_payload, node.settings.max_state)
        self._is_large = False
        """Whether the present message could hold anything above a limit: only then it is looked for."""
        self._pings = 0
        self._on: dict[type[frames.Frame], Callable[[Any], None]] = {
            frames.WorkflowCommandDone: self._on_answer,
            frames.EntityCommandDone: self._on_answer,
            frames.Replied: self._on_answer,
            frames.Refused: self._on_answer,
            frames.Folded: self._on_answer,
            frames.Merged: self._on_answer,
            frames.Fingerprinted: self._on_answer,
            frames.StepDone: self._on_step,
            frames.StepFaulted: self._on_step,
            frames.StepStopped: self._on_step,
            frames.Call: self._on_call,
            frames.CancelCall: self._on_cancel_call,
            frames.Ping: self._on_ping,
            frames.Pong: self._on_pong,
            frames.Drain: self._on_drain,
            frames.Hello: self._on_hello,
        }

    def welcome(self, welcome: frames.Welcome) -> None:
        """The peer is taken."""
        if self.process is not None:
            self.process.session = self
        self.link.send(welcome)

    def say_drain(self, reason: str) -> None:
        """This node goes away."""
        self.link.send(frames.Drain(reason))

    # --- what the server tells -------------------------------------------------------------------------------------

    def received(self, received: list[frames.Frame], size: int) -> None:
        """See `ports.processes.Session`."""
        if self._closed:
            return
        self.heard_at = self._node.clock.now()
        if self.process is not None and self.process.silent:
            self._is_back(self.process)
        self._is_large = size > self._limit
        on = self._on
        for frame in received:
            on[type(frame)](frame)

    def closed(self) -> None:
        """See `ports.processes.Session`."""
        if self._closed:
            return
        self._closed = True
        for call in self._calls.values():
            self._node.drop(call)
        self._calls.clear()
        self._host.closed(self)

    # --- is it alive? ----------------------------------------------------------------------------------------------

    def look_after(self, now: int) -> None:
        """Ask whether the peer lives; one that does not echo gets no new work, and is closed in the end."""
        if now - self._pinged_at >= PING_EVERY:
            self._pinged_at = now
            self._pings += 1
            self.link.send(frames.Ping(self._pings))
        quiet = now - self.heard_at
        process = self.process
        if quiet >= SILENT_AFTER and process is not None and not process.silent:
            process.silent = True
            log.warning(
                "%s has not answered for %.1f s: its loop is blocked or its connection is cut; it gets no new work", process, quiet / 1_000_000
            )
        if quiet >= CLOSED_AFTER:
            # A frozen peer reads nothing, so a close may never be written: it counts as gone from now on.
            self.link.close(f"not heard of for {quiet // 1_000_000} s")
            self.closed()

    def _is_back(self, process: Process) -> None:
        process.silent = False
        log.info("%s answers again", process)
        self._node.dispatcher.freed(process)

    # --- a process's answers ---------------------------------------------------------------------------------------

    def _on_answer(self, frame: Any) -> None:
        process = self.process
        asked = process.answered(frame.request) if process is not None else None
        if process is None or asked is None:
            return  # nobody waits: the sidecar had given up on it
        spec = process.components[asked.machine.component]
        if self._is_large:
            frame = answer_within(frame, self._node.settings)
        self._node.feed(asked.machine, HandlerAnswered(asked.ask, frame, spec))
        self._node.dispatcher.freed(process)

    def _on_step(self, frame: Any) -> None:
        process = self.process
        if process is None:
            return
        self._node.faults.point("step.answered")
        token = frame.token
        if self._is_large:
            frame = step_within(frame, self._node.settings)
        process.ended(token)
        spec = process.components.get(token.component)
        if spec is None:
            log.warning("%s answered an attempt of '%s', which it does not declare", process, token.component)
            return
        if isinstance(frame, frames.StepStopped) and frame.unreadable:
            machine = self._node.machines.get((token.component, token.instance))
            if isinstance(machine, WorkflowInstance):
                process.unread[token.component, token.instance] = (token.generation, token.visit, machine.record.state_sequence)
        self._node.performer.answered_by(token, process)
        self._node.attempt_ended(token, StepAnswered(frame, spec))
        self._node.dispatcher.freed(process)

    # --- calls -----------------------------------------------------------------------------------------------------

    def _on_call(self, call: frames.Call) -> None:
        # Nested calls are bounded by the mailboxes they wait in: counted here, a process full of them could not go on.
        if not call.chain and len(self._calls) >= self._host.calls:
            text = f"{len(self._calls)} calls are under way on this connection already"
            self._answer(call.request, Error(ErrorCode.RESOURCE_EXHAUSTED, text, {"limit": self._host.calls}))
            return
        request = Request(
            call.component,
            call.instance,
            call.handler,
            call.input,
            call.timeout,
            call.kind,
            False,
            call.metadata,
            call.chain,
            call.attempt,
            call.key,
            call.trace,
            call.fresh,
        )
        self._calls[call.request] = 0
        number = self._node.call(request, partial(self._answer, call.request))
        if call.request in self._calls:  # else it was answered at once
            self._calls[call.request] = number

    def _answer(self, number: int, result: Result) -> None:
        self._calls.pop(number, None)
        if isinstance(result, Error):
            self.link.send(frames.CallRefused(number, result))
            return
        try:
            self.link.send(frames.CallReplied(number, result))
        except FrameTooLarge as error:
            self.link.send(frames.CallRefused(number, Error(ErrorCode.TOO_LARGE, f"the reply does not fit: {error}", {"limit": error.limit})))

    def _on_cancel_call(self, cancel: frames.CancelCall) -> None:
        call = self._calls.pop(cancel.request, None)
        if call is not None:
            self._node.drop(call)

    # --- the session itself ----------------------------------------------------------------------------------------

    def _on_ping(self, ping: frames.Ping) -> None:
        self.link.send(frames.Pong(ping.number))

    def _on_pong(self, pong: frames.Pong) -> None:
        """`received` has noted it."""

    def _on_drain(self, drain: frames.Drain) -> None:
        if self.process is not None:
            self.process.draining = True
            log.info("%s takes no new work: %s", self.process, drain.reason or "it stops")

    def _on_hello(self, hello: frames.Hello) -> None:
        self.link.close("a second hello on one connection")
