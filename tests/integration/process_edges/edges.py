"""The service of these tests: steps that take their time, hold on to what they have, or call from many threads.

`python -m tests.integration.process_edges.edges`; `SYNC_STEPS` is how many sync steps it runs at once.
"""

import asyncio
import os
import threading
import time
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    Done,
    Recovery,
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
CALLERS = 8


def note(line: str) -> None:
    """One line for each run of a step, and for what happened in it."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{line}\n")


class EdgeWorkflow(Workflow[list[str]]):
    """`start` runs the step it names, with the seconds it is given; each ends with `end`."""

    component_id = "edge"
    state_codec = json_codec(list[str], "edge")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=120),
        steps={name: StepSettings(timeout=timedelta(seconds=0.3), recovery=Recovery(max_retries=1)) for name in ("late", "hold")},
    )

    def empty_state(self) -> list[str]:
        return []

    def merge_state(self, base: list[str], current: list[str], mine: list[str]) -> list[str]:
        return [*current, *mine[len(base) :]]

    @command("start")
    def start(self, what: tuple[str, float]) -> WorkflowEffect[list[str], Done]:
        name, seconds = what
        return self.effects.transition_to(name, seconds).then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[list[str], Done]:
        return self.effects.update_state([*self.state, text]).then_reply(lambda _: DONE)

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[list[str], list[str]]:
        return self.effects.reply(self.state)

    def _been(self, name: str) -> WorkflowStepEffect[list[str]]:
        return self.step_effects.update_state([*self.state, f"{name} {self.context.attempt}"]).then_end()

    def _begin(self, name: str) -> None:
        note(f"{self.entity_id} {name} {self.context.attempt}")

    @step("sleep")
    async def sleep(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        self._begin("sleep")
        await asyncio.sleep(seconds)
        return self._been("sleep")

    @step("thread")
    def thread(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        self._begin("thread")
        time.sleep(seconds)
        return self._been("thread")

    @step("to-thread")
    async def to_thread(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        self._begin("to-thread")
        await asyncio.to_thread(time.sleep, seconds)
        return self._been("to-thread")

    @step("swallow")
    async def swallow(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        self._begin("swallow")
        await _swallowing(seconds)
        return self._been("swallow")

    @step("late")
    async def late(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        """The first attempt swallows the cancellation at its timeout and goes on; the second is quick."""
        self._begin("late")
        if self.context.attempt == 1:
            await _swallowing(seconds)
            note(f"{self.entity_id} late {self.context.attempt} ended, cancelled: {self.context.is_cancelled}")
        return self._been("late")

    @step("hold")
    def hold(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        """The first attempt holds its thread, beyond its timeout."""
        self._begin("hold")
        if self.context.attempt == 1:
            time.sleep(seconds)
        return self._been("hold")

    @step("block")
    async def block(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        """Blocks the event loop, in a task of its own as `gather` makes them."""
        self._begin("block")

        async def blocking() -> None:
            time.sleep(seconds)  # noqa: ASYNC251 - what must not be done

        await asyncio.gather(blocking())
        return self._been("block")

    @step("callers")
    def callers(self, seconds: float) -> WorkflowStepEffect[list[str]]:
        """Threads that call, and note each second how many calls each has made."""
        self._begin("callers")
        counts = [0] * CALLERS
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._calling, args=(number, until, counts)) for number in range(CALLERS)]
        for thread in threads:
            thread.start()
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(1, left))
            note(f"calls {' '.join(map(str, counts))}")
        for thread in threads:
            thread.join()
        return self._been("callers")

    def _calling(self, number: int, until: float, counts: list[int]) -> None:
        tally = self.context.client.for_event_sourced_entity(TallyEntity, f"t{number}")
        while time.monotonic() < until:
            assert tally.call(TallyEntity.add).invoke_sync(1) == counts[number] + 1
            counts[number] += 1


async def _swallowing(seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except BaseException:
            note("swallowed")


def main() -> None:
    """Run it."""
    service = Ankka.service().register(EdgeWorkflow).register(TallyEntity)
    service.limits(sync_steps=int(os.environ.get("SYNC_STEPS", "64"))).start()


if __name__ == "__main__":
    main()
