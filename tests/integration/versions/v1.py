"""The first version of the service of these tests: `python -m tests.integration.versions.v1`."""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    StepRef,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)


@dataclass(frozen=True)
class Order:
    """v2 has no `coupon`, calls the `label` a `title`, and adds a `gift`."""

    item: str = ""
    coupon: str = ""
    label: str = ""


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")

    def empty_state(self) -> Order:
        return Order()

    @command("start")
    def start(self, name: str) -> WorkflowEffect[Order, Done]:
        """Go to the step of that name."""
        return self.effects.update_state(Order("book", "ten percent", "blue")).then_transition_to(name).then_reply(lambda _: DONE)

    @command("go")
    def go(self, name: str) -> WorkflowEffect[Order, Done]:
        return self.effects.transition_to(name).then_reply(lambda _: DONE)

    @command("rename")
    def rename(self, item: str) -> WorkflowEffect[Order, str]:
        return self.effects.update_state(replace(self.state, item=item)).then_reply(lambda _: "v1")

    @query("version")
    def version(self) -> WorkflowReadOnlyEffect[Order, str]:
        return self.effects.reply("v1")

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Order, Order]:
        return self.effects.reply(self.state)

    @step("rest")
    async def rest(self) -> WorkflowStepEffect[Order]:
        """Wait for a command."""
        return self.step_effects.then_pause()

    @step("rest-a-little")
    async def rest_a_little(self) -> WorkflowStepEffect[Order]:
        """Wait for a step that v2 has under another name."""
        return self.step_effects.then_pause(after=timedelta(seconds=0.3), on_timeout=StepRef("reserve"))

    @step("reserve")
    async def reserve(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.update_state(replace(self.state, item=f"{self.state.item}, reserved by v1")).then_end()

    @step("gated")
    async def gated(self) -> WorkflowStepEffect[Order]:
        """Wait until the test opens the gate, then go to a step that v2 has not."""
        while not Path("gate").exists():  # noqa: ASYNC110, ASYNC240  # opened by the test, from another process
            await asyncio.sleep(0.01)
        return self.step_effects.then_transition_to("legacy")

    @step("legacy")
    async def legacy(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.update_state(replace(self.state, item=f"{self.state.item}, legacy of v1")).then_end()


class ExtraEntity(EventSourcedEntity[int, int]):
    """A component that v2 has not."""

    component_id = "extra"
    state_codec = json_codec(int, "extra")
    event_codec = json_codec(int, "added")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(number).then_reply_state()


if __name__ == "__main__":
    Ankka.service().register(OrderWorkflow).register(ExtraEntity).start()
