"""The service of the operator tests: steps that take long in several ways, back off, pause, or call for ever.

`python -m tests.integration.operators.held`; what ran is in the ledger of its folder, a line for each event.
"""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    Backoff,
    Done,
    EventSourcedEffect,
    Recovery,
    StepRef,
    StepSettings,
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
from tests.integration.support.tally import TallyEntity

LEDGER = Path("ledger")
GATE = Path("gate")


def note(line: str) -> None:
    """One line in the ledger."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{line}\n")


async def gate(name: str) -> None:
    """Wait until the test has opened the gate of that instance."""
    while not Path(f"gate-{name}").exists():  # noqa: ASYNC110, ASYNC240  # opened by the test, from another process
        await asyncio.sleep(0.01)


class HeldWorkflow(Workflow[list[str]]):
    """`start` goes to the step it names; `gated` waits for the test, then goes on to `second` and `third`."""

    component_id = "held"
    state_codec = json_codec(list[str], "held")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=60),
        steps={"backing-off": StepSettings(recovery=Recovery(max_retries=2, backoff=Backoff(timedelta(seconds=0.5), factor=1.0)))},
    )

    def empty_state(self) -> list[str]:
        return []

    @command("start")
    def start(self, name: str) -> WorkflowEffect[list[str], Done]:
        return self.effects.transition_to(name).then_reply(lambda _: DONE)

    @command("keep")
    def keep(self, text: str) -> WorkflowEffect[list[str], Done]:
        return self.effects.update_state([text]).then_reply(lambda _: DONE)

    @command("hang")
    async def hang(self) -> WorkflowEffect[list[str], Done]:
        """A command that never ends."""
        note(f"{self.entity_id} hang")
        await asyncio.Event().wait()
        return self.effects.reply(DONE)

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[list[str], list[str]]:
        return self.effects.reply(self.state)

    def _been(self, name: str) -> list[str]:
        note(f"{self.entity_id} {name} {self.context.attempt}")
        return [*self.state, name]

    @step("gated")
    async def gated(self) -> WorkflowStepEffect[list[str]]:
        state = self._been("gated")
        await gate(self.entity_id)
        return self.step_effects.update_state(state).then_transition_to("second")

    @step("second")
    async def second(self) -> WorkflowStepEffect[list[str]]:
        return self.step_effects.update_state(self._been("second")).then_transition_to("third")

    @step("third")
    async def third(self) -> WorkflowStepEffect[list[str]]:
        return self.step_effects.update_state(self._been("third")).then_end()

    @step("async")
    async def in_the_loop(self) -> WorkflowStepEffect[list[str]]:
        self._been("async")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            note(f"{self.entity_id} async heard")
            raise
        return self.step_effects.then_transition_to("second")

    @step("threaded")
    def threaded(self) -> WorkflowStepEffect[list[str]]:
        self._been("threaded")
        until = time.monotonic() + 60
        while not self.context.is_cancelled and time.monotonic() < until:
            time.sleep(0.01)
        note(f"{self.entity_id} threaded heard")
        return self.step_effects.then_transition_to("second")

    @step("computing")
    def computing(self) -> WorkflowStepEffect[list[str]]:
        """A thread that never gives up the CPU of itself."""
        self._been("computing")
        until = time.monotonic() + 60
        number = 0
        while not self.context.is_cancelled and time.monotonic() < until:
            number = (number * 31 + 7) % 1_000_003
        note(f"{self.entity_id} computing heard")
        return self.step_effects.then_transition_to("second")

    @step("late")
    async def late(self) -> WorkflowStepEffect[list[str]]:
        """Takes no notice of its cancellation: it answers when the gate is open."""
        state = self._been("late")
        while True:
            try:
                await gate(self.entity_id)
                break
            except asyncio.CancelledError:
                note(f"{self.entity_id} late heard")
        note(f"{self.entity_id} late answers")
        return self.step_effects.update_state(state).then_transition_to("second")

    @step("backing-off")
    async def backing_off(self) -> WorkflowStepEffect[list[str]]:
        self._been("backing-off")
        raise ValueError("not yet")

    @step("resting")
    async def resting(self) -> WorkflowStepEffect[list[str]]:
        self._been("resting")
        return self.step_effects.then_pause(after=timedelta(seconds=0.7), on_timeout=StepRef("second"))

    @step("waiting")
    async def waiting(self) -> WorkflowStepEffect[list[str]]:
        return self.step_effects.update_state(self._been("waiting")).then_pause()

    @step("deadlocked")
    async def deadlocked(self) -> WorkflowStepEffect[list[str]]:
        """Waits for a command of its own instance that never ends."""
        self._been("deadlocked")
        await self.context.client.for_workflow("held", self.entity_id).call("hang").with_timeout(timedelta(seconds=50)).invoke()
        return self.step_effects.then_end()


class BudgetWorkflow(Workflow[int]):
    """A second for all of it; its step waits for the gate."""

    component_id = "budget"
    state_codec = json_codec(int, "budget")
    settings = WorkflowSettings(timeout=timedelta(seconds=1.2))

    def empty_state(self) -> int:
        return 0

    @command("start")
    def start(self) -> WorkflowEffect[int, Done]:
        return self.effects.transition_to("rest").then_reply(lambda _: DONE)

    @step("rest")
    async def rest(self) -> WorkflowStepEffect[int]:
        note(f"{self.entity_id} rest {self.context.attempt}")
        return self.step_effects.then_pause()


class TidyWorkflow(Workflow[list[str]]):
    """A cancel goes to `tidy`, which waits for the gate."""

    component_id = "tidy"
    state_codec = json_codec(list[str], "tidy")
    settings = WorkflowSettings(cancel_to="tidy", default_step_timeout=timedelta(seconds=60))

    def empty_state(self) -> list[str]:
        return []

    @command("start")
    def start(self) -> WorkflowEffect[list[str], Done]:
        return self.effects.update_state(["started"]).then_transition_to("work").then_reply(lambda _: DONE)

    @step("work")
    async def work(self) -> WorkflowStepEffect[list[str]]:
        note(f"{self.entity_id} work {self.context.attempt}")
        await asyncio.sleep(60)
        return self.step_effects.then_end()

    @step("tidy")
    async def tidy(self) -> WorkflowStepEffect[list[str]]:
        note(f"{self.entity_id} tidy {self.context.attempt}")
        await gate(self.entity_id)
        return self.step_effects.update_state([*self.state, "tidied"]).then_end()


class HangingTally(TallyEntity):
    @command("hang")
    async def hang(self) -> EventSourcedEffect[int, int, int]:
        """A command that never ends."""
        note(f"{self.entity_id} hang")
        await asyncio.Event().wait()
        return self.effects.persist(1).then_reply_state()


if __name__ == "__main__":
    Ankka.service().register(HeldWorkflow).register(BudgetWorkflow).register(TidyWorkflow).register(HangingTally).start()
