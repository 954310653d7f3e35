# pyright: strict
"""Right and wrong uses of the public types. A line marked as wrong must be an error in pyright and mypy (strict), no other line may be."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_type

from ankka.client import ComponentClient
from ankka.codec import DONE, Done, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
from ankka.effects.key_value import KeyValueEffect, KeyValueReadOnlyEffect
from ankka.effects.workflow import StepRef, WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.key_value_entity import KeyValueEntity
from ankka.testkit import EventSourcedTestKit, KeyValueTestKit, WorkflowTestKit
from ankka.workflow import Workflow, WorkflowSettings, command, query, step


@dataclass(frozen=True)
class Order:
    id: str
    count: int = 0


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")
    settings = WorkflowSettings(timeout=timedelta(minutes=5))

    def empty_state(self) -> Order:
        return Order(self.entity_id)

    @command("start")
    def start(self, mode: str) -> WorkflowEffect[Order, Done]:
        if self.state.count:
            return self.effects.error("started", ErrorCode.CONFLICT)
        return self.effects.update_state(replace(self.state, count=1)).then_transition_to("charge").then_reply(lambda _: DONE)

    @command("count")
    async def count(self, number: int) -> WorkflowEffect[Order, int]:
        return self.effects.update_state(self.state).then_reply(lambda order: order.count)

    @command("move")
    def move(self) -> WorkflowEffect[Order, Order]:
        return self.effects.transition_to(self.ship, 3).then_reply_state()

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[Order, Order]:
        if not self.entity_id:
            return self.effects.error("no id")
        return self.effects.reply(self.state)

    @query("default")
    def default(self, number: int = 3) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply(number)

    @step("charge")
    async def charge(self) -> WorkflowStepEffect[Order]:
        total = await self.context.client.for_event_sourced_entity("cart", "c").call("total").invoke(reply=int)
        assert_type(total, int)
        next_step = "charge" if self.state.count else "ship"
        return self.step_effects.update_state(replace(self.state, count=total)).then_transition_to(next_step)

    @step("ship")
    def ship(self, number: int) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_transition_to(OrderWorkflow.ship, 3)

    @step("ship-later")
    async def ship_later(self, number: int) -> WorkflowStepEffect[Order]:
        match number:
            case 1:
                return self.step_effects.then_transition_to(OrderWorkflow.charge)
            case 2:
                return self.step_effects.then_transition_to(self.charge)
            case 3:
                return self.step_effects.transition_to(self.ship_later, 3)
            case 4:
                return self.step_effects.update_state(self.state).then_transition_to(OrderWorkflow.ship_later, 3)
            case 5:
                return self.step_effects.then_pause(after=timedelta(seconds=1), on_timeout=StepRef("charge"))
            case 6:
                return self.step_effects.then_pause(timedelta(seconds=1), self.plain)
            case 7:
                return self.step_effects.pause(after=timedelta(seconds=1), on_timeout=StepRef(OrderWorkflow.ship, 3))
            case 8:
                return self.step_effects.pause()
            case 9:
                return self.step_effects.then_fail("no", ErrorCode.CONFLICT)
            case _:
                return self.step_effects.end()

    @step("plain")
    def plain(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_end()

    def wrong_targets(self) -> None:
        effects = self.step_effects
        effects.then_transition_to(self.ship)  # wrong: the input is missing
        effects.then_transition_to(OrderWorkflow.ship)  # wrong: the input is missing
        effects.then_transition_to(self.ship, "x")  # wrong: the input is of another type
        effects.then_transition_to(OrderWorkflow.ship, "x")  # wrong: the input is of another type
        effects.then_transition_to(self.charge, 3)  # wrong: it takes no input
        effects.then_transition_to(OrderWorkflow.charge, 3)  # wrong: it takes no input
        effects.then_transition_to(self.status)  # wrong: a query is no step
        effects.then_transition_to(Other.go)  # wrong: a step on another state
        effects.then_transition_to(self.ship_later, None)  # wrong: the input is of another type
        effects.transition_to(self.ship)  # wrong: the input is missing
        effects.update_state(self.state).transition_to(self.ship, "x")  # wrong: the input is of another type
        effects.then_pause(timedelta(seconds=1), self.ship)  # wrong: the input is missing
        effects.then_pause(timedelta(seconds=1), self.status)  # wrong: a query is no step
        effects.then_pause(5)  # wrong: no duration
        effects.update_state(3)  # wrong: another state
        effects.then_fail("no", "CONFLICT")  # wrong: no error code
        StepRef(self.ship)  # wrong: the input is missing
        StepRef(OrderWorkflow.ship, "x")  # wrong: the input is of another type
        StepRef(self.status)  # wrong: a query is no step
        self.effects.transition_to(self.ship)  # wrong: the input is missing
        self.effects.then_transition_to(Other.go)  # wrong: a step on another state
        self.effects.update_state(self.state).then_transition_to(self.charge, 3)  # wrong: it takes no input
        self.effects.update_state(3)  # wrong: another state

    def wrong_reply(self) -> WorkflowEffect[Order, int]:
        return self.effects.update_state(self.state).then_reply(lambda order: order.id)  # wrong: another reply

    def wrong_query(self) -> WorkflowReadOnlyEffect[Order, Order]:
        return self.effects.update_state(self.state).then_reply_state()  # wrong: a query changes nothing

    def wrong_unfinished(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.update_state(self.state)  # wrong: it does not say what is next

    def wrong_kind(self) -> WorkflowStepEffect[Order]:
        return self.effects.reply(self.state)  # wrong: a command's effect


class Other(Workflow[int]):
    component_id = "other"
    state_codec = json_codec(int, "other")

    def empty_state(self) -> int:
        return 0

    @step("go")
    def go(self) -> WorkflowStepEffect[int]:
        return self.step_effects.then_end()

    @query("read")
    def read(self) -> WorkflowReadOnlyEffect[int, int]:
        return self.effects.reply(self.state)


class Sub(OrderWorkflow):
    component_id = "sub"


@dataclass(frozen=True)
class Added:
    number: int


@dataclass(frozen=True)
class Cleared:
    pass


class Counter(EventSourcedEntity[int, Added | Cleared]):
    component_id = "counter"
    state_codec = json_codec(int, "count")
    event_codec = json_codec(Added | Cleared, "counter-event")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: Added | Cleared) -> int:
        return state + event.number if isinstance(event, Added) else 0

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, Added | Cleared, int]:
        if number < 0:
            return self.effects.error("negative")
        return self.effects.persist(Added(number)).expire_after(timedelta(days=1)).then_reply_state()

    @command("clear")
    def clear(self) -> EventSourcedEffect[int, Added | Cleared, Done]:
        return self.effects.persist(Cleared(), Added(1)).delete_entity().then_no_reply()

    @query("read")
    def read(self) -> ReadOnlyEffect[int, Added | Cleared, int]:
        return self.effects.reply(self.state)

    def wrong_effects(self) -> None:
        self.effects.persist(3)  # wrong: another event
        self.effects.persist_all([Added(1), "x"])  # wrong: another event

    def wrong_query(self) -> ReadOnlyEffect[int, Added | Cleared, int]:
        return self.effects.persist(Added(1)).then_reply_state()  # wrong: a query changes nothing


class Profile(KeyValueEntity[Order]):
    component_id = "profile"
    state_codec = json_codec(Order, "profile")

    def empty_state(self) -> Order:
        return Order(self.entity_id)

    @command("set")
    def set(self, number: int) -> KeyValueEffect[Order, int]:
        if number < 0:
            return self.effects.error("negative")
        return self.effects.update_state(replace(self.state, count=number)).expire_after(timedelta(days=1)).then_reply(lambda order: order.count)

    @command("drop")
    async def drop(self) -> KeyValueEffect[Order, Done]:
        return self.effects.delete_entity().then_no_reply()

    @query("read")
    def read(self) -> KeyValueReadOnlyEffect[Order, Order]:
        return self.effects.reply(self.state)

    def wrong_effects(self) -> None:
        self.effects.update_state(3)  # wrong: another state
        self.effects.update_state(self.state).expire_after(5)  # wrong: no duration

    def wrong_reply(self) -> KeyValueEffect[Order, int]:
        return self.effects.update_state(self.state).then_reply_state()  # wrong: another reply

    def wrong_query(self) -> KeyValueReadOnlyEffect[Order, Order]:
        return self.effects.update_state(self.state).then_reply_state()  # wrong: a query changes nothing


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


async def wrong_calls(client: ComponentClient) -> None:
    order = client.for_workflow(OrderWorkflow, "c1")
    await order.call(OrderWorkflow.start).invoke(3)  # wrong: the input is of another type
    await order.call(OrderWorkflow.start).invoke()  # wrong: the input is missing
    await order.call(OrderWorkflow.status).invoke(3)  # wrong: it takes no input
    await order.call(Other.read).invoke()  # wrong: a query of another workflow
    await order.call(OrderWorkflow.charge).invoke()  # wrong: a step is not called
    await order.call(OrderWorkflow.count).invoke("s")  # wrong: the input is of another type
    client.for_workflow(Counter, "c1")  # wrong: an entity is no workflow
    client.for_key_value_entity(Counter, "c1")  # wrong: an event sourced entity
    await client.for_key_value_entity(Profile, "p1").call(Profile.set).invoke("3")  # wrong: the input is of another type


def kits() -> None:
    kit = WorkflowTestKit.of(OrderWorkflow)
    assert_type(kit.state, Order)
    assert_type(kit.run_step().new_state, Order | None)
    entity = EventSourcedTestKit.of(Counter)
    assert_type(entity.state, int)
    assert_type(entity.call("add", 3).events, list[Added | Cleared])
    entity.replay("x")  # wrong: another event
    profile = KeyValueTestKit.of(Profile)
    assert_type(profile.state, Order)
    assert_type(profile.call("set", 3).new_state, Order | None)
    KeyValueTestKit.of(Counter)  # wrong: an event sourced entity


async def functions_keep_their_types(order: OrderWorkflow) -> None:
    assert_type(order.ship(3), WorkflowStepEffect[Order])
    assert_type(await order.count(3), WorkflowEffect[Order, int])
    order.ship("x")  # wrong: the decorators keep the function's own type
