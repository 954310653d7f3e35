"""The service of the merge tests: a step that waits for the test, while commands change the state it was given.

`python -m tests.integration.merging.parcels`; each run of a step and each merge is a line in the ledger of its folder.
"""

import asyncio
import os
import signal
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Parcel:
    notes: tuple[str, ...] = ()
    status: str = "new"
    weight: int = 0


def note(line: str) -> None:
    """One line in the ledger."""
    with Path("ledger").open("a") as ledger:
        ledger.write(f"{line}\n")


class ParcelWorkflow(Workflow[Parcel]):
    component_id = "parcel"
    state_codec = json_codec(Parcel, "parcel")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=60),
        steps={"pack": StepSettings(timeout=timedelta(seconds=60), recovery=Recovery(max_retries=1))},
    )

    def empty_state(self) -> Parcel:
        return Parcel()

    @command("start")
    def start(self) -> WorkflowEffect[Parcel, Done]:
        return self.effects.transition_to("pack").then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[Parcel, Done]:
        return self.effects.update_state(replace(self.state, notes=(*self.state.notes, text))).then_reply(lambda _: DONE)

    @command("set")
    def set(self, status: str) -> WorkflowEffect[Parcel, Done]:
        return self.effects.update_state(replace(self.state, status=status)).then_reply(lambda _: DONE)

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Parcel, Parcel]:
        return self.effects.reply(self.state)

    @step("pack")
    async def pack(self) -> WorkflowStepEffect[Parcel]:
        state = self.state
        note(f"{self.entity_id} pack {self.context.attempt}")
        while not Path(f"gate-{self.entity_id}").exists():  # noqa: ASYNC110, ASYNC240  # opened by the test
            await asyncio.sleep(0.01)
        return self.step_effects.update_state(replace(state, status="packed", weight=state.weight + 1)).then_transition_to("send")

    @step("send")
    async def send(self) -> WorkflowStepEffect[Parcel]:
        note(f"{self.entity_id} send {self.context.attempt}")
        return self.step_effects.then_end()


class OwnMergeWorkflow(ParcelWorkflow):
    """Its merge adds up what both sides did; it raises or dies where the test says so."""

    component_id = "own-merge"

    def merge_state(self, base: Parcel, current: Parcel, mine: Parcel) -> Parcel:
        note(f"{self.entity_id} merge")
        if Path("raise").exists():
            Path("raise").unlink()
            raise ValueError("these two do not go together")
        if Path("die").exists():
            Path("die").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(current, status=f"{current.status} and {mine.status}", weight=current.weight + mine.weight - base.weight)


if __name__ == "__main__":
    Ankka.service().register(ParcelWorkflow).register(OwnMergeWorkflow).start()
