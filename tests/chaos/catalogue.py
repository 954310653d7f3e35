"""The service of the catalogue tests: a workflow with one kind of step for each case, and an entity with a long history.

`python -m tests.chaos.catalogue`. Every attempt that begins adds a line to the folder's ledger. `start` takes a step and
its argument:

    own GATE       waits for the file, then ends after all that began later, its id in the state
    plain          ends the run                         rest           pauses for an hour
    gate GATE      waits for the file, then ends        nap MS         pauses, then `late`
    late           1 s; one retry, whose turn it ends   hang           never ends; 1 s, one retry
    raise0 1 3     always raise; so many retries        sour           raises, 2 retries, then `sour-undo`, alike
    held           waits until `hold` is out, then ends; 1.5 s, fails over to `undo`
    spawn ID       starts another instance              spawn-brief ID the same, in 30 ms at most
"""

import asyncio
import random
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    Done,
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
HELD = 2.0
"""Seconds for which `hold` keeps its instance's turn: longer than the timeout of `held`."""


@dataclass(frozen=True)
class Case:
    """What steps and commands left; `finished_at` is the wall clock's time when the step was about to answer."""

    trail: tuple[str, ...] = ()
    notes: int = 0
    finished_at: float = 0.0


class CaseWorkflow(Workflow[Case]):
    """See the module."""

    component_id = "job"
    state_codec = json_codec(Case, "case")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=30),
        steps={
            "late": StepSettings(timeout=timedelta(seconds=1), recovery=Recovery(max_retries=1)),
            "hang": StepSettings(timeout=timedelta(seconds=1), recovery=Recovery(max_retries=1)),
            "raise0": StepSettings(recovery=Recovery(max_retries=0)),
            "raise1": StepSettings(recovery=Recovery(max_retries=1)),
            "raise3": StepSettings(recovery=Recovery(max_retries=3)),
            "sour": StepSettings(recovery=Recovery(max_retries=2, failover_to="sour-undo")),
            "sour-undo": StepSettings(recovery=Recovery(max_retries=2)),
            "held": StepSettings(timeout=timedelta(seconds=1.5), recovery=Recovery(failover_to="undo")),
            "spawn-brief": StepSettings(timeout=timedelta(milliseconds=30)),
        },
    )

    def empty_state(self) -> Case:
        return Case()

    @command("start")
    def start(self, plan: list[str]) -> WorkflowEffect[Case, Done]:
        name, *rest = plan
        effect = self.effects.update_state(Case(("start",)))
        return (effect.transition_to(name, rest[0]) if rest else effect.transition_to(name)).then_reply(lambda _: DONE)

    @command("start-slowly")
    async def start_slowly(self) -> WorkflowEffect[Case, Done]:
        """As another instance's step starts it: the call takes a while, so that it can be cut off in it."""
        _note(self.entity_id, "start-slowly", 0)
        await asyncio.sleep(random.uniform(0.0, 0.06))
        return self.effects.update_state(Case(("spawned",))).transition_to("plain").then_reply(lambda _: DONE)

    @command("busy")
    async def busy(self) -> WorkflowEffect[Case, Done]:
        """Keeps whoever comes next waiting in the mailbox."""
        await asyncio.sleep(0.1)
        return self.effects.reply(DONE)

    @command("hold")
    async def hold(self) -> WorkflowEffect[Case, Done]:
        Path("holding").touch()  # noqa: ASYNC240
        await asyncio.sleep(HELD)
        return self.effects.reply(DONE)

    @command("note")
    def note(self) -> WorkflowEffect[Case, Done]:
        return self.effects.update_state(replace(self.state, notes=self.state.notes + 1)).then_reply(lambda _: DONE)

    @command("finish")
    def finish(self) -> WorkflowEffect[Case, Done]:
        return self.effects.transition_to("plain").then_reply(lambda _: DONE)

    @query("show")
    def show(self) -> WorkflowReadOnlyEffect[Case, Case]:
        return self.effects.reply(self.state)

    # --- steps -----------------------------------------------------------------------------------------------------

    def _begin(self, name: str) -> None:
        _note(self.entity_id, name, self.context.attempt)

    def _end(self, name: str) -> WorkflowStepEffect[Case]:
        state = replace(self.state, trail=(*self.state.trail, name), finished_at=time.time())
        return self.step_effects.update_state(state).then_end()

    async def _opened(self, gate: str) -> None:
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240  # opened by the test, from another process
            await asyncio.sleep(0.01)

    @step("own")
    async def own(self, gate: str) -> WorkflowStepEffect[Case]:
        self._begin("own")
        _stack.append(self.entity_id)
        await self._opened(gate)
        while _stack[-1] != self.entity_id:  # noqa: ASYNC110  # they leave in the reverse order they came in
            await asyncio.sleep(0)
        _stack.pop()
        return self._end(self.entity_id)

    @step("plain")
    async def plain(self) -> WorkflowStepEffect[Case]:
        self._begin("plain")
        return self._end("plain")

    @step("gate")
    async def gate(self, gate: str) -> WorkflowStepEffect[Case]:
        self._begin("gate")
        await self._opened(gate)
        return self._end("gate")

    @step("rest")
    async def rest(self) -> WorkflowStepEffect[Case]:
        self._begin("rest")
        return self.step_effects.then_pause(timedelta(hours=1), StepRef("undo"))

    @step("nap")
    async def nap(self, milliseconds: str) -> WorkflowStepEffect[Case]:
        self._begin("nap")
        return self.step_effects.then_pause(timedelta(milliseconds=int(milliseconds)), StepRef("late"))

    @step("late")
    async def late(self) -> WorkflowStepEffect[Case]:
        self._begin("late")
        return self._end(f"late {self.context.attempt}")

    @step("hang")
    async def hang(self) -> WorkflowStepEffect[Case]:
        self._begin("hang")
        await asyncio.sleep(60)
        return self._end("hang")

    @step("raise0")
    async def raise0(self) -> WorkflowStepEffect[Case]:
        return self._fail("raise0")

    @step("raise1")
    async def raise1(self) -> WorkflowStepEffect[Case]:
        return self._fail("raise1")

    @step("raise3")
    async def raise3(self) -> WorkflowStepEffect[Case]:
        return self._fail("raise3")

    @step("sour")
    async def sour(self) -> WorkflowStepEffect[Case]:
        return self._fail("sour")

    @step("sour-undo")
    async def sour_undo(self) -> WorkflowStepEffect[Case]:
        return self._fail("sour-undo")

    def _fail(self, name: str) -> WorkflowStepEffect[Case]:
        self._begin(name)
        raise ValueError(f"{name} cannot")

    @step("held")
    async def held(self) -> WorkflowStepEffect[Case]:
        self._begin("held")
        await self._opened("holding")
        return self._end("held")

    @step("undo")
    async def undo(self) -> WorkflowStepEffect[Case]:
        self._begin("undo")
        return self._end("undo")

    @step("spawn")
    async def spawn(self, child: str) -> WorkflowStepEffect[Case]:
        self._begin("spawn")
        await self.context.client.for_workflow(CaseWorkflow, child).call(CaseWorkflow.start_slowly).invoke()
        return self._end("spawn")

    @step("spawn-brief")
    async def spawn_brief(self, child: str) -> WorkflowStepEffect[Case]:
        self._begin("spawn-brief")
        await self.context.client.for_workflow(CaseWorkflow, child).call(CaseWorkflow.start_slowly).invoke()
        return self._end("spawn-brief")


def _note(instance: str, name: str, attempt: int) -> None:
    with LEDGER.open("a") as ledger:
        ledger.write(f"{instance} {name} {attempt}\n")


_stack: list[str] = []
"""The instances in step `own`, in the order in which they came."""


SERVICE = Ankka.service().register(CaseWorkflow).register(TallyEntity)


if __name__ == "__main__":
    SERVICE.start()
