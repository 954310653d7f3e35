# pyright: strict
"""Right and wrong calls of the components in `uses.py`, marked as there."""

from datetime import timedelta
from typing import assert_never, assert_type

from ankka.client import ComponentClient, Ended, Failed, Heartbeat, TimedOut, WorkflowLifecycle
from ankka.codec import Done
from tests.typing.uses import Counter, Order, OrderWorkflow, Other, Profile, Sub


async def calls(client: ComponentClient) -> None:
    order = client.for_workflow(OrderWorkflow, "c1")
    assert_type(await order.call(OrderWorkflow.start).invoke("ok"), Done)
    assert_type(await order.call(OrderWorkflow.count).invoke(1), int)
    assert_type(await order.call(OrderWorkflow.status).invoke(), Order)
    assert_type(await order.call(OrderWorkflow.default).invoke(), int)
    assert_type(await order.call(OrderWorkflow.default).invoke(3), int)
    assert_type(await client.for_workflow("order", "c1").call("start").invoke("ok"), Done)
    assert_type(await client.for_workflow("order", "c1").call("x").invoke(reply=Order), Order)
    assert_type(await client.for_workflow("order", "c1").call("x").invoke(reply=list[int]), list[int])
    assert_type(await client.for_workflow(Sub, "c1").call(OrderWorkflow.status).invoke(), Order)
    assert_type(await client.for_workflow(Sub, "c1").call(Sub.status).invoke(), Order)
    assert_type(await client.for_event_sourced_entity(Counter, "c1").call(Counter.add).invoke(3), int)
    assert_type(await client.for_key_value_entity(Profile, "p1").call(Profile.set).invoke(3), int)
    assert_type(await client.for_key_value_entity("profile", "p1").call("read").invoke(reply=Order), Order)
    assert_type(order.call(OrderWorkflow.status).invoke_sync(), Order)
    assert_type(await order.with_timeout(timedelta(seconds=1)).call(OrderWorkflow.start).with_timeout(timedelta(seconds=1)).invoke(mode="ok"), Done)
    assert_type(await order.call(OrderWorkflow.start).with_idempotency_key("k").with_metadata({"a": "b"}).invoke("ok"), Done)
    assert_type(await order.call(OrderWorkflow.start).with_idempotency_key(None).invoke("ok"), Done)
    assert_type(await order.named("fee").call(OrderWorkflow.count).invoke(1), int)
    assert_type(await order.call(OrderWorkflow.count).named("fee").invoke(number=1), int)
    assert_type(await client.for_workflow("order", "c1").named("x").call("start").invoke("ok"), Done)


async def ends(client: ComponentClient) -> None:
    named, order = client.for_workflow("order", "c1"), client.for_workflow(OrderWorkflow, "c1")
    soon = timedelta(seconds=1)
    assert_type(await named.lifecycle(), WorkflowLifecycle)
    assert_type((await order.lifecycle()).is_terminal, bool)
    assert_type(await named.await_end(), None)
    assert_type(await named.await_end(soon, reply=Order), Order)
    assert_type(named.await_end_sync(soon, reply=list[Order]), list[Order])
    async for part in named.await_end_parts(soon, reply=Order):
        match part:
            case Ended():
                assert_type(part.state, Order)
            case Failed():
                assert_type(part.message, str)
            case Heartbeat() | TimedOut():
                pass
            case _:
                assert_never(part)
    assert_type(await named.call("start").then_await_end(soon).invoke("ok"), None)
    assert_type(await named.call("start").then_await_end(soon).invoke("ok", reply=Order), Order)
    assert_type(await order.call(OrderWorkflow.start).then_await_end(soon).invoke("ok"), Order)
    assert_type(order.call(OrderWorkflow.start).then_await_end(soon).invoke_sync("ok"), Order)
    assert_type(await order.call(OrderWorkflow.start).with_idempotency_key("k").then_await_end(soon).invoke("ok"), Order)


async def wrong_ends(client: ComponentClient) -> None:
    named, order = client.for_workflow("order", "c1"), client.for_workflow(OrderWorkflow, "c1")
    soon = timedelta(seconds=1)
    await named.await_end(5)  # wrong: no duration
    await named.await_end(soon, Order)  # wrong: the type is named with `reply=`
    named.await_end_sync("1s")  # wrong: no duration
    named.await_end_parts(5)  # wrong: no duration
    await named.await_end_parts(soon)  # wrong: an iterator
    named.call("start").then_await_end()  # wrong: for how long?
    named.call("start").then_await_end(5)  # wrong: no duration
    await order.call(OrderWorkflow.start).then_await_end(soon).invoke()  # wrong: the input is missing
    await order.call(OrderWorkflow.start).then_await_end(soon).invoke(3)  # wrong: the input is of another type
    await order.call(OrderWorkflow.start).then_await_end(soon).invoke("ok", reply=Order)  # wrong: the state's type is known
    order.call(OrderWorkflow.start).then_await_end(soon).invoke_sync(3)  # wrong: the input is of another type
    client.for_key_value_entity(Profile, "p1").call(Profile.set).then_await_end(soon)  # wrong: an entity has no end
    client.for_event_sourced_entity(Counter, "c1").call(Counter.add).then_await_end(soon)  # wrong: an entity has no end


async def wrong_calls(client: ComponentClient) -> None:
    order = client.for_workflow(OrderWorkflow, "c1")
    await order.call(OrderWorkflow.start).invoke(3)  # wrong: the input is of another type
    await order.call(OrderWorkflow.start).invoke()  # wrong: the input is missing
    await order.call(OrderWorkflow.status).invoke(3)  # wrong: it takes no input
    await order.call(Other.read).invoke()  # wrong: a query of another workflow
    await order.call(OrderWorkflow.charge).invoke()  # wrong: a step is not called
    await order.call(OrderWorkflow.count).invoke("s")  # wrong: the input is of another type
    await order.call(OrderWorkflow.start).invoke("ok", "ok")  # wrong: one input too many
    await order.call(OrderWorkflow.start).invoke("ok", reply=Done)  # wrong: the reply's type is known
    await order.call(OrderWorkflow.count).invoke(numbr=3)  # wrong: no such input
    await order.call(OrderWorkflow.plain).invoke()  # wrong: a step is not called
    order.call(OrderWorkflow.start).invoke_sync(3)  # wrong: the input is of another type
    order.call(OrderWorkflow.wrong_targets)  # wrong: no handler
    order.call(Counter.add)  # wrong: a command of an entity
    order.call(3)  # wrong: no handler
    order.call(OrderWorkflow.start).with_idempotency_key(1)  # wrong: a key is text
    order.with_idempotency_key(1)  # wrong: a key is text
    order.call(OrderWorkflow.start).named(1)  # wrong: a name is text
    order.named(None)  # wrong: a name is text
    order.call(OrderWorkflow.start).with_timeout(5)  # wrong: no duration
    order.with_timeout(5)  # wrong: no duration
    order.call(OrderWorkflow.start).with_metadata({"a": 1})  # wrong: metadata is text
    client.for_workflow("order", 3)  # wrong: an id is text
    client.for_workflow("order")  # wrong: no id
    client.for_workflow(OrderWorkflow("x"), "c1")  # wrong: an object instead of the class
    client.for_workflow("order", "c1").call(OrderWorkflow.start)  # wrong: a component named by its id is called by names
    client.for_event_sourced_entity(Counter, "c1").call(Counter.read).invoke(3)  # wrong: it takes no input
    await client.for_event_sourced_entity(Counter, "c1").call(Counter.add).invoke("3")  # wrong: the input is of another type
    await client.for_event_sourced_entity(Counter, "c1").call(Counter.add).invoke()  # wrong: the input is missing
    client.for_event_sourced_entity(Counter, "c1").call(Profile.set)  # wrong: a command of another entity
    client.for_key_value_entity(Profile, "p1").call(Counter.add)  # wrong: a command of another entity
    client.for_key_value_entity(Profile, "p1").call(OrderWorkflow.start)  # wrong: a command of a workflow
    await client.for_key_value_entity(Profile, "p1").call(Profile.set).invoke()  # wrong: the input is missing
    client.for_event_sourced_entity(Profile, "c1")  # wrong: a key value entity
    client.for_event_sourced_entity(OrderWorkflow, "c1")  # wrong: a workflow is no entity
    client.for_key_value_entity(OrderWorkflow, "c1")  # wrong: a workflow is no entity
    client.for_workflow(Profile, "c1")  # wrong: an entity is no workflow
    client.for_workflow(Counter, "c1")  # wrong: an entity is no workflow
    client.for_key_value_entity(Counter, "c1")  # wrong: an event sourced entity
    await client.for_key_value_entity(Profile, "p1").call(Profile.set).invoke("3")  # wrong: the input is of another type
