"""An order: a workflow that does in its steps what a test of the kits tells it, in the input of `start`."""

import asyncio
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ankka.codec import DONE, Done, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import StepRef, WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.testkit import WorkflowTestKit
from ankka.workflow import Backoff, Recovery, StepSettings, Workflow, WorkflowSettings, command, query, step

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
"""When simulated time begins."""
S = timedelta(seconds=1)


@dataclass(frozen=True)
class Order:
    status: str = "new"
    stock: int = 0
    note: str = ""


class OutOfStock(Exception):
    pass


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")
    settings = WorkflowSettings(
        timeout=timedelta(days=60),
        default_step_timeout=timedelta(seconds=30),
        steps={
            "reserve": StepSettings(
                timeout=timedelta(seconds=10),
                recovery=Recovery(max_retries=3, failover_to="cancel", backoff=Backoff(timedelta(seconds=1)), not_on=(OutOfStock,)),
            ),
            "charge": StepSettings(once=True),
            "pack": StepSettings(recovery=Recovery(max_retries=1)),
        },
    )

    def empty_state(self) -> Order:
        return Order()

    @command("start")
    def start(self, at: str) -> WorkflowEffect[Order, Done]:
        return self.effects.update_state(replace(self.state, status="started")).then_transition_to(at).then_reply(lambda _: DONE)

    @command("note")
    async def take_note(self, text: str) -> WorkflowEffect[Order, Done]:
        return self.effects.update_state(replace(self.state, note=text)).then_reply(lambda _: DONE)

    @command("approve")
    def approve(self) -> WorkflowEffect[Order, Done]:
        return self.effects.transition_to("charge").then_reply(lambda _: DONE)

    @command("slow")
    async def slow(self, seconds: int) -> WorkflowEffect[Order, Done]:
        await asyncio.sleep(seconds)
        return self.effects.update_state(replace(self.state, note="slow")).then_reply(lambda _: DONE)

    @command("delete")
    def delete(self) -> WorkflowEffect[Order, Done]:
        return self.effects.delete().then_reply(lambda _: DONE)

    @query("state")
    async def show(self) -> WorkflowReadOnlyEffect[Order, Order]:
        return self.effects.reply(self.state)

    @step("reserve")
    async def reserve(self) -> WorkflowStepEffect[Order]:
        stock = self.context.client.for_event_sourced_entity("stock", "s1")
        taken = await stock.call("take").invoke(1, reply=int)
        await stock.call("confirm").invoke()
        return self.step_effects.update_state(replace(self.state, status="reserved", stock=taken)).then_transition_to("charge")

    @step("charge")
    async def charge(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.update_state(replace(self.state, status="charged")).then_end()

    @step("cancel")
    def cancel(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.update_state(replace(self.state, status="cancelled")).then_end()

    @step("pack")
    async def pack(self) -> WorkflowStepEffect[Order]:
        await asyncio.sleep(20)
        return self.step_effects.update_state(replace(self.state, status="packed")).then_end()

    @step("sync")
    def in_a_thread(self) -> WorkflowStepEffect[Order]:
        self.context.client.for_event_sourced_entity("stock", "s1").call("confirm").invoke_sync()
        return self.step_effects.then_end()

    @step("ask")
    def ask(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_pause(after=timedelta(days=3), on_timeout=StepRef("cancel"))

    @step("wait")
    def wait(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_pause()

    @step("refuse")
    def refuse(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_fail("not today", ErrorCode.CONFLICT)

    @step("round")
    async def round(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_transition_to("round")

    @step("nap")
    async def nap(self) -> WorkflowStepEffect[Order]:
        await asyncio.to_thread(time.sleep, 0.01)
        return self.step_effects.then_end()

    @step("stuck-thread")
    def stuck_thread(self) -> WorkflowStepEffect[Order]:
        threading.Event().wait(5)
        return self.step_effects.then_end()

    @step("stuck-loop")
    async def stuck_loop(self) -> WorkflowStepEffect[Order]:
        time.sleep(5)  # noqa: ASYNC251  # what the kit must not hang on
        return self.step_effects.then_end()

    @step("spinning")
    async def spinning(self) -> WorkflowStepEffect[Order]:
        while True:  # noqa: ASYNC110  # what the kit must not hang on
            await asyncio.sleep(0)

    @step("forever")
    async def forever(self) -> WorkflowStepEffect[Order]:
        await asyncio.Event().wait()
        return self.step_effects.then_end()


def order(at: str) -> WorkflowTestKit[Order]:
    """An order that has been started at a step."""
    kit = WorkflowTestKit.of(OrderWorkflow, "o1")
    kit.when("stock", "take").reply(1)
    kit.when("stock", "confirm").reply()
    assert kit.call("start", at).reply == DONE
    return kit


def shown(kit: WorkflowTestKit[Any]) -> list[tuple[str, str | None, int | None]]:
    """The timeline, by type, step and attempt."""
    return [(entry.type, entry.step, entry.attempt) for entry in kit.journal]
