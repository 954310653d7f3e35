"""The service of the named cases: a workflow that goes through the steps its `plan` lists, in the folder of its ledger.

`python -m tests.chaos.jobs`. An element of a plan is a step, and after a colon what it takes:

    plain          done at once                        gate:FILE    waits until the file exists
    deaf:FILE      the same in a thread, and ignores   hang         never ends; times out after 1 s
                   that it was cancelled; times out    raise        fails, is retried 3 times, fails over to `undo`
                   after 3 s, has one retry            pause:MS     pauses; the deadline leads to what follows
    exit:FILE      its process exits until the file exists
"""

import asyncio
import os
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    Done,
    ErrorCode,
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

LEDGER = Path("ledger")


@dataclass(frozen=True)
class Job:
    """The steps it has been through, each with the pid of its process, and what commands noted."""

    trail: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class JobWorkflow(Workflow[Job]):
    """See the module."""

    component_id = "job"
    state_codec = json_codec(Job, "job")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=50),
        steps={
            "deaf": StepSettings(timeout=timedelta(seconds=3), recovery=Recovery(max_retries=1)),
            "hang": StepSettings(timeout=timedelta(seconds=1)),
            "raise": StepSettings(recovery=Recovery(max_retries=3, failover_to="undo")),
        },
    )

    def empty_state(self) -> Job:
        return Job()

    @command("start")
    def start(self, plan: list[str]) -> WorkflowEffect[Job, Done]:
        if self.state.trail:
            return self.effects.error("it is under way", ErrorCode.CONFLICT)
        target, rest = _next(plan)
        return self.effects.update_state(Job(("start",))).transition_to(target, rest).then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[Job, Done]:
        state = replace(self.state, notes=(*self.state.notes, text))
        return self.effects.update_state(state).then_reply(lambda _: DONE)

    @command("stall")
    async def stall(self) -> WorkflowEffect[Job, Done]:
        await asyncio.sleep(60)
        return self.effects.reply(DONE)

    @query("show")
    def show(self) -> WorkflowReadOnlyEffect[Job, Job]:
        return self.effects.reply(self.state)

    # --- steps -----------------------------------------------------------------------------------------------------

    def _begin(self, name: str, plan: list[str]) -> None:
        """Note this run; what is left of the plan tells visits to one step apart."""
        with LEDGER.open("a") as ledger:
            ledger.write(f"{self.entity_id} {name} {self.context.attempt} {len(plan)}\n")

    def _done(self, name: str, plan: list[str]) -> WorkflowStepEffect[Job]:
        effect = self.step_effects.update_state(replace(self.state, trail=(*self.state.trail, f"{name}@{os.getpid()}")))
        if len(plan) == 1:
            return effect.then_end()
        target, rest = _next(plan[1:])
        return effect.then_transition_to(target, rest)

    @step("plain")
    async def plain(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("plain", plan)
        return self._done("plain", plan)

    @step("gate")
    async def gate(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("gate", plan)
        gate = _file(plan)
        while not gate.exists():  # noqa: ASYNC110  # opened by the test, from another process
            await asyncio.sleep(0.02)
        return self._done("gate", plan)

    @step("deaf")
    def deaf(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("deaf", plan)
        gate = _file(plan)
        while self.context.attempt == 1 and not gate.exists():
            time.sleep(0.02)
        return self._done("deaf", plan)

    @step("hang")
    async def hang(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("hang", plan)
        await asyncio.sleep(60)
        return self._done("hang", plan)

    @step("raise")
    async def fail(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("raise", plan)
        raise ValueError(f"attempt {self.context.attempt} of {plan}")

    @step("undo")
    async def undo(self) -> WorkflowStepEffect[Job]:
        self._begin("undo", [])
        return self._done("undo", ["undo"])

    @step("pause")
    async def pause(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("pause", plan)
        target, rest = _next(plan[1:])
        after = timedelta(milliseconds=int(plan[0].partition(":")[2]))
        state = replace(self.state, trail=(*self.state.trail, "pause"))
        return self.step_effects.update_state(state).then_pause(after, StepRef(target, rest))

    @step("exit")
    async def exit(self, plan: list[str]) -> WorkflowStepEffect[Job]:
        self._begin("exit", plan)
        if not _file(plan).exists():
            os._exit(1)
        return self._done("exit", plan)


def _next(plan: list[str]) -> tuple[str, list[str]]:
    return plan[0].partition(":")[0], plan


def _file(plan: list[str]) -> Path:
    return Path(plan[0].partition(":")[2])


if __name__ == "__main__":
    Ankka.service().register(JobWorkflow).start()
