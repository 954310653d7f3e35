"""What a process says and remembers on its sessions with the sidecar, without any socket (DESIGN §4).

One object for the life of the process; sessions come and go:

    apart ──hello()──► greeting ──Welcome──► open ──lost()──► apart
                          └──Rejected──► the connection decides

Rules
  * Reading never stops: `receive` handles each frame at once; what takes time becomes a task in `work`.
  * HandlerRequest numbers are per session: commands, queries and folds under way when it is lost are cancelled and their
    answers dropped. Step attempts and their answers outlive it (W11).
  * Everything goes out through one `Outgoing` per session, in order.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ankka.process.attempts import ENDED, REPLACED, AttemptTable, StepAnswer
from ankka.process.calls import CallTable
from ankka.process.outgoing import Outgoing
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import (
    PROTOCOL_VERSION,
    CallRefused,
    CallReplied,
    CancelRequest,
    CancelStep,
    Drain,
    Fingerprint,
    Fold,
    Frame,
    Hello,
    Merge,
    Ping,
    Pong,
    Refused,
    RunCommand,
    RunQuery,
    RunStep,
    StepAck,
    StepFaulted,
    StepStopped,
    Welcome,
)
from ankka.protocol.process_identity import ProcessIdentity
from ankka.protocol.spec import ComponentSpec
from ankka.protocol.wire import FrameTooLarge

logger: logging.Logger = logging.getLogger("ankka")

HandlerRequest = RunCommand | RunQuery | Fold | Merge | Fingerprint


class Work(Protocol):
    """What runs a process's handlers; answers go to the session by `answer` and `answer_step`."""

    def request(self, frame: HandlerRequest) -> None:
        """Run a command, a query, a fold or a merge, or fingerprint an input."""
        ...

    def cancel_request(self, request: int) -> None:
        """Nobody waits for it any more."""
        ...

    def drop_requests(self) -> None:
        """The session they belong to is over."""
        ...

    def step(self, frame: RunStep) -> None:
        """Run a step attempt."""
        ...

    def cancel_step(self, token: Token) -> None:
        """The attempt was replaced."""
        ...


class Session:
    """The process's (or a client's) side of its sessions; `clock` is the loop's, in seconds."""

    def __init__(
        self,
        identity: ProcessIdentity,
        clock: Callable[[], float],
        *,
        sdk: str,
        service: str = "",
        components: tuple[ComponentSpec, ...] = (),
        steps: int = 0,
        threads: int = 0,
    ) -> None:
        self._identity = identity
        self._clock = clock
        self._sdk, self._service, self._components = sdk, service, components
        self._steps, self._threads = steps, threads
        self.attempts: AttemptTable = AttemptTable(clock)
        self.calls: CallTable = CallTable(clock, self.attempts.why_no_calls)
        self.work: Work | None = None
        self.welcome: Welcome | None = None
        """The limits of the present session, or of the last one."""
        self.heard_at: float = clock()
        """When a frame last came in."""
        self.draining: bool = False
        self.acknowledged: asyncio.Event = asyncio.Event()
        """Set whenever no answer waits for its acknowledgement."""
        self.acknowledged.set()
        self._outgoing: Outgoing | None = None
        self._pings = 0
        self._receivers: dict[type[Frame], Callable[[Any], None]] = {
            RunCommand: self._request,
            RunQuery: self._request,
            Fold: self._request,
            Merge: self._request,
            Fingerprint: self._request,
            RunStep: self._run_step,
            CancelStep: self._cancel_step,
            CancelRequest: self._cancel_request,
            StepAck: self._step_ack,
            CallReplied: self.calls.replied,
            CallRefused: self.calls.refused,
            Ping: self._ping,
            Pong: _nothing,
            Drain: self._drain,
        }

    # --- a session's life ----------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether a session is open now."""
        return self._outgoing is not None

    def hello(self) -> Hello:
        """The first frame of the next session: everything that still runs or is not acknowledged is listed."""
        identity = self._identity
        return Hello(
            protocol=PROTOCOL_VERSION,
            sdk=self._sdk,
            service=self._service,
            boot=identity.boot,
            host=identity.host,
            pid=identity.pid,
            pid_started=identity.pid_started,
            components=self._components,
            running=self.attempts.listed(),
            steps=self._steps,
            threads=self._threads,
        )

    def opened(self, welcome: Welcome, wake: Callable[[], None]) -> None:
        """The sidecar has taken the session: answers without an acknowledgement and waiting calls are sent."""
        self.welcome = welcome
        self.heard_at = self._clock()
        self._outgoing = Outgoing(welcome.message_limit, wake)
        for answer in self.attempts.unacknowledged():
            self._send_step_answer(answer)
        if self.draining:
            self._put(Drain("the process is stopping"))
        self.calls.opened(self._outgoing, welcome.calls)

    def lost(self, obstacle: str) -> None:
        """The session is over; `obstacle` says why calls wait from now on."""
        if self._outgoing is None:
            self.calls.obstacle = obstacle
            return
        self._outgoing = None
        if self.work is not None:
            self.work.drop_requests()
        self.calls.lost(obstacle)

    def drain(self) -> None:
        """Take no new steps from now on and say so; commands that running steps wait for are still answered."""
        self.draining = True
        self._put(Drain("the process is stopping"))

    def take(self) -> bytes | None:
        """The next message to write, or `None`."""
        return self._outgoing.take() if self._outgoing is not None else None

    def receive(self, frames: Sequence[Frame]) -> None:
        """Handle the frames of a message, each at once."""
        self.heard_at = self._clock()
        receivers = self._receivers
        for frame in frames:
            receiver = receivers.get(type(frame))
            if receiver is not None:
                receiver(frame)
            else:
                logger.warning("the sidecar sent a %s in the middle of a session; it is ignored", type(frame).__name__)

    def ping(self) -> None:
        """Ask whether the sidecar's loop is alive; any frame is an answer."""
        self._pings += 1
        self._put(Ping(self._pings))

    # --- answers -------------------------------------------------------------------------------------------------

    def answer(self, frame: Frame, request: int) -> None:
        """Send the answer of a command, query, fold or merge."""
        try:
            self._put(frame)
        except FrameTooLarge as error:
            self._put(Refused(request, Error(ErrorCode.TOO_LARGE, f"the handler's answer cannot be sent: {error}", {"limit": error.limit})))

    def answer_step(self, answer: StepAnswer) -> None:
        """Send the answer of a step, and keep it until it is acknowledged."""
        if self.attempts.answer(answer):
            self.acknowledged.clear()
            self.calls.withdraw_all_of(answer.token, ENDED)
            self._send_step_answer(answer)

    def replace(self, token: Token) -> None:
        """The attempt's result does not count any more: it calls nothing from now on."""
        self.attempts.replace(token)
        self.calls.withdraw_all_of(token, REPLACED)

    def _send_step_answer(self, answer: StepAnswer) -> None:
        try:
            self._put(answer)
        except FrameTooLarge as error:
            self._put(StepFaulted(answer.token, ("FrameTooLarge",), f"the step's answer cannot be sent: {error}", retryable=False))

    def _put(self, frame: Frame) -> None:
        if self._outgoing is not None:
            self._outgoing.put(frame)

    # --- frames from the sidecar ---------------------------------------------------------------------------------

    def _request(self, frame: HandlerRequest) -> None:
        if self.work is None:
            self._put(Refused(frame.request, Error(ErrorCode.NOT_FOUND, "this session is a client's; it hosts no components")))
        else:
            self.work.request(frame)

    def _run_step(self, frame: RunStep) -> None:
        token = frame.token
        if token in self.attempts:
            answer = self.attempts.answer_of(token)
            if answer is not None:
                self._send_step_answer(answer)
        elif self.work is None or self.draining:
            self.attempts.start(token, frame.step)
            self.answer_step(StepStopped(token, "drained"))
        else:
            self.attempts.start(token, frame.step)
            self.work.step(frame)

    def _cancel_step(self, frame: CancelStep) -> None:
        self.replace(frame.token)
        if self.work is not None:
            self.work.cancel_step(frame.token)

    def _cancel_request(self, frame: CancelRequest) -> None:
        if self.work is not None:
            self.work.cancel_request(frame.request)

    def _step_ack(self, frame: StepAck) -> None:
        self.attempts.acknowledge(frame.token)
        if not self.attempts.has_unacknowledged:
            self.acknowledged.set()

    def _ping(self, frame: Ping) -> None:
        self._put(Pong(frame.number))

    def _drain(self, frame: Drain) -> None:
        logger.info("the sidecar is stopping%s; what runs here goes on", f" ({frame.reason})" if frame.reason else "")
        self.calls.hold()


def _nothing(frame: object) -> None:
    del frame
