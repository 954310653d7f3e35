"""A process's handlers behind a session: answers, cancels, calls from handlers, draining (DESIGN §4, W5, W11)."""

import asyncio
from pathlib import Path

import pytest
from websockets.asyncio.server import unix_serve

from ankka.process.address import Address
from ankka.process.attempts import StepAnswer
from ankka.process.hosting import Hosting
from ankka.process.registry import Registry
from ankka.protocol.attempt import Token
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import (
    Call,
    CallReplied,
    CancelRequest,
    CancelStep,
    Drain,
    EntityCommandDone,
    Fold,
    Folded,
    Refused,
    Replied,
    RunCommand,
    RunQuery,
    RunStep,
    StepAck,
    StepDone,
    StepFaulted,
    StepStopped,
    WorkflowCommandDone,
)
from ankka.protocol.outcome import EndRun
from ankka.protocol.payload import TEXT, Payload
from tests.unit.client.hosted import hosted
from tests.unit.client.shop import Notes, OrderWorkflow
from tests.unit.client.stub_sidecar import WELCOME, StubSidecar

TOKEN = Token("order", "o1", 1, 1, 3, 1)
ORDER = Payload(b'{"order_id":"o1","status":"started","items":3}', manifest="order")


def command(request: int, handler: str, given: Payload | None = None, chain: tuple[str, ...] = ()) -> RunCommand:
    return RunCommand(request, "order", "o1", handler, given, ORDER, 4, 5_000_000, chain=chain)


def step(name: str, token: Token = TOKEN) -> RunStep:
    return RunStep(token, name, None, ORDER, 4, 4, 10_000_000)


async def test_the_hello_declares_the_components() -> None:
    async with hosted() as (_, session):
        assert [(spec.component, spec.kind.value) for spec in session.hello.components] == [("order", "workflow"), ("cart", "event-sourced-entity")]
        assert {step.name: step.threaded for step in session.hello.components[0].steps}["in-thread"] is True


async def test_commands_queries_and_folds_are_answered() -> None:
    async with hosted() as (_, session):
        await session.send(command(1, "start", Payload(b"3", TEXT)))
        done = await session.expect(WorkflowCommandDone)
        assert (done.request, done.transition.step if done.transition else None) == (1, "wait")
        await session.send(command(2, "start", Payload(b"0", TEXT)))
        refused = await session.expect(Refused)
        assert (refused.request, refused.error.code, refused.error.message) == (2, ErrorCode.BAD_REQUEST, "nothing ordered")
        await session.send(RunQuery(3, "order", "o1", "status", None, ORDER, 4, 1_000_000))
        assert (await session.expect(Replied)).reply.data == ORDER.data
        await session.send(RunCommand(4, "cart", "k1", "add", Payload(b"2", TEXT), None, 0, 1_000_000))
        added = await session.expect(EntityCommandDone)
        assert [event.data for event in added.events] == [b"2"]
        await session.send(Fold(5, "cart", "k1", None, (*added.events, *added.events)))
        assert await session.expect(Folded) == Folded(5, Payload(b"4", manifest="cart"))


async def test_an_unknown_component_is_refused_by_name() -> None:
    async with hosted() as (_, session):
        await session.send(RunQuery(3, "nobody", "o1", "status", None, None, 0, 1_000_000))
        refused = await session.expect(Refused)
        assert refused.error.code is ErrorCode.NOT_FOUND
        assert "'nobody'" in refused.error.message
        assert "order, cart" in refused.error.message


async def test_a_cancelled_command_is_stopped_and_answered_so_that_its_place_is_free() -> None:
    async with hosted() as (process, session):
        await session.send(command(1, "slow"))
        await process.notes.running.wait()
        await session.send(CancelRequest(1))
        assert (await session.expect(Refused)).request == 1
        assert process.notes.said == ["slow was cancelled"]


async def test_a_command_cancelled_in_the_message_that_brought_it_is_answered_once() -> None:
    async with hosted() as (_, session):
        await session.send(command(1, "slow"), CancelRequest(1), RunQuery(2, "order", "o1", "sum", None, ORDER, 4, 1_000_000))
        assert (await session.expect(Replied)).request == 2
        assert (await session.expect(Refused)).request == 1
        assert session.received.empty()


async def test_commands_of_a_lost_session_are_cancelled_and_never_answered_on_the_next() -> None:
    async with hosted() as (process, session):
        await session.send(command(1, "slow"))
        await process.notes.running.wait()
        session.drop()
        second = await process.stub.session()
        await second.send(command(1, "slow"))
        process.notes.gate.set()
        assert (await second.expect(Replied)).request == 1
        assert process.notes.said == ["slow was cancelled"]
        assert second.received.empty()


async def test_a_step_is_answered_with_its_token() -> None:
    async with hosted() as (process, session):
        process.notes.gate.set()
        await session.send(step("wait"))
        assert await session.expect(StepDone) == StepDone(TOKEN, 4, EndRun())


async def test_a_cancelled_async_step_is_stopped() -> None:
    async with hosted() as (process, session):
        await session.send(step("wait"))
        await process.notes.running.wait()
        await session.send(CancelStep(TOKEN))
        assert await session.expect(StepStopped) == StepStopped(TOKEN, "cancelled")


async def test_a_step_cancelled_before_it_began_is_stopped() -> None:
    async with hosted() as (_, session):
        await session.send(step("wait"), CancelStep(TOKEN))
        assert await session.expect(StepStopped) == StepStopped(TOKEN, "cancelled")


async def test_a_sync_step_sees_that_it_is_cancelled_and_answers_when_its_thread_ends() -> None:
    # W5: a thread cannot be stopped, so is_cancelled turns true and the attempt holds its place until it ends
    async with hosted() as (process, session):
        await session.send(step("in-thread"), CancelStep(TOKEN), RunQuery(2, "order", "o1", "sum", None, ORDER, 4, 1_000_000))
        await session.expect(Replied)
        process.notes.thread_gate.set()
        stopped = await session.received.get()
        assert stopped in (StepStopped(TOKEN, "cancelled"), StepDone(TOKEN, 4, EndRun()))
        assert process.notes.said in ([], ["cancelled: True"])


async def test_a_call_from_a_command_carries_its_chain_and_the_time_that_is_left() -> None:
    async with hosted() as (_, session):
        await session.send(command(1, "count", chain=("cart/k0",)))
        call = await session.expect(Call)
        assert (call.component, call.instance, call.handler, call.kind) == ("cart", "o1", "quantity", "event-sourced-entity")
        assert call.chain == ("cart/k0", "order/o1")
        assert call.attempt is None
        assert 4_000_000 < call.timeout <= 5_000_000
        await session.send(CallReplied(call.request, Payload(b"7", TEXT)))
        assert await session.expect(Replied) == Replied(1, Payload(b"7", TEXT))


async def test_a_sync_step_calls_from_its_thread_and_the_call_names_the_attempt() -> None:
    async with hosted() as (_, session):
        await session.send(step("call-in-thread"))
        call = await session.expect(Call)
        assert (call.attempt, call.chain, call.handler) == (TOKEN, (), "quantity")
        assert 9_000_000 < call.timeout <= 10_000_000
        await session.send(CallReplied(call.request, Payload(b"7", TEXT)))
        done = await session.expect(StepDone)
        assert done.state is not None
        assert done.state.data == b'{"order_id":"o1","status":"counted","items":7}'


async def test_the_sync_twin_on_the_loop_is_a_fault_that_says_what_to_write() -> None:
    async with hosted() as (_, session):
        await session.send(step("call-sync-on-loop"))
        fault = await session.expect(StepFaulted)
        assert "RuntimeError: use await .invoke()" in fault.message


async def test_a_call_of_a_cancelled_command_is_cancelled_with_it() -> None:
    async with hosted() as (_, session):
        await session.send(command(1, "count"))
        call = await session.expect(Call)
        await session.send(CancelRequest(1))
        assert (await session.received.get()).request == call.request
        assert (await session.expect(Refused)).request == 1


async def test_drain_lets_a_step_finish_waits_for_its_acknowledgement_and_closes() -> None:
    async with hosted() as (process, session):
        await session.send(step("wait"))
        await process.notes.running.wait()
        draining = asyncio.create_task(process.hosting.drain(30))
        await session.expect(Drain)
        other = Token("order", "o2", 1, 1, 3, 1)
        await session.send(step("wait", other))
        assert await session.expect(StepStopped) == StepStopped(other, "drained")
        process.notes.gate.set()
        assert await session.expect(StepDone) == StepDone(TOKEN, 4, EndRun())
        assert not draining.done()
        await session.send(StepAck(TOKEN), StepAck(other))
        async with asyncio.timeout(5):
            await draining
            await process.keeper


@pytest.mark.parametrize("name", ["wait", "in-thread"])
async def test_what_does_not_finish_within_the_drain_time_is_given_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # W11: a drain is no fault of the step, and a thread that does not end is given back too
    monkeypatch.setattr("ankka.process.hosting.STOP_WITHIN", 0.01)
    async with hosted() as (process, session):
        await session.send(step(name), RunQuery(2, "order", "o1", "sum", None, ORDER, 4, 1_000_000))
        await session.expect(Replied)
        draining = asyncio.create_task(process.hosting.drain(0.01))
        await session.expect(Drain)
        assert await session.expect(StepStopped) == StepStopped(TOKEN, "drained")
        await session.send(StepAck(TOKEN))
        async with asyncio.timeout(5):
            await draining
            await process.keeper


async def test_without_a_sidecar_for_the_grace_time_steps_are_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(welcome_grace=1_000) as (process, session):
        cancelled: asyncio.Queue[object] = asyncio.Queue()
        answer_step = process.hosting.session.answer_step

        def noting(answer: StepAnswer) -> None:
            answer_step(answer)
            cancelled.put_nowait(answer)

        monkeypatch.setattr(process.hosting.session, "answer_step", noting)
        await session.send(step("wait"))
        await process.notes.running.wait()
        assert process.stub.server is not None
        process.stub.server.close(close_connections=False)
        session.drop()
        async with asyncio.timeout(5):
            assert await cancelled.get() == StepStopped(TOKEN, "the sidecar was away")


async def test_a_process_attaches_over_a_unix_socket(tmp_path: Path) -> None:
    stub = StubSidecar([WELCOME])
    address = Address.parse(f"unix://{tmp_path / 'ankka.sock'}")

    async def locate() -> Address:
        return address

    registry = Registry()
    registry.add(OrderWorkflow, None)
    async with unix_serve(stub.serve, address.unix_path, compression=None, ping_interval=None, max_size=None):
        hosting = Hosting(registry.checked(), locate, resources=Notes())
        keeper = asyncio.create_task(hosting.run())
        session = await stub.session()
        await session.send(RunQuery(2, "order", "o1", "sum", None, ORDER, 4, 1_000_000))
        assert (await session.expect(Replied)).reply.data == b"4"
        session.drop()  # and it comes back to it
        again = await stub.session()
        assert again.hello.boot == session.hello.boot
        await hosting.drain(1)
        async with asyncio.timeout(5):
            await keeper
