"""Calls under way: credit, loss of the connection, cancellation, time (DESIGN §4, W15)."""

import asyncio
import time

import msgspec
import pytest

from ankka.command_error import CommandError
from ankka.process.calls import CallTable
from ankka.process.outgoing import Outgoing
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call, CallRefused, CallReplied, CancelCall
from ankka.protocol.payload import Payload
from ankka.protocol.wire import decode_to_sidecar

LONG = 60_000_000


def call(
    name: str = "start", timeout: int = LONG, chain: tuple[str, ...] = (), attempt: Token | None = None, key: bytes | None = None, size: int = 0
) -> Call:
    return Call(0, "checkout", "c1", name, Payload(b"x" * size), timeout, chain=chain, attempt=attempt, key=key)


class Line:
    """A session's outgoing side, with a limit of 10,000 bytes a frame."""

    def __init__(self, calls: CallTable, credit: int = 10) -> None:
        self.outgoing = Outgoing(10_000, lambda: None)
        calls.opened(self.outgoing, credit)

    def written(self) -> list[Call | CancelCall]:
        message = self.outgoing.take()
        return [] if message is None else [frame for frame in decode_to_sidecar(message) if isinstance(frame, Call | CancelCall)]


async def begun(calls: CallTable, *many: Call, repeatable: bool = False) -> "list[asyncio.Task[Payload]]":
    tasks = [asyncio.create_task(calls.ask(one, repeatable=repeatable)) for one in many]
    await asyncio.sleep(0)
    return tasks


async def refusal(task: "asyncio.Task[Payload]") -> Error:
    with pytest.raises(CommandError) as raised:
        async with asyncio.timeout(5):
            await task
    return raised.value.error


async def test_a_reply_and_a_refusal_reach_their_callers() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls)
    first, second = await begun(calls, call("a"), call("b"))
    sent = line.written()
    calls.replied(CallReplied(sent[0].request, Payload(b"1")))
    calls.refused(CallRefused(sent[1].request, Error(ErrorCode.CONFLICT, "already started")))
    assert await first == Payload(b"1")
    assert await refusal(second) == Error(ErrorCode.CONFLICT, "already started")


async def test_beyond_the_credit_calls_wait_in_order() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls, credit=2)
    await begun(calls, *[call(name) for name in "abcd"])
    sent = line.written()
    assert [frame.handler for frame in sent if isinstance(frame, Call)] == ["a", "b"]
    calls.replied(CallReplied(sent[1].request, Payload(b"")))
    assert [frame.handler for frame in line.written() if isinstance(frame, Call)] == ["c"]


async def test_nested_calls_have_room_of_their_own() -> None:
    # the calls that use up the credit may wait for the command that makes this one (F96)
    calls = CallTable(time.monotonic)
    line = Line(calls, credit=1)
    await begun(calls, call("outer"), call("nested", chain=("checkout/c1",)))
    assert [frame.handler for frame in line.written() if isinstance(frame, Call)] == ["outer", "nested"]


async def test_calls_made_apart_are_sent_with_the_time_that_is_left() -> None:
    now = 50.0
    calls = CallTable(lambda: now)
    await begun(calls, call("a", timeout=10_000_000))
    now = 53.0
    assert [frame.timeout for frame in Line(calls).written() if isinstance(frame, Call)] == [7_000_000]


async def test_what_was_not_written_is_sent_again() -> None:
    calls = CallTable(time.monotonic)
    Line(calls)
    (task,) = await begun(calls, call("a"))
    calls.lost("lost")
    line = Line(calls)
    (sent,) = line.written()
    calls.replied(CallReplied(sent.request, Payload(b"ok")))
    assert await task == Payload(b"ok")


async def test_what_was_written_without_a_key_may_have_been_done() -> None:
    # W15: never sent twice once it was written
    calls = CallTable(time.monotonic)
    Line(calls).written()
    line = Line(calls)
    (task,) = await begun(calls, call("a"))
    assert len(line.written()) == 1
    calls.lost("lost")
    error = await refusal(task)
    assert (error.code, error.details) == (ErrorCode.TIMEOUT, {"outcome": "unknown"})
    assert Line(calls).written() == []


async def test_what_has_a_key_or_changes_nothing_is_sent_again_in_order() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls)
    await begun(calls, call("a", key=b"k"))
    await begun(calls, call("b"), repeatable=True)
    assert len(line.written()) == 2
    calls.lost("lost")
    assert [frame.handler for frame in Line(calls).written() if isinstance(frame, Call)] == ["a", "b"]


async def test_w16_a_call_that_is_sent_a_second_time_is_not_fresh() -> None:
    calls = CallTable(time.monotonic)
    keyed = [msgspec.structs.replace(call(name, key=name.encode()), fresh=True) for name in ("waited", "written", "queued")]
    await begun(calls, keyed[0])
    line = Line(calls)
    await begun(calls, keyed[1])
    assert [frame.fresh for frame in line.written() if isinstance(frame, Call)] == [True, True]
    await begun(calls, keyed[2])
    calls.lost("lost")
    sent = [frame for frame in Line(calls).written() if isinstance(frame, Call)]
    assert [(frame.handler, frame.fresh) for frame in sent] == [("waited", False), ("written", False), ("queued", False)]


async def doubted(calls: CallTable, timeout: int = LONG) -> "asyncio.Task[Payload]":
    """A call with a key that was written to a connection which was then lost: it waits to be sent again."""
    line = Line(calls)
    (task,) = await begun(calls, call("a", key=b"k", timeout=timeout))
    assert len(line.written()) == 1
    calls.lost("no sidecar answers")
    return task


UNKNOWN = (ErrorCode.TIMEOUT, {"outcome": "unknown"})


async def test_w15_a_call_that_was_written_once_and_cannot_be_sent_again_may_have_been_done() -> None:
    calls = CallTable(time.monotonic)
    error = await refusal(await doubted(calls, timeout=1_000))
    assert (error.code, error.details) == UNKNOWN
    assert "no sidecar answers" in error.message


async def test_w15_a_call_that_was_written_once_and_whose_client_is_closed_may_have_been_done() -> None:
    calls = CallTable(time.monotonic)
    task = await doubted(calls)
    calls.close(Error(ErrorCode.UNAVAILABLE, "the client was closed"))
    error = await refusal(task)
    assert (error.code, error.details) == UNKNOWN


async def test_w15_a_call_that_is_too_large_for_the_next_session_may_have_been_done() -> None:
    calls = CallTable(time.monotonic)
    task = await doubted(calls)
    calls.opened(Outgoing(10, lambda: None), 10)
    error = await refusal(task)
    assert (error.code, error.details) == UNKNOWN


@pytest.mark.parametrize("code", [ErrorCode.UNAVAILABLE, ErrorCode.RESOURCE_EXHAUSTED])
async def test_w15_a_second_sending_that_was_not_taken_says_nothing_of_the_first(code: ErrorCode) -> None:
    calls = CallTable(time.monotonic)
    task = await doubted(calls)
    (sent,) = Line(calls).written()
    calls.refused(CallRefused(sent.request, Error(code, "no process is attached")))
    error = await refusal(task)
    assert (error.code, error.details) == UNKNOWN
    assert error.message.startswith("no process is attached; the call to checkout/c1/a was sent before")


async def test_w15_a_second_sending_that_its_handler_refused_was_not_done_by_the_first_either() -> None:
    calls = CallTable(time.monotonic)
    task = await doubted(calls)
    (sent,) = Line(calls).written()
    refused = Error(ErrorCode.CONFLICT, "checked out")
    calls.refused(CallRefused(sent.request, refused))
    assert await refusal(task) == refused


async def test_w15_a_first_sending_that_was_not_taken_was_certainly_not_done() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls)
    (task,) = await begun(calls, call("a", key=b"k"))
    (sent,) = line.written()
    refused = Error(ErrorCode.UNAVAILABLE, "no process is attached")
    calls.refused(CallRefused(sent.request, refused))
    assert await refusal(task) == refused


async def test_a_call_whose_time_is_over_before_it_was_sent_was_not_done() -> None:
    calls = CallTable(time.monotonic)
    calls.lost("no sidecar answers at http://127.0.0.1:1")
    (task,) = await begun(calls, call("a", timeout=1_000))
    error = await refusal(task)
    assert error.code is ErrorCode.UNAVAILABLE
    assert "no sidecar answers at http://127.0.0.1:1" in error.message
    assert Line(calls).written() == []


async def test_a_call_the_sidecar_does_not_answer_may_have_been_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ankka.process.calls.ANSWER_GRACE", 0.001)
    calls = CallTable(time.monotonic)
    line = Line(calls)
    (task,) = await begun(calls, call("a", timeout=1_000))
    (sent,) = line.written()
    error = await refusal(task)
    assert (error.code, error.details) == (ErrorCode.TIMEOUT, {"outcome": "unknown"})
    assert line.written() == [CancelCall(sent.request)]


async def test_a_cancelled_caller_cancels_its_call_and_frees_its_credit() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls, credit=1)
    first, _ = await begun(calls, call("a"), call("b"))
    (sent,) = line.written()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    cancel, second = line.written()
    assert cancel == CancelCall(sent.request)
    assert isinstance(second, Call)
    assert second.handler == "b"
    calls.replied(CallReplied(sent.request, Payload(b"late")))  # dropped


async def test_a_call_that_was_given_up_while_it_waited_is_never_sent() -> None:
    calls = CallTable(time.monotonic)
    (task,) = await begun(calls, call("a"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert Line(calls).written() == []


async def test_while_the_sidecar_drains_only_running_work_calls() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls)
    calls.hold()
    _, step, nested = await begun(calls, call("outside"), call("step", attempt=Token("checkout", "c1", 1, 1, 1, 1)), call("nested", chain=("x/y",)))
    assert [frame.handler for frame in line.written() if isinstance(frame, Call)] == ["step", "nested"]
    calls.lost("the sidecar has stopped")
    assert [(await refusal(task)).code for task in (step, nested)] == [ErrorCode.TIMEOUT] * 2
    assert [frame.handler for frame in Line(calls).written() if isinstance(frame, Call)] == ["outside"]


async def test_a_call_that_is_too_large_is_refused_with_size_and_limit() -> None:
    calls = CallTable(time.monotonic)
    line = Line(calls, credit=1)
    (task,) = await begun(calls, call("a", size=20_000))
    error = await refusal(task)
    assert error.code is ErrorCode.TOO_LARGE
    assert error.details["limit"] == 10_000
    assert error.details["size"] > 20_000
    await begun(calls, call("b"))
    assert len(line.written()) == 1, "it took no credit"


async def test_after_the_end_calls_fail_at_once() -> None:
    calls = CallTable(time.monotonic)
    (waiting,) = await begun(calls, call("a"))
    calls.close(Error(ErrorCode.UNAVAILABLE, "the client was closed"))
    assert (await refusal(waiting)).message == "the client was closed"
    (late,) = await begun(calls, call("b"))
    assert (await refusal(late)).message == "the client was closed"
