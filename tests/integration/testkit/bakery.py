"""A service for tests of the integration kit: orders that wait for an oven, a larder of events, a shop sign."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from ankka import (
    Ankka,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    KeyValueEffect,
    KeyValueEntity,
    KeyValueReadOnlyEffect,
    ReadOnlyEffect,
    ServiceBuilder,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowSettings,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)
from ankka.codec import DONE


@dataclass
class Oven:
    """What a step meets, and a test holds: `lit` lets bread through, `tried` says how often a step came to it."""

    lit: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Queue[int] = field(default_factory=asyncio.Queue[int])
    """The number of each attempt that has come to the oven."""
    tried: Counter[str] = field(default_factory=Counter[str])
    opened: int = 0
    closed: int = 0

    def lifespan(self) -> Callable[[], AbstractAsyncContextManager["Oven"]]:
        """A service's lifespan that hands this oven out, and counts."""

        @asynccontextmanager
        async def opened() -> AsyncGenerator["Oven"]:
            self.opened += 1
            try:
                yield self
            finally:
                self.closed += 1

        return opened


@dataclass(frozen=True)
class Order:
    bread: str
    status: str = "new"


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=60))

    def empty_state(self) -> Order:
        return Order("")

    @command("place")
    def place(self, bread: str) -> WorkflowEffect[Order, Done]:
        if self.state.status != "new":
            return self.effects.error(f"the order is already {self.state.status}", ErrorCode.CONFLICT)
        return self.effects.update_state(Order(bread, "placed")).then_transition_to(self.fetch).then_reply(lambda _: DONE)

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[Order, str]:
        return self.effects.reply(self.state.status)

    @step("fetch")
    async def fetch(self) -> WorkflowStepEffect[Order]:
        await self.context.client.for_event_sourced_entity(LarderEntity, "flour").call(LarderEntity.take).invoke(1)
        return self.step_effects.update_state(replace(self.state, status="fetched")).then_transition_to(self.bake)

    @step("bake")
    async def bake(self) -> WorkflowStepEffect[Order]:
        oven: Oven = self.context.resources
        oven.tried[self.entity_id] += 1
        oven.reached.put_nowait(self.context.attempt)
        await oven.lit.wait()
        return self.step_effects.update_state(replace(self.state, status="baked")).then_end()


class LarderEntity(EventSourcedEntity[int, int]):
    component_id = "larder"
    state_codec = json_codec(int, "larder")
    event_codec = json_codec(int, "taken")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("take")
    def take(self, number: int) -> EventSourcedEffect[int, int, int]:
        """Take so many pieces, each an event of its own."""
        return self.effects.persist_all([1] * number).then_reply_state()

    @query("taken")
    def taken(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


class SignEntity(KeyValueEntity[str]):
    component_id = "sign"
    state_codec = json_codec(str, "sign")

    def empty_state(self) -> str:
        return "closed"

    @command("write")
    def write(self, text: str) -> KeyValueEffect[str, str]:
        return self.effects.update_state(text).then_reply_state()

    @query("read")
    def read(self) -> KeyValueReadOnlyEffect[str, str]:
        return self.effects.reply(self.state)


def bakery(oven: Oven) -> ServiceBuilder:
    """The service, around that oven."""
    return Ankka.service(lifespan=oven.lifespan()).register(OrderWorkflow).register(LarderEntity).register(SignEntity)
