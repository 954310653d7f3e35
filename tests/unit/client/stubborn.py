"""A workflow whose steps do what they should not: swallow cancellation, hold their thread, call when they are replaced."""

import asyncio
import threading
import time

from ankka import CommandError, Workflow, WorkflowEffect, WorkflowStepEffect, command, json_codec, step
from tests.unit.client.shop import Notes


class StubbornWorkflow(Workflow[int]):
    component_id = "stubborn"
    state_codec = json_codec(int, "stubborn")

    def empty_state(self) -> int:
        return 0

    @step("swallow")
    async def swallow(self, times: int) -> WorkflowStepEffect[int]:
        """Swallow so many cancellations, call when the gate opens, and end as if nothing had been."""
        notes: Notes = self.context.resources
        notes.running.set()
        for _ in range(times):
            try:
                await asyncio.Event().wait()
            except BaseException as error:
                notes.said.append(f"swallowed {type(error).__name__}")
        await self._call(notes)
        return self.step_effects.update_state(1).then_end()

    async def _call(self, notes: Notes) -> None:
        try:
            await self.context.client.for_event_sourced_entity("cart", "k1").call("quantity").invoke(reply=int)
        except CommandError as error:
            notes.said.append(str(error))

    @step("call-in-thread")
    def call_in_thread(self) -> WorkflowStepEffect[int]:
        """Call in a thread, again and again until it is refused."""
        notes: Notes = self.context.resources
        try:
            while True:
                self.context.client.for_event_sourced_entity("cart", "k1").call("quantity").invoke_sync(reply=int)
        except CommandError as error:
            notes.said.append(f"{self.context.is_cancelled}: {error}")
        return self.step_effects.then_end()

    @step("hold")
    def hold(self) -> WorkflowStepEffect[int]:
        """Hold the thread, whatever is asked."""
        notes: Notes = self.context.resources
        notes.held.release()
        notes.thread_gate.wait(10)
        return self.step_effects.then_end()

    @step("leave-behind")
    async def leave_behind(self) -> WorkflowStepEffect[int]:
        """End while a task of its own waits for a reply."""
        notes: Notes = self.context.resources
        notes.tasks.append(asyncio.create_task(self._call(notes)))
        await asyncio.sleep(0)
        return self.step_effects.then_end()

    @step("block")
    async def block(self) -> WorkflowStepEffect[int]:
        """Block the event loop, in a task of the step's own."""
        notes: Notes = self.context.resources

        async def inner() -> None:
            block_until(notes.thread_gate)

        await asyncio.create_task(inner())
        return self.step_effects.then_end()

    @command("block")
    def block_in_command(self) -> WorkflowEffect[int, int]:
        notes: Notes = self.context.resources
        block_until(notes.thread_gate)
        return self.effects.reply(1)


def block_until(gate: threading.Event) -> None:
    until = time.monotonic() + 10
    while not gate.wait(0.01) and time.monotonic() < until:
        continue
