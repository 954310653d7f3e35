"""The session's own rules over a real WebSocket: hello, batching, reconnect, acknowledgements, rejection, drain."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from websockets.asyncio.server import ServerConnection, serve, unix_serve
from websockets.http11 import Request, Response

from ankka import DONE, CommandError, ComponentClient
from ankka.process.address import Address
from ankka.process.connection import Connection, SessionRejected, reconnect_delay
from ankka.process.session import HandlerRequest, Session
from ankka.protocol.attempt import Token
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import (
    Call,
    CallReplied,
    CancelRequest,
    CancelStep,
    Drain,
    Ping,
    Pong,
    Refused,
    Rejected,
    Replied,
    RunQuery,
    RunStep,
    StepAck,
    StepDone,
    StepFaulted,
    StepStopped,
)
from ankka.protocol.outcome import EndRun
from ankka.protocol.payload import NOTHING, Payload
from ankka.protocol.process_identity import this_process
from tests.unit.client.stub_sidecar import WELCOME, StubSidecar, stub_sidecar

TOKEN = Token("checkout", "c1", 1, 1, 3, 1)
OTHER = Token("checkout", "c2", 1, 1, 3, 1)


@dataclass
class RecordingWork:
    """Notes what it is asked for; steps run until the test answers them."""

    session: Session
    requests: list[HandlerRequest] = field(default_factory=list[HandlerRequest])
    cancelled: list[object] = field(default_factory=list[object])
    dropped: int = 0

    def request(self, frame: HandlerRequest) -> None:
        self.requests.append(frame)
        self.session.answer(Replied(frame.request, Payload(b"%d" % frame.request)), frame.request)

    def cancel_request(self, request: int) -> None:
        self.cancelled.append(request)

    def drop_requests(self) -> None:
        self.dropped += 1

    def step(self, frame: RunStep) -> None:
        del frame

    def cancel_step(self, token: Token) -> None:
        self.cancelled.append(token)


@dataclass
class Attached:
    session: Session
    connection: Connection
    work: RecordingWork
    keeper: "asyncio.Task[None]"


@asynccontextmanager
async def attached(stub: StubSidecar) -> AsyncGenerator[Attached]:
    session = Session(this_process(), time.monotonic, sdk="test", steps=10, threads=2)
    session.work = work = RecordingWork(session)
    address = Address.parse(stub.url)

    async def locate() -> Address:
        return address

    connection = Connection(session, locate)
    keeper = asyncio.create_task(connection.run())
    try:
        yield Attached(session, connection, work, keeper)
    finally:
        keeper.cancel()
        await asyncio.wait([keeper])


def query(request: int) -> RunQuery:
    return RunQuery(request, "checkout", "c1", "status", None, None, 0, 1_000_000)


def step(token: Token) -> RunStep:
    return RunStep(token, "charge", None, None, 1, 1, 10_000_000)


async def test_hello_says_who_connects_and_what_it_takes() -> None:
    async with stub_sidecar() as stub, attached(stub):
        hello = (await stub.session()).hello
    identity = this_process()
    assert (hello.host, hello.pid, hello.pid_started) == (identity.host, identity.pid, identity.pid_started)
    assert hello.boot
    assert hello.boot != identity.boot
    assert (hello.steps, hello.threads, hello.running) == (10, 2, ())


async def test_every_request_is_answered_and_answers_of_one_message_go_out_as_one() -> None:
    async with stub_sidecar() as stub, attached(stub):
        session = await stub.session()
        await session.send(*[query(number) for number in range(1_000)])
        for number in range(1_000):
            assert await session.expect(Replied) == Replied(number, Payload(b"%d" % number))
        assert session.messages == 1


async def test_a_ping_is_answered_from_the_loop() -> None:
    async with stub_sidecar() as stub, attached(stub):
        session = await stub.session()
        await session.send(Ping(7))
        assert await session.expect(Pong) == Pong(7)


async def test_cancels_reach_the_work() -> None:
    async with stub_sidecar() as stub, attached(stub) as process:
        session = await stub.session()
        await session.send(CancelRequest(4), CancelStep(TOKEN), Ping(1))
        await session.expect(Pong)
        assert process.work.cancelled == [4, TOKEN]


async def test_after_a_loss_it_comes_back_with_what_runs_and_what_is_not_acknowledged() -> None:
    # W11, F02: the answer survives the connection, and is sent until the sidecar has said what became of it
    async with stub_sidecar() as stub, attached(stub) as process:
        first = await stub.session()
        await first.send(step(TOKEN), step(OTHER), Ping(1))
        await first.expect(Pong)
        process.session.answer_step(StepDone(TOKEN, 1, EndRun()))
        assert await first.expect(StepDone) == StepDone(TOKEN, 1, EndRun())
        first.drop()
        second = await stub.session()
        assert {attempt.token for attempt in second.hello.running} == {TOKEN, OTHER}
        assert second.hello.boot == first.hello.boot
        assert process.work.dropped == 1
        assert await second.expect(StepDone) == StepDone(TOKEN, 1, EndRun())
        await second.send(StepAck(TOKEN), Ping(2))
        await second.expect(Pong)
        second.drop()
        third = await stub.session()
        assert [attempt.token for attempt in third.hello.running] == [OTHER]
        process.session.answer_step(StepStopped(OTHER))
        assert await third.expect(StepStopped) == StepStopped(OTHER)


async def test_a_step_sent_again_is_not_run_again() -> None:
    # W4: one attempt, one run; the unacknowledged answer is said again
    async with stub_sidecar() as stub, attached(stub) as process:
        session = await stub.session()
        await session.send(step(TOKEN), step(TOKEN), Ping(1))
        await session.expect(Pong)
        process.session.answer_step(StepDone(TOKEN, 1, EndRun()))
        process.session.answer_step(StepStopped(TOKEN))  # a second answer of one attempt is dropped
        await session.expect(StepDone)
        await session.send(step(TOKEN))
        assert await session.expect(StepDone) == StepDone(TOKEN, 1, EndRun())


async def test_the_clock_of_an_attempt_goes_on_while_apart_and_stops_with_its_answer() -> None:
    now = 100.0
    session = Session(this_process(), lambda: now, sdk="test")
    session.attempts.start(TOKEN, "charge")
    session.attempts.start(OTHER, "charge")
    now = 101.5
    session.answer_step(StepDone(TOKEN, 1, EndRun()))
    now = 104.0
    assert [(attempt.token, attempt.elapsed) for attempt in session.hello().running] == [(TOKEN, 1_500_000), (OTHER, 4_000_000)]


async def test_a_draining_process_gives_steps_back_and_answers_queries() -> None:
    async with stub_sidecar() as stub, attached(stub) as process:
        session = await stub.session()
        process.session.drain()
        await session.expect(Drain)
        await session.send(step(TOKEN), query(5))
        assert await session.expect(StepStopped) == StepStopped(TOKEN, "drained")
        assert (await session.expect(Replied)).request == 5


async def test_a_drain_is_said_again_on_the_next_session() -> None:
    async with stub_sidecar() as stub, attached(stub) as process:
        session = await stub.session()
        process.session.drain()
        await session.expect(Drain)
        session.drop()
        assert isinstance(await (await stub.session()).expect(Drain), Drain)


async def test_close_writes_what_is_queued_and_run_returns() -> None:
    async with stub_sidecar() as stub, attached(stub) as process:
        session = await stub.session()
        process.session.drain()
        process.connection.close()
        await session.expect(Drain)
        async with asyncio.timeout(5):
            await process.keeper


async def test_a_rejected_hello_ends_it_with_all_problems() -> None:
    problems = ("component 'checkout' is a workflow here, an entity there", "protocol 2 is spoken here")
    async with stub_sidecar(Rejected(problems)) as stub, attached(stub) as process:
        with pytest.raises(SessionRejected) as raised:
            await process.keeper
    assert raised.value.problems == problems
    assert all(problem in str(raised.value) for problem in problems)


async def test_a_hello_rejected_for_now_is_tried_again_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    later = Rejected(("checkout differs from what pid 17 declares",), retry_after=1_000)
    with caplog.at_level(logging.WARNING, "ankka"):
        async with stub_sidecar(later, later, later, WELCOME) as stub, attached(stub):
            await stub.session()
            assert len(stub.hellos) == 4
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "differs from what pid 17 declares" in said[0]


async def test_a_sidecar_that_does_not_answer_is_said_once_and_found_when_it_does(
    caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    async with stub_sidecar() as gone:
        port = int(gone.url.rpartition(":")[2])
    said_something = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            loop.call_soon_threadsafe(said_something.set)

    listening = Listening()
    logging.getLogger("ankka").addHandler(listening)
    request.addfinalizer(lambda: logging.getLogger("ankka").removeHandler(listening))
    with caplog.at_level(logging.WARNING, "ankka"):
        async with attached(gone_at(port)):
            await said_something.wait()
            async with stub_sidecar(port=port) as stub:
                await stub.session()
    said = [record.getMessage() for record in caplog.records]
    assert len([line for line in said if "no sidecar answers" in line]) == 1


def gone_at(port: int) -> StubSidecar:
    class Gone(StubSidecar):
        @property
        def url(self) -> str:
            return f"http://127.0.0.1:{port}"

    return Gone([])


def test_reconnects_are_at_once_then_spread() -> None:
    # F82: never in lockstep, never ever slower
    assert reconnect_delay(0) == 0
    for failures, longest in ((1, 0.05), (2, 0.1), (3, 0.2), (10, 1.0), (1_000_000, 1.0)):
        delays = [reconnect_delay(failures) for _ in range(200)]
        assert min(delays) >= 0
        assert max(delays) <= longest
        assert max(delays) - min(delays) > longest / 2


async def test_a_unix_socket_is_dialled_too(tmp_path: Path) -> None:
    stub = StubSidecar([WELCOME])
    path = tmp_path / "ankka.sock"
    async with unix_serve(stub.serve, str(path), compression=None, ping_interval=None), ComponentClient(f"unix://{path}") as client:
        asked = asyncio.ensure_future(client.for_workflow("order", "o1").call("start").invoke())
        session = await stub.session()
        call = await session.expect(Call)
        await session.send(CallReplied(call.request, Payload(b"", NOTHING)))
        assert await asked is DONE


async def test_a_refused_token_ends_it_and_the_token_is_sent() -> None:
    seen: list[str | None] = []

    def refuse(connection: ServerConnection, request: Request) -> Response:
        seen.append(request.headers.get("Authorization"))
        return connection.respond(401, "this token has no scope 'call'\n")

    async with serve(StubSidecar([WELCOME]).serve, "127.0.0.1", 0, process_request=refuse) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with ComponentClient(f"http://127.0.0.1:{port}", token="secret") as client:
            with pytest.raises(CommandError, match="HTTP 401: this token has no scope 'call'"):
                await client.for_workflow("order", "o1").call("start").invoke()
    assert seen == ["Bearer secret"]


async def test_a_sidecar_that_is_silent_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ankka.process.connection.PING_INTERVAL", 0.01)
    async with stub_sidecar() as stub, attached(stub):
        first = await stub.session()
        second = await stub.session()
        assert second.hello.boot == first.hello.boot
        assert isinstance(await first.expect(Ping), Ping)


async def test_a_sidecar_that_answers_pings_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ankka.process.connection.PING_INTERVAL", 0.005)
    async with stub_sidecar() as stub, attached(stub):
        session = await stub.session()
        for number in range(1, 30):
            assert await session.expect(Ping) == Ping(number)
            await session.send(Pong(number))
        assert len(stub.hellos) == 1


async def test_answers_that_are_too_large_are_refused_and_nothing_else_is_held_up() -> None:
    async with stub_sidecar(msgspec.structs.replace(WELCOME, message_limit=66_536)) as stub, attached(stub) as process:
        session = await stub.session()
        await session.send(step(TOKEN), Ping(1))
        await session.expect(Pong)
        large = Payload(b"x" * 100_000)
        process.session.answer(Replied(1, large), 1)
        refused = await session.expect(Refused)
        assert (refused.request, refused.error.code, refused.error.details) == (1, ErrorCode.TOO_LARGE, {"limit": 66_536})
        process.session.answer_step(StepDone(TOKEN, 1, EndRun(), large))
        fault = await session.expect(StepFaulted)
        assert (fault.token, fault.retryable) == (TOKEN, False)
        assert "over the limit of 66,536 bytes" in fault.message
        process.session.answer(Replied(2, Payload(b"small")), 2)
        assert (await session.expect(Replied)).request == 2
