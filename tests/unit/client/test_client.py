"""The component client from outside: what it sends, what it makes of replies, and what it says when used wrongly."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from ankka import DONE, CommandError, ComponentClient, ErrorCode, WorkflowLifecycle
from ankka.protocol.errors import Error
from ankka.protocol.frames import Call, CallRefused, CallReplied, Rejected
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import BYTES, NOTHING, TEXT, Payload
from tests.unit.client.shop import CartEntity, Order, OrderWorkflow
from tests.unit.client.stub_sidecar import StubSession, stub_sidecar

NOTHING_AT_ALL = Payload(b"", NOTHING)


@asynccontextmanager
async def connected() -> AsyncGenerator[tuple[ComponentClient, StubSession]]:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        yield client, await stub.session()


async def answered(call: Awaitable[Any], session: StubSession, reply: Payload | Error) -> tuple[Call, Any]:
    """What the call sent, and what came of it when it is answered with `reply`."""
    task = asyncio.ensure_future(call)
    sent = await session.expect(Call)
    await session.send(CallRefused(sent.request, reply) if isinstance(reply, Error) else CallReplied(sent.request, reply))
    return sent, await task


async def test_its_session_declares_nothing_and_takes_no_work() -> None:
    async with connected() as (_, session):
        assert (session.hello.components, session.hello.steps, session.hello.threads) == ((), 0, 0)


async def test_a_call_by_name_answers_done() -> None:
    async with connected() as (client, session):
        sent, reply = await answered(client.for_workflow("order", "o/1").call("start").invoke(3), session, NOTHING_AT_ALL)
        assert (sent.component, sent.instance, sent.handler, sent.kind) == ("order", "o/1", "start", "workflow")
        assert (sent.input, sent.chain, sent.attempt, sent.key) == (Payload(b"3", TEXT), (), None, None)
        assert 29_000_000 < sent.timeout <= 30_000_000
        assert reply is DONE


async def test_a_call_by_name_with_reply_answers_that_type() -> None:
    async with connected() as (client, session):
        cart = client.for_event_sourced_entity("cart", "k1")
        sent, quantity = await answered(cart.call("quantity").invoke(reply=int), session, Payload(b"7", TEXT))
        assert (quantity, sent.input, sent.kind) == (7, None, "event-sourced-entity")
        _, order = await answered(cart.call("order").invoke(reply=Order), session, Payload(b'{"order_id":"o1","items":2}'))
        assert order == Order("o1", items=2)


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        (Payload(b"7", TEXT), "reply=int"),
        (Payload(b"7.5", TEXT), "reply=float"),
        (Payload(b"true", TEXT), "reply=bool"),
        (Payload(b"seven", TEXT), "reply=str"),
        (Payload(b"\x00", BYTES), "reply=bytes"),
        (Payload(b'{"a":1}', manifest="order"), "reply=order"),
        (Payload(b"[1]"), "reply=list"),
    ],
)
async def test_another_reply_than_done_is_an_error_that_names_the_type(reply: Payload, named: str) -> None:
    async with connected() as (client, session):
        with pytest.raises(TypeError, match="cart/quantity answers") as raised:
            await answered(client.for_event_sourced_entity("cart", "k1").call("quantity").invoke(), session, reply)
        assert named in str(raised.value)


async def test_a_refusal_is_a_command_error_with_code_message_and_details() -> None:
    async with connected() as (client, session):
        error = Error(ErrorCode.CONFLICT, "already started", {"since": "noon"})
        with pytest.raises(CommandError, match="CONFLICT: already started") as raised:
            await answered(client.for_workflow("order", "o1").call("start").invoke(3), session, error)
        assert raised.value.error == error


async def test_a_typed_call_encodes_and_decodes_as_the_class_says() -> None:
    async with connected() as (client, session):
        workflow = client.for_workflow(OrderWorkflow, "o1")
        sent, reply = await answered(workflow.call(OrderWorkflow.start).invoke(3), session, NOTHING_AT_ALL)
        assert (sent.component, sent.handler, sent.input, reply) == ("order", "start", Payload(b"3", TEXT), DONE)
        _, order = await answered(workflow.call(OrderWorkflow.status).invoke(), session, Payload(b'{"order_id":"o1","status":"x","items":2}'))
        assert order == Order("o1", "x", 2)
        sent, _ = await answered(workflow.call(OrderWorkflow.sum).invoke(), session, Payload(b"1", TEXT))
        assert sent.input is None, "the default is the handler's own"
        sent, _ = await answered(workflow.call(OrderWorkflow.sum).invoke(first=4), session, Payload(b"1", TEXT))
        assert sent.input == Payload(b"4", TEXT)
        sent, quantity = await answered(
            client.for_event_sourced_entity(CartEntity, "k1").call(CartEntity.quantity).invoke(), session, Payload(b"7", TEXT)
        )
        assert (sent.component, quantity) == ("cart", 7)


async def test_a_typed_class_still_takes_names() -> None:
    async with connected() as (client, session):
        sent, reply = await answered(client.for_workflow(OrderWorkflow, "o1").call("start").invoke(3), session, NOTHING_AT_ALL)
        assert (sent.handler, reply) == ("start", DONE)


def _wrong_class(client: Any) -> object:
    return client.for_workflow(CartEntity, "k1")


def _a_step(client: Any) -> object:
    return client.for_workflow(OrderWorkflow, "o1").call(OrderWorkflow.wait)


def _anothers_handler(client: Any) -> object:
    return client.for_workflow(OrderWorkflow, "o1").call(CartEntity.add)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (_wrong_class, "for_event_sourced_entity"),
        (_a_step, "no command or query of OrderWorkflow"),
        (_anothers_handler, "no command or query of OrderWorkflow"),
    ],
)
async def test_a_wrong_class_or_method_is_a_type_error_that_says_what_to_use(wrong: Callable[[Any], object], said: str) -> None:
    async with connected() as (client, _):
        with pytest.raises(TypeError, match=said):
            wrong(client)


async def test_wrong_arguments_of_a_typed_call_are_a_type_error() -> None:
    async with connected() as (client, _):
        start: Any = client.for_workflow(OrderWorkflow, "o1").call(OrderWorkflow.start)
        status: Any = client.for_workflow(OrderWorkflow, "o1").call(OrderWorkflow.status)
        with pytest.raises(TypeError, match="order/start takes one input, 'items'; it was given none"):
            await start.invoke()
        with pytest.raises(TypeError, match="order/status takes no input; it was given 1"):
            await status.invoke(3)
        with pytest.raises(TypeError, match="order/start takes one input, 'items'"):
            await start.invoke(number=3)


async def test_a_bad_id_is_refused_before_anything_is_sent() -> None:
    async with connected() as (client, session):
        with pytest.raises(CommandError, match="must not be empty") as raised:
            await client.for_workflow("order", "").call("start").invoke(3)
        assert raised.value.error.code is ErrorCode.BAD_REQUEST
        assert session.received.empty()


async def test_copies_with_a_timeout_and_metadata_leave_the_original_alone() -> None:
    async with connected() as (client, session):
        calls = client.for_workflow("order", "o1").with_metadata({"tenant": "acme"})
        start = calls.call("start")
        sent, _ = await answered(start.with_timeout(timedelta(seconds=2)).with_metadata({"user": "u1"}).invoke(3), session, NOTHING_AT_ALL)
        assert sent.metadata == {"tenant": "acme", "user": "u1"}
        assert 1_000_000 < sent.timeout <= 2_000_000
        sent, _ = await answered(start.invoke(3), session, NOTHING_AT_ALL)
        assert sent.metadata == {"tenant": "acme"}
        assert 29_000_000 < sent.timeout <= 30_000_000
        with pytest.raises(ValueError, match="must be longer than zero"):
            start.with_timeout(timedelta(0))
        seconds: Any = 5
        with pytest.raises(ValueError, match=r"timeout=5 is no duration; write timedelta\(seconds=…\)"):
            start.with_timeout(seconds)
        number: Any = {"retries": 1}
        with pytest.raises(ValueError, match="metadata is text by name; 1 is no text"):
            calls.with_metadata(number)
        with pytest.raises(ValueError, match="is no text"):
            calls.with_metadata({"tenant": "\ud800"})


async def test_what_is_no_id_and_no_wire_name() -> None:
    async with connected() as (client, _):
        number: Any = 17
        with pytest.raises(TypeError, match="an instance id is a text, not int 17"):
            client.for_workflow("order", number)
        method: Any = CartEntity.quantity
        with pytest.raises(
            TypeError, match=r"'cart' is named by its id, .*, not by CartEntity.quantity; .*client.for_event_sourced_entity\(TheClass, 'k1'\)"
        ):
            client.for_event_sourced_entity("cart", "k1").call(method)


async def test_lifecycle_and_await_end() -> None:
    async with connected() as (client, session):
        workflow = client.for_workflow("order", "o1")
        lifecycle = WorkflowLifecycle(LifecycleStatus.FAILED, failure="no stock", run=1, started_at=datetime(2026, 1, 2, tzinfo=UTC))
        sent, seen = await answered(workflow.lifecycle(), session, Payload(msgspec.json.encode(lifecycle)))
        assert (sent.handler, sent.input, seen, seen.is_terminal) == ("ankka:lifecycle", None, lifecycle, True)
        sent, order = await answered(workflow.await_end(timedelta(seconds=90), reply=Order), session, Payload(b'{"order_id":"o1"}'))
        assert (sent.handler, order) == ("ankka:await", Order("o1"))
        assert 89_000_000 < sent.timeout <= 90_000_000
        _, nothing = await answered(workflow.await_end(), session, Payload(b'{"order_id":"o1"}'))
        assert nothing is None
        with pytest.raises(TypeError, match="'cart' is an entity: only a workflow has a lifecycle"):
            await client.for_event_sourced_entity("cart", "k1").lifecycle()


async def test_a_lifecycle_query_under_way_when_the_connection_is_lost_is_asked_again() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        asked = asyncio.ensure_future(client.for_workflow("order", "o1").lifecycle())
        first = await stub.session()
        await first.expect(Call)
        first.drop()
        second = await stub.session()
        again = await second.expect(Call)
        await second.send(CallReplied(again.request, Payload(b"{}")))
        assert await asked == WorkflowLifecycle()


async def test_the_sync_twins_work_from_threads_and_refuse_the_loops_own() -> None:
    async with connected() as (client, session):
        workflow = client.for_workflow("order", "o1")
        _, reply = await answered(asyncio.to_thread(workflow.call("start").invoke_sync, 3), session, NOTHING_AT_ALL)
        assert reply is DONE
        typed = client.for_workflow(OrderWorkflow, "o1").call(OrderWorkflow.sum)
        _, number = await answered(asyncio.to_thread(typed.invoke_sync, 4), session, Payload(b"5", TEXT))
        assert number == 5
        _, seen = await answered(asyncio.to_thread(workflow.lifecycle_sync), session, Payload(b"{}"))
        assert seen == WorkflowLifecycle()
        for wrong, instead in ((typed.invoke_sync, "invoke"), (workflow.lifecycle_sync, "lifecycle"), (workflow.await_end_sync, "await_end")):
            with pytest.raises(RuntimeError, match=rf"use await \.{instead}\(\)"):
                wrong()


async def test_a_sidecar_that_refuses_the_client_fails_its_calls_with_the_reasons() -> None:
    async with stub_sidecar(Rejected(("protocol 1 is too old",))) as stub, ComponentClient(stub.url) as client:
        with pytest.raises(CommandError, match="protocol 1 is too old") as raised:
            await client.for_workflow("order", "o1").call("start").invoke(3)
        assert raised.value.error.code is ErrorCode.UNAVAILABLE


async def test_a_call_without_a_sidecar_is_unavailable_and_names_the_address() -> None:
    async with stub_sidecar() as stub:
        url = stub.url
    async with ComponentClient(url) as client:
        with pytest.raises(CommandError, match="no sidecar answers at") as raised:
            await client.for_workflow("order", "o1").call("start").with_timeout(timedelta(milliseconds=200)).invoke(3)
    assert raised.value.error.code is ErrorCode.UNAVAILABLE
    assert url in raised.value.error.message


async def test_closing_ends_the_calls_that_are_under_way() -> None:
    async with stub_sidecar() as stub:
        async with ComponentClient(stub.url) as client:
            session = await stub.session()
            asked = asyncio.ensure_future(client.for_workflow("order", "o1").call("start").invoke(3))
            await session.expect(Call)
        with pytest.raises(CommandError) as raised:
            await asked
        assert raised.value.error.details == {"outcome": "unknown"}
        with pytest.raises(RuntimeError, match="the client is not open"):
            client.for_workflow("order", "o1")


@pytest.mark.parametrize("url", ["127.0.0.1:9000", "ftp://host:1", "http://", "unix://socket", "http://host:1/path", ""])
def test_an_address_that_is_none_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ValueError, match="is no sidecar address"):
        ComponentClient(url)
