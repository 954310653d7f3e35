# pyright: strict
"""Right and wrong uses of the public types. A line marked as wrong must be an error in pyright and mypy (strict), no other line may be."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_type

from ankka.client import CommandError, ComponentClient
from ankka.codec import DONE, Codec, Done, default_codec_for, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
from ankka.effects.key_value import KeyValueEffect, KeyValueReadOnlyEffect
from ankka.effects.workflow import StepRef, WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.key_value_entity import KeyValueEntity
from ankka.testkit import EventSourcedTestKit, KeyValueTestKit, WorkflowTestKit
from ankka.workflow import Backoff, Recovery, StepSettings, Workflow, WorkflowSettings, command, query, step


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
        effects.then_pause(timedelta(seconds=1), StepRef("ship", 3), 3)  # wrong: one argument too many
        effects.then_pause(timedelta(seconds=1), 3)  # wrong: no step
        effects.then_transition_to(3)  # wrong: no step
        effects.then_transition_to(self.start, "ok")  # wrong: a command is no step
        effects.then_transition_to(OrderWorkflow.status)  # wrong: a query is no step
        effects.then_transition_to(Other.read)  # wrong: a query of another workflow
        effects.then_transition_to(Counter.read)  # wrong: a query of an entity
        effects.then_transition_to(self.ship, 3, 4)  # wrong: one input too many
        effects.update_state(self.state).update_state(self.state)  # wrong: the state is set once
        effects.then_end(3)  # wrong: the end takes nothing
        effects.reply(self.state)  # wrong: a step replies to nobody
        StepRef(self.ship)  # wrong: the input is missing
        StepRef(OrderWorkflow.ship, "x")  # wrong: the input is of another type
        StepRef(self.status)  # wrong: a query is no step
        StepRef(OrderWorkflow.ship)  # wrong: the input is missing
        StepRef(self.charge, 3)  # wrong: it takes no input
        StepRef(Counter.read)  # wrong: a query of an entity
        StepRef(3)  # wrong: no step
        StepRef(self.plain).input = 3  # wrong: it is frozen
        self.effects.transition_to(self.ship)  # wrong: the input is missing
        self.effects.then_transition_to(Other.go)  # wrong: a step on another state
        self.effects.update_state(self.state).then_transition_to(self.charge, 3)  # wrong: it takes no input
        self.effects.update_state(3)  # wrong: another state
        self.effects.transition_to(self.ship, "x")  # wrong: the input is of another type
        self.effects.transition_to(self.status)  # wrong: a query is no step
        self.effects.update_state(self.state).then_transition_to(Other.go)  # wrong: a step on another state
        self.effects.transition_to("charge").then_transition_to("ship")  # wrong: one transition
        self.effects.transition_to("charge").then_reply(DONE)  # wrong: no function
        self.effects.transition_to("charge").then_reply(lambda order: order.nothing)  # wrong: the state has no such field
        self.effects.error("no", 409)  # wrong: no error code
        self.effects.delete().then_transition_to("charge")  # wrong: what is deleted goes nowhere
        self.effects.then_end()  # wrong: only a step ends

    def wrong_context(self) -> None:
        self.entity_id = "x"  # wrong: an id is not set
        self.state = self.state  # wrong: the state is set by an effect
        self.state.count = 3  # wrong: it is frozen
        self.context.attempt = 3  # wrong: only read
        self.context.client = None  # wrong: only read
        self.context.metadata["a"] = "b"  # wrong: metadata is read only
        self.context.now().sequence_number  # wrong: an instant
        self.context.nothing()  # wrong: there is no such thing
        self.context.random() + "x"  # wrong: a number

    def wrong_unreplied(self) -> WorkflowEffect[Order, Done]:
        return self.effects.update_state(self.state)  # wrong: it does not say what is replied

    def wrong_state(self) -> WorkflowEffect[int, Done]:
        return self.effects.update_state(self.state).then_no_reply()  # wrong: an effect on another state

    def wrong_step_state(self) -> WorkflowStepEffect[int]:
        return self.step_effects.update_state(self.state).then_end()  # wrong: an effect on another state

    def wrong_reply_state(self) -> WorkflowEffect[Order, int]:
        return self.effects.transition_to("charge").then_reply_state()  # wrong: another reply

    def wrong_answer(self) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply("3")  # wrong: another reply

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

    def context_of_an_entity(self) -> None:
        assert_type(self.context.metadata.get("a"), str | None)
        assert_type(self.context.sequence_number, int)
        assert_type(self.context.client, ComponentClient)
        assert_type(self.entity_id, str)
        self.context.attempt  # wrong: an entity has no attempts

    def wrong_effects(self) -> None:
        self.effects.persist(3)  # wrong: another event
        self.effects.persist()  # wrong: no event
        self.effects.persist(Added(1)).then_reply(lambda count: count.number)  # wrong: the state is a number
        self.effects.persist(Added(1)).expire_after(5)  # wrong: no duration
        self.effects.update_state(3)  # wrong: an event sourced entity persists events
        self.effects.transition_to("x")  # wrong: an entity has no steps
        self.effects.persist_all([Added(1), "x"])  # wrong: another event

    def wrong_reply(self) -> EventSourcedEffect[int, Added | Cleared, str]:
        return self.effects.persist(Added(1)).then_reply_state()  # wrong: another reply

    def wrong_event(self) -> EventSourcedEffect[int, str, Done]:
        return self.effects.persist(Added(1)).then_no_reply()  # wrong: an effect of other events

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
        self.effects.persist(3)  # wrong: a key value entity has no events
        self.effects.transition_to("x")  # wrong: an entity has no steps

    def wrong_reply(self) -> KeyValueEffect[Order, int]:
        return self.effects.update_state(self.state).then_reply_state()  # wrong: another reply

    def wrong_query(self) -> KeyValueReadOnlyEffect[Order, Order]:
        return self.effects.update_state(self.state).then_reply_state()  # wrong: a query changes nothing


def wrong_settings() -> None:
    WorkflowSettings(timeout=5)  # wrong: no duration
    WorkflowSettings(steps={"charge": Recovery()})  # wrong: a recovery is a part of a step's settings
    WorkflowSettings(steps={OrderWorkflow.charge: StepSettings()})  # wrong: steps are named by their wire names here
    WorkflowSettings(default_recovery=3)  # wrong: no recovery
    WorkflowSettings(cancel_to=3)  # wrong: no name
    StepSettings(timeout=5)  # wrong: no duration
    StepSettings(once="yes")  # wrong: true or false
    Recovery(max_retries="three")  # wrong: a number
    Recovery(failover_to=3)  # wrong: no name
    Recovery(backoff=timedelta(seconds=1))  # wrong: no back-off
    Recovery(not_on=(3,))  # wrong: types or their names
    Backoff(5)  # wrong: no duration
    Backoff(timedelta(seconds=1), factor="2")  # wrong: a number


def codecs() -> None:
    assert_type(json_codec(Order, "order"), Codec[Order])
    assert_type(json_codec(Order | None, "order"), Codec[Order | None])
    assert_type(json_codec(Added | Cleared, "event", names={Added: "added"}, aliases={"old": Added}).decode(b""), Added | Cleared)
    assert_type(default_codec_for(list[Order]).decode(b""), list[Order])
    json_codec(Order, "order").encode(3)  # wrong: no order
    json_codec(Order, 3)  # wrong: a manifest is text
    json_codec(Order)  # wrong: no manifest
    json_codec(3, "three")  # wrong: no type
    json_codec(Added | Cleared, "event", tag=3)  # wrong: a tag is text
    json_codec(Added | Cleared, "event", names={"Added": Added})  # wrong: the other way round
    json_codec(Added | Cleared, "event", aliases={Added: "old"})  # wrong: the other way round
    default_codec_for(int).encode("3")  # wrong: no number


def wrong_declarations() -> None:
    step("name", aliases=3)  # wrong: no names
    command(3)  # wrong: a wire name is text
    query()  # wrong: no wire name
    StepRef()  # wrong: no step
    raise CommandError("no", "CONFLICT")  # wrong: no error code


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
