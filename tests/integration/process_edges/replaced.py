"""A workflow whose first attempt does not stop when it is replaced, and the entity it calls: `python -m …replaced`."""

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ankka.client import CommandError
from ankka.codec import DONE, Done, json_codec
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.workflow import WorkflowEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity, command
from ankka.service import Ankka
from ankka.workflow import Recovery, StepSettings, Workflow, WorkflowSettings, step

LEDGER = Path("ledger.txt")
STEP_TIMEOUT = timedelta(milliseconds=400)


def note(text: str) -> None:
    """A line that counts, outside the engine."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{text}\n")


@dataclass(frozen=True)
class Added:
    """Something was added."""

    what: str


class Tray(EventSourcedEntity[tuple[str, ...], Added]):
    """What was added, in order; `slowly` takes its time, so that others wait in the mailbox."""

    component_id = "tray"
    state_codec = json_codec(tuple[str, ...], "tray")
    event_codec = json_codec(Added, "tray-event")

    def empty_state(self) -> tuple[str, ...]:
        return ()

    def apply_event(self, state: tuple[str, ...], event: Added) -> tuple[str, ...]:
        return (*state, event.what)

    @command("add")
    def add(self, what: str) -> EventSourcedEffect[tuple[str, ...], Added, Done]:
        return self.effects.persist(Added(what)).then_reply(lambda _: DONE)

    @command("slowly")
    async def slowly(self, what: str) -> EventSourcedEffect[tuple[str, ...], Added, Done]:
        note("slowly began")
        await asyncio.sleep(1.5)
        return self.effects.persist(Added(what)).then_reply(lambda _: DONE)


class Stubborn(Workflow[str]):
    """`late` ignores its cancellation and calls afterwards; `waits` is replaced while its call waits in the mailbox."""

    component_id = "stubborn"
    state_codec = json_codec(str, "stubborn")
    settings = WorkflowSettings(
        steps={name: StepSettings(timeout=STEP_TIMEOUT, recovery=Recovery(max_retries=1)) for name in ("late", "waits")},
    )

    def empty_state(self) -> str:
        return "new"

    @command("start")
    def start(self, step_name: str) -> WorkflowEffect[str, Done]:
        return self.effects.transition_to(step_name).then_reply(lambda _: DONE)

    def _call(self, what: str) -> None:
        try:
            self.context.client.for_event_sourced_entity("tray", self.entity_id).call("add").invoke_sync(what)
        except CommandError as refused:
            note(f"{what} refused {refused.error.code}")
        else:
            note(f"{what} done")

    @step("late")
    def late(self) -> WorkflowStepEffect[str]:
        if self.context.attempt == 1:
            time.sleep(1.2)  # past its timeout and the grace time: a thread cannot be stopped
            self._call("late")
            return self.step_effects.update_state("first").then_end()
        time.sleep(0.1)
        return self.step_effects.update_state("second").then_end()

    @step("waits")
    def waits(self) -> WorkflowStepEffect[str]:
        if self.context.attempt == 1:
            self._call("waited")
            return self.step_effects.update_state("first").then_end()
        return self.step_effects.update_state("second").then_end()


if __name__ == "__main__":
    Ankka.service().register(Tray).register(Stubborn).start()
