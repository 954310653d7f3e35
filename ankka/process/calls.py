"""Calls this side has under way, within the credit the sidecar gave (DESIGN §4, W15).

    asked ──► waiting ──credit, session──► sent ──► replied | refused | out of time | lost
                 ▲                           │
                 └── lost, and repeatable or not written

A step attempt calls only while it runs and is not replaced (I12): what it has under way then is withdrawn, and what it
asks for later is not sent at all.
A call waits for a session and for credit, in order. Calls made by a command that runs have room of their own: the
calls that use up the credit may be waiting for that very command. When a connection is lost, a call that was not
written, has a key, or changes nothing is sent again; any other may have been done, and says so. So does one with a key
that could then not be sent again, or was not taken: only a call that was certainly not done is `UNAVAILABLE`.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from ankka.command_error import CommandError
from ankka.process.outgoing import Outgoing
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call, CallRefused, CallReplied, CancelCall
from ankka.protocol.payload import Payload
from ankka.protocol.wire import FrameTooLarge

ANSWER_GRACE = 1.0
"""Seconds beyond a call's time in which the sidecar's own answer is still awaited: it knows more than a timer here."""
NOT_TAKEN = (ErrorCode.UNAVAILABLE, ErrorCode.RESOURCE_EXHAUSTED)
"""Refusals of a sidecar that has not looked whether a call with a key was done before."""


@dataclass(slots=True, eq=False)
class _Pending:
    call: Call
    deadline: float
    answer: asyncio.Future[Payload]
    repeatable: bool
    position: int = field(default=0)
    doubtful: bool = field(default=False)
    """Whether an earlier sending, on a connection that was lost, may have been done."""

    @property
    def target(self) -> str:
        return f"{self.call.component}/{self.call.instance}/{self.call.handler}"


def check_loop(own: asyncio.AbstractEventLoop) -> None:
    """`RuntimeError` in another event loop than the session's `own`: nothing would wake what waits there for an answer."""
    if asyncio.get_running_loop() is not own:
        raise RuntimeError(
            "this client belongs to the event loop it was opened on, and another one runs here; in a sync step leave asyncio.run(…) out "
            "and use .invoke_sync(…), .await_end_sync(…) or .lifecycle_sync(); a test and its fixture need the same loop"
        )


class CallTable:
    """The calls of one process or client; `clock` is the loop's, in seconds.

    `why_no_calls` says why a step attempt must not call, or `None` while it may.
    """

    def __init__(self, clock: Callable[[], float], why_no_calls: Callable[[Token], str | None] = lambda _: None) -> None:
        self._clock = clock
        self._why_no_calls = why_no_calls
        self._of_attempt: dict[Token, set[_Pending]] = {}
        self._outgoing: Outgoing | None = None
        self._credit = 0
        self._holds_new = False
        self._number = 0
        self._sent: dict[int, _Pending] = {}
        self._spent = 0
        self._waiting: deque[_Pending] = deque()
        self._closed: Error | None = None
        self.obstacle: str = "no session with a sidecar yet"
        """Why calls wait, for the message of one whose time is over before it was sent."""

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Make a call and return its reply; `CommandError` if it is refused, lost or out of time.

        The call's `request` is filled in here, and its `timeout` (µs) counts from now, waiting included.
        `repeatable` says that it changes nothing and may be sent twice.
        """
        if self._closed is not None:
            raise CommandError(self._closed)
        if call.attempt is not None and (reason := self._why_no_calls(call.attempt)) is not None:
            raise CommandError(_refusal(call, reason))
        loop = asyncio.get_running_loop()
        self._number += 1
        call = msgspec.structs.replace(call, request=self._number)
        pending = _Pending(call, self._clock() + call.timeout / 1_000_000, loop.create_future(), repeatable or call.key is not None)
        if self._may_send(pending):
            self._send(pending)
        else:
            self._waiting.append(pending)
        timer = loop.call_later(call.timeout / 1_000_000, self._out_of_time, pending)
        if call.attempt is not None:
            self._of_attempt.setdefault(call.attempt, set()).add(pending)
        try:
            return await pending.answer
        except asyncio.CancelledError:
            self._withdraw(pending)
            raise
        finally:
            timer.cancel()
            if call.attempt is not None:
                self._forget(call.attempt, pending)

    def withdraw_all_of(self, attempt: Token, reason: str) -> None:
        """The attempt calls nothing any more: those who wait for its calls get `CONFLICT`, and the sidecar is told."""
        for pending in self._of_attempt.pop(attempt, ()):
            if not pending.answer.done():
                self._withdraw(pending)
                refusal = _refusal(pending.call, f"{reason}; whether this call was done is not known")
                _fail(pending, msgspec.structs.replace(refusal, details={"outcome": "unknown"}))

    def _forget(self, attempt: Token, pending: _Pending) -> None:
        calls = self._of_attempt.get(attempt)
        if calls is not None:
            calls.discard(pending)
            if not calls:
                del self._of_attempt[attempt]

    # --- what the session tells ----------------------------------------------------------------------------------

    def opened(self, outgoing: Outgoing, credit: int) -> None:
        """A session is open: send what waits."""
        self._outgoing, self._credit, self._holds_new = outgoing, credit, False
        self._send_waiting()

    def hold(self) -> None:
        """The sidecar is going away: new calls wait for the next session, except those that running work makes."""
        self._holds_new = True

    def replied(self, frame: CallReplied) -> None:
        """The reply of a call; one that nobody waits for any more is dropped."""
        pending = self._settle(frame.request)
        if pending is not None and not pending.answer.done():
            pending.answer.set_result(frame.reply)

    def refused(self, frame: CallRefused) -> None:
        """The refusal of a call."""
        pending = self._settle(frame.request)
        if pending is not None:
            if frame.error.code in NOT_TAKEN:
                _fail_undone(pending, frame.error)
            else:
                _fail(pending, frame.error)

    def lost(self, obstacle: str) -> None:
        """The session is over: what may be sent again waits for the next one, first come first."""
        outgoing, self._outgoing, self.obstacle = self._outgoing, None, obstacle
        sent, self._sent, self._spent = list(self._sent.values()), {}, 0
        again: list[_Pending] = []
        for pending in sent:
            written = outgoing is None or outgoing.was_written(pending.position)
            if pending.repeatable or not written:
                if pending.call.key is not None:
                    pending.doubtful |= written
                    pending.call = msgspec.structs.replace(pending.call, fresh=False)
                again.append(pending)
            else:
                _fail(
                    pending,
                    _unknown(f"the connection to the sidecar was lost after the call to {pending.target} was sent: it may have been done or not"),
                )
        self._waiting.extendleft(reversed(again))

    def close(self, error: Error) -> None:
        """No session will come any more: what waits was not done, and later calls fail with `error`."""
        self._closed = error
        self.lost(error.message)
        while self._waiting:
            _fail_undone(self._waiting.popleft(), error)

    # --- sending -------------------------------------------------------------------------------------------------

    def _may_send(self, pending: _Pending) -> bool:
        if self._outgoing is None:
            return False
        if pending.call.chain:
            return True
        if self._holds_new and pending.call.attempt is None:
            return False
        return self._spent < self._credit

    def _send(self, pending: _Pending) -> None:
        assert self._outgoing is not None
        call = pending.call
        try:
            pending.position = self._outgoing.put(call)
        except FrameTooLarge as error:
            details = {"size": error.size, "limit": error.limit}
            _fail_undone(pending, Error(ErrorCode.TOO_LARGE, f"the call to {pending.target} cannot be sent: {error}", details))
            return
        self._sent[call.request] = pending
        self._spent += not call.chain

    def _send_waiting(self) -> None:
        held: deque[_Pending] = deque()
        while self._waiting and self._outgoing is not None:
            pending = self._waiting.popleft()
            if pending.answer.done():
                continue
            if not pending.call.chain and self._spent >= self._credit:
                self._waiting.appendleft(pending)
                break
            if self._holds_new and not pending.call.chain and pending.call.attempt is None:
                held.append(pending)
                continue
            remaining = max(1, round((pending.deadline - self._clock()) * 1_000_000))
            pending.call = msgspec.structs.replace(pending.call, timeout=remaining)
            self._send(pending)
        self._waiting.extendleft(reversed(held))

    def _settle(self, request: int) -> _Pending | None:
        pending = self._sent.pop(request, None)
        if pending is not None:
            self._spent -= not pending.call.chain
            if self._waiting:
                self._send_waiting()
        return pending

    # --- giving up -----------------------------------------------------------------------------------------------

    def _withdraw(self, pending: _Pending) -> None:
        """The caller does not wait any more: its credit is free at once."""
        if pending.call.request in self._sent:
            if self._outgoing is not None:
                self._outgoing.put(CancelCall(pending.call.request))
            self._settle(pending.call.request)
        elif pending in self._waiting:
            self._waiting.remove(pending)

    def _out_of_time(self, pending: _Pending) -> None:
        if pending.answer.done():
            return
        if pending.call.request in self._sent:
            asyncio.get_running_loop().call_later(ANSWER_GRACE, self._unanswered, pending)
            return
        self._withdraw(pending)
        reason = self.obstacle if self._outgoing is None else f"all {self._credit} calls of this process at once are under way"
        _fail_undone(pending, Error(ErrorCode.UNAVAILABLE, f"the call to {pending.target} was not sent within its time: {reason}"))

    def _unanswered(self, pending: _Pending) -> None:
        if pending.answer.done():
            return
        self._withdraw(pending)
        _fail(pending, _unknown(f"the sidecar did not answer the call to {pending.target} in time: it may have been done or not"))


def _fail_undone(pending: _Pending, error: Error) -> None:
    """This sending was not done; an earlier one may have been, and that is then what its caller must know (W15)."""
    if pending.doubtful:
        before = f"the call to {pending.target} was sent before, on a connection that was lost: it may have been done or not"
        error = _unknown(f"{error.message}; {before}")
    _fail(pending, error)


def _fail(pending: _Pending, error: Error) -> None:
    if not pending.answer.done():
        pending.answer.set_exception(CommandError(error))


def _refusal(call: Call, reason: str) -> Error:
    return Error(ErrorCode.CONFLICT, f"{call.component}/{call.instance}/{call.handler}: {reason}")


def _unknown(message: str) -> Error:
    return Error(ErrorCode.TIMEOUT, message, {"outcome": "unknown"})
