"""The service of the boundary tests: one workflow whose `plan` takes it through each kind of effect, and the entity it calls.

`python -m tests.chaos.trip`, in the folder of its ledger; `DIES_AT=place:visit` makes it kill itself there (`dying.py`).

    call   a call to the purse            rest   a pause with a deadline       wait   a pause without
    retry  a step that fails once         fail   a step that fails for good    slow   a step that times out
    once   a step that may run once only  merge  a step whose state commands change meanwhile

Every plan but `wait` goes on to `last`, and ends.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
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
from tests.chaos import dying

LEDGER = Path("ledger")


@dataclass(frozen=True)
class Trip:
    """Where it has been, and what commands noted."""

    plan: str = ""
    trail: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Boom(Exception):
    """What the failing steps raise."""


def has_run(instance: str, name: str) -> bool:
    """Whether that step of that instance has run."""
    lines = LEDGER.read_text().splitlines() if LEDGER.exists() else []
    return any(line.startswith(f"{instance}/{name} {name} ") for line in lines)


class TripWorkflow(Workflow[Trip]):
    """See the module."""

    component_id = "trip"
    state_codec = json_codec(Trip, "trip")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=20),
        steps={
            "retry": StepSettings(recovery=Recovery(max_retries=1)),
            "fail": StepSettings(recovery=Recovery(max_retries=1, failover_to="undo")),
            "slow": StepSettings(timeout=timedelta(milliseconds=150), recovery=Recovery(failover_to="late")),
            "once": StepSettings(once=True, recovery=Recovery(failover_to="late")),
        },
    )

    def empty_state(self) -> Trip:
        return Trip()

    def merge_state(self, base: Trip, current: Trip, mine: Trip) -> Trip:
        dying.at("merge running")
        return replace(mine, notes=current.notes)

    # --- commands and queries --------------------------------------------------------------------------------------

    @command("start")
    def start(self, plan: str) -> WorkflowEffect[Trip, Done]:
        dying.at("command running")
        dying.after_return("command answered")
        if self.state.plan:
            return self.effects.error(f"it is on its way: {self.state.plan}", ErrorCode.CONFLICT)
        return self.effects.update_state(replace(self.state, plan=plan)).transition_to("begin", plan).then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[Trip, int]:
        dying.at("command running")
        dying.after_return("command answered")
        if text.startswith("no"):
            return self.effects.error(f"{text!r} is not noted")
        state = replace(self.state, notes=(*self.state.notes, text))
        return self.effects.update_state(state).then_reply(lambda trip: len(trip.notes))

    @command("remove")
    def remove(self) -> WorkflowEffect[Trip, Done]:
        return self.effects.delete().then_reply(lambda _: DONE)

    @query("show")
    def show(self) -> WorkflowReadOnlyEffect[Trip, Trip]:
        dying.at("query running")
        return self.effects.reply(self.state)

    # --- steps -----------------------------------------------------------------------------------------------------

    def _been(self, name: str) -> Trip:
        """Note this run; the state that says so."""
        with LEDGER.open("a") as ledger:
            ledger.write(f"{self.entity_id}/{self.state.plan} {name} {self.context.attempt}\n")
        dying.at("step running")
        dying.after_return("step answered")
        return replace(self.state, trail=(*self.state.trail, name))

    @step("begin")
    async def begin(self, plan: str) -> WorkflowStepEffect[Trip]:
        return self.step_effects.update_state(self._been("begin")).then_transition_to(plan)

    @step("call")
    async def call(self) -> WorkflowStepEffect[Trip]:
        trip = self._been("call")
        await self._fill_purse()
        return self.step_effects.update_state(trip).then_transition_to("last")

    @step("rest")
    async def rest(self) -> WorkflowStepEffect[Trip]:
        return self.step_effects.update_state(self._been("rest")).then_pause(timedelta(milliseconds=100), StepRef("last"))

    @step("wait")
    async def wait(self) -> WorkflowStepEffect[Trip]:
        return self.step_effects.update_state(self._been("wait")).then_pause()

    @step("retry")
    async def retry(self) -> WorkflowStepEffect[Trip]:
        is_first = not has_run(self.entity_id, "retry")
        trip = self._been("retry")
        if is_first:
            raise Boom("the first run fails")
        return self.step_effects.update_state(trip).then_transition_to("last")

    @step("fail")
    async def fail(self) -> WorkflowStepEffect[Trip]:
        self._been("fail")
        raise Boom("every run fails")

    @step("undo")
    async def undo(self) -> WorkflowStepEffect[Trip]:
        trip = self._been("undo")
        await self._fill_purse()
        return self.step_effects.update_state(trip).then_transition_to("last")

    @step("slow")
    async def slow(self) -> WorkflowStepEffect[Trip]:
        trip = self._been("slow")
        await asyncio.sleep(20)
        return self.step_effects.update_state(trip).then_transition_to("last")

    @step("late")
    def late(self) -> WorkflowStepEffect[Trip]:
        return self.step_effects.update_state(self._been("late")).then_transition_to("last")

    @step("once")
    async def once(self) -> WorkflowStepEffect[Trip]:
        return self.step_effects.update_state(self._been("once")).then_transition_to("last")

    @step("merge")
    async def merge(self) -> WorkflowStepEffect[Trip]:
        trip = self._been("merge")
        await self.context.client.for_workflow("trip", self.entity_id).call("note").invoke(f"attempt {self.context.attempt}", reply=int)
        return self.step_effects.update_state(trip).then_transition_to("last")

    @step("last")
    async def last(self) -> WorkflowStepEffect[Trip]:
        return self.step_effects.update_state(self._been("last")).then_end()

    async def _fill_purse(self) -> None:
        await self.context.client.for_event_sourced_entity("purse", self.entity_id).call("add").invoke(1, reply=int)


class PurseEntity(EventSourcedEntity[int, int]):
    """Counts what is added; what is not positive is refused."""

    component_id = "purse"
    state_codec = json_codec(int, "purse")
    event_codec = json_codec(int, "added")
    snapshot_every = 2

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        dying.at("event applying")
        return state + event

    @command("add")
    def add(self, amount: int) -> EventSourcedEffect[int, int, int]:
        dying.at("command running")
        dying.after_return("command answered")
        if amount <= 0:
            return self.effects.error(f"{amount} is not above 0")
        return self.effects.persist(amount).then_reply(lambda total: total)

    @query("total")
    def total(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


if __name__ == "__main__":
    dying.install()
    Ankka.service().register(TripWorkflow).register(PurseEntity).start()
