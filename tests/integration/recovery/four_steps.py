"""The service of the recovery tests: four steps that write to a ledger; the second waits until a gate file exists.

`python -m tests.integration.recovery.four_steps`, in the folder of the ledger.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from ankka.codec import DONE, Done, json_codec
from ankka.effects.workflow import StepRef, WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import command, query
from ankka.service import Ankka
from ankka.workflow import Workflow, WorkflowSettings, step

LEDGER = Path("ledger.txt")
GATE = Path("gate")


@dataclass(frozen=True)
class Walk:
    """Which steps it has been through, with what input."""

    trail: tuple[str, ...] = ()


def note(step_name: str, entity_id: str, attempt: int) -> None:
    """One line for each run of a step."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{entity_id} {step_name} {attempt}\n")


async def gate() -> None:
    """Wait until the gate is open."""
    while not GATE.exists():  # noqa: ASYNC110, ASYNC240  # opened by the test, from another process
        await asyncio.sleep(0.01)


class FourSteps(Workflow[Walk]):
    """first, second (waits), third, fourth; `pause` waits for a minute instead."""

    component_id = "walk"
    state_codec = json_codec(Walk, "walk")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=60))

    def empty_state(self) -> Walk:
        return Walk()

    @command("start")
    def start(self, word: str) -> WorkflowEffect[Walk, Done]:
        return self.effects.transition_to("first", word).then_reply(lambda _: DONE)

    @command("pause")
    def pause(self, seconds: int) -> WorkflowEffect[Walk, Done]:
        return self.effects.transition_to("rest", seconds).then_reply(lambda _: DONE)

    @query("trail")
    def trail(self) -> WorkflowReadOnlyEffect[Walk, Walk]:
        return self.effects.reply(self.state)

    def _been(self, name: str, word: str) -> Walk:
        note(name, self.entity_id, self.context.attempt)
        return replace(self.state, trail=(*self.state.trail, f"{name}:{word}"))

    @step("first")
    async def first(self, word: str) -> WorkflowStepEffect[Walk]:
        return self.step_effects.update_state(self._been("first", word)).then_transition_to("second", word)

    @step("second")
    async def second(self, word: str) -> WorkflowStepEffect[Walk]:
        walk = self._been("second", word)
        await gate()
        return self.step_effects.update_state(walk).then_transition_to("third", word)

    @step("third")
    def third(self, word: str) -> WorkflowStepEffect[Walk]:
        return self.step_effects.update_state(self._been("third", word)).then_transition_to("fourth", word)

    @step("fourth")
    async def fourth(self, word: str) -> WorkflowStepEffect[Walk]:
        return self.step_effects.update_state(self._been("fourth", word)).then_end()

    @step("rest")
    async def rest(self, seconds: int) -> WorkflowStepEffect[Walk]:
        return self.step_effects.update_state(self._been("rest", str(seconds))).then_pause(
            after=timedelta(seconds=seconds), on_timeout=StepRef("fourth", "rested")
        )


if __name__ == "__main__":
    Ankka.service().register(FourSteps).start()
