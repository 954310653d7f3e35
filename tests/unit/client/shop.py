"""Components whose handlers the tests drive: they wait, call, refuse, and note what became of them."""

import asyncio
import threading
from dataclasses import dataclass, field

from ankka import (
    DONE,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)


@dataclass
class Notes:
    """What the handlers of a test say and wait for; the service's resources."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    running: asyncio.Event = field(default_factory=asyncio.Event)
    thread_gate: threading.Event = field(default_factory=threading.Event)
    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released by each step that holds a thread."""
    said: list[str] = field(default_factory=list[str])
    tasks: "list[asyncio.Task[None]]" = field(default_factory=list["asyncio.Task[None]"])


@dataclass(frozen=True)
class Order:
    order_id: str
    status: str = "new"
    items: int = 0


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")

    def empty_state(self) -> Order:
        return Order(self.entity_id)

    @command("start")
    def start(self, items: int) -> WorkflowEffect[Order, Done]:
        if items < 1:
            return self.effects.error("nothing ordered", ErrorCode.BAD_REQUEST)
        return self.effects.update_state(Order(self.entity_id, "started", items)).then_transition_to("wait").then_reply(lambda _: DONE)

    @command("slow")
    async def slow(self) -> WorkflowEffect[Order, int]:
        notes: Notes = self.context.resources
        notes.running.set()
        try:
            await notes.gate.wait()
        except asyncio.CancelledError:
            notes.said.append("slow was cancelled")
            raise
        return self.effects.reply(self.state.items)

    @command("count")
    async def count(self) -> WorkflowEffect[Order, int]:
        quantity = await self.context.client.for_event_sourced_entity("cart", self.entity_id).call("quantity").invoke(reply=int)
        return self.effects.reply(quantity)

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[Order, Order]:
        return self.effects.reply(self.state)

    @query("sum")
    def sum(self, first: int = 1) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply(first + self.state.items)

    @step("wait")
    async def wait(self) -> WorkflowStepEffect[Order]:
        notes: Notes = self.context.resources
        notes.running.set()
        await notes.gate.wait()
        return self.step_effects.then_end()

    @step("in-thread")
    def in_thread(self) -> WorkflowStepEffect[Order]:
        notes: Notes = self.context.resources
        notes.thread_gate.wait(10)
        notes.said.append(f"cancelled: {self.context.is_cancelled}")
        return self.step_effects.then_end()

    @step("call-in-thread")
    def call_in_thread(self) -> WorkflowStepEffect[Order]:
        quantity = self.context.client.for_event_sourced_entity(CartEntity, "k1").call(CartEntity.quantity).invoke_sync()
        return self.step_effects.update_state(Order(self.entity_id, "counted", quantity)).then_end()

    @step("call-sync-on-loop")
    async def call_sync_on_loop(self) -> WorkflowStepEffect[Order]:
        self.context.client.for_event_sourced_entity("cart", "k1").call("quantity").invoke_sync(reply=int)
        return self.step_effects.then_end()


class CartEntity(EventSourcedEntity[int, int]):
    component_id = "cart"
    state_codec = json_codec(int, "cart")
    event_codec = json_codec(int, "added")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("add")
    def add(self, quantity: int) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(quantity).then_reply_state()

    @query("quantity")
    def quantity(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)
