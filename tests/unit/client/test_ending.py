"""Waiting for an end from the client's side: what is said the first time, and what is said again."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from ankka import CommandError, ComponentClient, Ended, ErrorCode, Failed, Heartbeat, WorkflowLifecycle
from ankka.calls.call_keys import CallKeys
from ankka.calls.caller import Caller, Origin, Target
from ankka.calls.then_ending import CommandToEnd
from ankka.process.client_session import ClientSession
from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.awaited import AwaitedRun, decode_awaited
from ankka.protocol.errors import Error
from ankka.protocol.frames import Call, CallRefused, CallReplied, CancelCall
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import NOTHING, Payload
from ankka.protocol.spec import ComponentKind
from tests.unit.client.shop import CartEntity, Order, OrderWorkflow
from tests.unit.client.stub_sidecar import StubSession, stub_sidecar

LONG = timedelta(seconds=30)
BEGAN = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
RUNNING = WorkflowLifecycle(LifecycleStatus.RUNNING, step="pack", run=3, started_at=BEGAN)
SHIPPED = Order("o1", "shipped", 1)
STATE = Payload(b'{"order_id":"o1","status":"shipped","items":1}')
DONE = Payload(b"", NOTHING)


async def awaiting(session: StubSession, lifecycle: WorkflowLifecycle = RUNNING) -> tuple[Call, AwaitedRun | None]:
    """The next await, and which run it names; who asks for the lifecycle before it gets this one."""
    while True:
        call = await session.expect(Call)
        if call.handler == "ankka:await":
            return call, None if call.input is None else decode_awaited(call.input.data)
        await shown(session, call, lifecycle)


async def shown(session: StubSession, call: Call, lifecycle: WorkflowLifecycle) -> None:
    assert call.handler == "ankka:lifecycle"
    await session.send(CallReplied(call.request, Payload(msgspec.json.encode(lifecycle))))


async def lose(session: StubSession, client: ComponentClient) -> None:
    """Cut the connection, once the client has taken all that was sent to it: it asks something else and has its answer."""
    other = asyncio.ensure_future(client.for_workflow("order", "other").lifecycle())
    while (call := await session.expect(Call)).instance != "other":
        pass
    await session.send(CallReplied(call.request, Payload(b"{}")))
    await other
    session.drop()


async def test_an_end_that_is_there_takes_one_message() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        asked = asyncio.ensure_future(client.for_workflow("order", "o1").await_end(LONG, reply=Order))
        session = await stub.session()
        call, named = await awaiting(session)
        assert named is None
        assert 29_000_000 < call.timeout <= 30_000_000
        await session.send(CallReplied(call.request, STATE))
        assert await asked == SHIPPED
        assert session.received.empty()


async def test_an_await_that_is_repeated_says_how_long_its_run_is_awaited() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        asked = asyncio.ensure_future(client.for_workflow("order", "o1").await_end(LONG, reply=Order))
        session = await stub.session()
        call, named = await awaiting(session)
        assert named is None
        waited = 0
        for _ in range(2):
            await lose(session, client)
            session = await stub.session()
            call, named = await awaiting(session)
            assert named is not None
            assert waited < named.waited < 30_000_000
            assert named == AwaitedRun(waited=named.waited)
            waited = named.waited
        await session.send(CallReplied(call.request, STATE))
        assert await asked == SHIPPED


@pytest.mark.parametrize(("seen", "run"), [(RUNNING, AwaitedRun(3, BEGAN)), (WorkflowLifecycle(), AwaitedRun(1))])
async def test_parts_that_are_repeated_name_the_run_that_was_seen(seen: WorkflowLifecycle, run: AwaitedRun) -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        asked = asyncio.ensure_future(_last_of(client.for_workflow("order", "o1").await_end_parts(LONG, reply=Order)))
        session = await stub.session()
        assert (await awaiting(session))[1] is None
        await shown(session, await session.expect(Call), seen)
        later = WorkflowLifecycle(LifecycleStatus.RUNNING, run=8)
        await lose(session, client)
        session = await stub.session()
        await awaiting(session, later)
        await lose(session, client)
        session = await stub.session()
        call, named = await awaiting(session, later)
        assert named == run
        for error in (Error(ErrorCode.UNAVAILABLE, "it is stopping"), Error(ErrorCode.INTERNAL, "it met a bug", {"outcome": "unknown"})):
            await session.send(CallRefused(call.request, error))
            call, named = await awaiting(session, later)
            assert named == run
        await session.send(CallReplied(call.request, STATE))
        assert await asked == Ended(SHIPPED)


@pytest.mark.parametrize("code", [ErrorCode.NOT_FOUND, ErrorCode.CONFLICT, ErrorCode.BAD_REQUEST, ErrorCode.INTERNAL])
async def test_what_is_no_end_is_raised_and_not_asked_again(code: ErrorCode) -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        order = client.for_workflow("order", "o1")
        asked = [asyncio.ensure_future(order.await_end(LONG)), asyncio.ensure_future(_last_of(order.await_end_parts(LONG)))]
        session = await stub.session()
        for _ in asked:
            call, _ = await awaiting(session)
            await session.send(CallRefused(call.request, Error(code, "no end")))
        for one in asked:
            with pytest.raises(CommandError, match="no end") as raised:
                await one
            assert raised.value.error.code is code


async def _last_of(parts: AsyncIterator[object]) -> object:
    return [part async for part in parts][-1]


@pytest.mark.parametrize(
    ("details", "code"),
    [({"code": "CONFLICT", "run": 1}, ErrorCode.CONFLICT), ({}, ErrorCode.INTERNAL), ({"code": "ODD"}, ErrorCode.INTERNAL)],
)
async def test_a_failure_has_the_code_that_the_step_said(details: dict[str, Any], code: ErrorCode) -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        last = asyncio.ensure_future(_last_of(client.for_workflow("order", "o1").await_end_parts(LONG)))
        session = await stub.session()
        call, _ = await awaiting(session)
        await session.send(CallRefused(call.request, Error(ErrorCode.WORKFLOW_FAILED, "no stock", details)))
        assert await last == Failed("no stock", code)


async def test_who_stops_listening_to_the_parts_withdraws_the_await() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        parts = client.for_workflow("order", "o1").await_end_parts(LONG)
        first = asyncio.ensure_future(anext(parts))
        session = await stub.session()
        call, _ = await awaiting(session)
        await shown(session, await session.expect(Call), RUNNING)
        assert await first == Heartbeat(RUNNING)
        await parts.aclose()
        assert (await session.expect(CancelCall)).request == call.request


async def test_a_command_without_a_key_is_given_one_and_its_run_is_named_by_it() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        order = client.for_workflow(OrderWorkflow, "o1")
        asked = asyncio.ensure_future(order.call(OrderWorkflow.start).then_await_end(LONG).invoke(3))
        session = await stub.session()
        lost = await session.expect(Call)
        session.drop()
        session = await stub.session()
        command = await session.expect(Call)  # with a key it can be sent again
        assert command.key is not None
        assert command.key[:1] == keys.CALLER
        assert (lost.key, lost.handler) == (command.key, "start")
        await session.send(CallReplied(command.request, DONE))
        call, named = await awaiting(session)
        assert named == AwaitedRun(key=command.key)
        session.drop()
        session = await stub.session()
        call, named = await awaiting(session)
        assert named == AwaitedRun(key=command.key)
        await session.send(CallReplied(call.request, STATE))
        assert await asked == SHIPPED


async def test_a_chosen_key_and_none() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        start = client.for_workflow("order", "o1").call("start")
        session: StubSession | None = None
        chosen = keys.of_caller("order", "o1", "k")
        for call, key in ((start.with_idempotency_key("k"), chosen), (start.with_idempotency_key(None), None)):
            asked = asyncio.ensure_future(call.then_await_end(LONG).invoke(3))
            session = session or await stub.session()
            command = await session.expect(Call)
            assert command.key == key
            await session.send(CallReplied(command.request, DONE))
            sent, named = await awaiting(session)
            assert named == (None if key is None else AwaitedRun(key=key))
            await session.send(CallReplied(sent.request, STATE))
            await asked


async def test_in_a_step_the_key_is_the_derived_one_and_a_repetition_has_the_next() -> None:
    token = Token("boss", "b1", 7, 1, 2, 1)
    async with stub_sidecar() as stub:
        link = ClientSession(stub.url, None)
        await link.open()
        caller = Caller(link, Origin(keys=CallKeys.of_attempt(token)))
        to_end = CommandToEnd(caller, Target(ComponentKind.WORKFLOW, "order", "o1"), "start", LONG)
        session = await stub.session()
        used: list[bytes | None] = []
        for refusal in (Error(ErrorCode.CONFLICT, "not now"), None, None):
            asked = asyncio.ensure_future(to_end.end(Payload(b"3")))
            command = await session.expect(Call)
            used.append(command.key)
            if refusal is not None:
                await session.send(CallRefused(command.request, refusal))
                with pytest.raises(CommandError, match="not now"):
                    await asked
                continue
            await session.send(CallReplied(command.request, DONE))
            sent, named = await awaiting(session)
            assert named == AwaitedRun(key=command.key or b"")
            await session.send(CallReplied(sent.request, STATE))
            assert await asked == STATE
        await link.close()
        assert used[0] == used[1] != used[2]
        assert {key[: len(keys.of_visit(token))] for key in used if key} == {keys.of_visit(token)}


async def test_what_cannot_be_awaited() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        order = client.for_workflow("order", "o1")
        for timeout in (timedelta(0), timedelta(seconds=-1)):
            with pytest.raises(ValueError, match="must be longer than zero"):
                await order.await_end(timeout)
            with pytest.raises(ValueError, match="must be longer than zero"):
                order.await_end_parts(timeout)
            with pytest.raises(ValueError, match="must be longer than zero"):
                order.call("start").then_await_end(timeout)
        seconds: Any = 30
        for wait in (order.await_end_parts, order.call("start").then_await_end):
            with pytest.raises(ValueError, match="timeout=30 is no duration"):
                wait(seconds)
        for entity in (client.for_event_sourced_entity("cart", "k1"), client.for_event_sourced_entity(CartEntity, "k1")):
            with pytest.raises(TypeError, match="'cart' is an entity: only a workflow's run has an end"):
                entity.call("quantity").then_await_end(LONG)
        with pytest.raises(RuntimeError, match="use await"):
            order.call("start").then_await_end(LONG).invoke_sync(3)
