"""The service of the scenarios: a workflow with a step for everything a step can come to, and an entity that steps call.

`python -m tests.integration.same_history.jobs`. What a step does depends on its attempt and its input alone, so that it
does the same in a kit.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta

from ankka import (
    DONE,
    Ankka,
    Backoff,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    KeyValueEffect,
    KeyValueEntity,
    KeyValueReadOnlyEffect,
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
from ankka.client import Calls

SOON = timedelta(milliseconds=150)
LATER = timedelta(milliseconds=600)
"""Time enough, also on a busy machine, for what has to happen before."""


@dataclass(frozen=True)
class Job:
    status: str = "new"
    notes: tuple[str, ...] = ()


class Declined(Exception):
    pass


class JobWorkflow(Workflow[Job]):
    component_id = "job"
    state_codec = json_codec(Job, "job")
    settings = WorkflowSettings(
        steps={
            "flaky": StepSettings(recovery=Recovery(max_retries=3, backoff=Backoff(timedelta(milliseconds=20)))),
            "broken": StepSettings(recovery=Recovery(max_retries=1, failover_to="compensate")),
            "doomed": StepSettings(recovery=Recovery(failover_to="broken-too")),
            "slow": StepSettings(timeout=SOON, recovery=Recovery(max_retries=1, failover_to="compensate")),
            "declined": StepSettings(recovery=Recovery(max_retries=5, failover_to="compensate", not_on=(Declined,))),
            "once": StepSettings(once=True),
            "once-flaky": StepSettings(once=True, recovery=Recovery(max_retries=1)),
            "calls": StepSettings(recovery=Recovery(max_retries=2)),
            "wavers": StepSettings(recovery=Recovery(max_retries=1)),
            "hangs": StepSettings(timeout=LATER, recovery=Recovery(max_retries=1, failover_to="compensate")),
        },
    )

    def empty_state(self) -> Job:
        return Job()

    @command("start")
    def start(self, at: str) -> WorkflowEffect[Job, Done]:
        if at == "nowhere":
            return self.effects.error("nowhere to go", ErrorCode.CONFLICT)
        return self.effects.update_state(replace(self.state, status="started")).then_transition_to(at).then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[Job, Done]:
        return self.effects.update_state(replace(self.state, notes=(*self.state.notes, text))).then_reply(lambda _: DONE)

    @command("set")
    async def set(self, status: str) -> WorkflowEffect[Job, Done]:
        return self.effects.update_state(replace(self.state, status=status)).then_reply(lambda _: DONE)

    @command("go")
    def go(self, to: str) -> WorkflowEffect[Job, Done]:
        return self.effects.transition_to(to).then_reply(lambda _: DONE)

    @command("delete")
    def delete(self) -> WorkflowEffect[Job, Done]:
        return self.effects.delete().then_reply(lambda _: DONE)

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Job, Job]:
        return self.effects.reply(self.state)

    @step("end")
    async def end(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.update_state(replace(self.state, status="done")).then_end()

    @step("in-thread")
    def in_thread(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.then_transition_to("counts", 2)

    @step("counts")
    async def counts(self, left: int) -> WorkflowStepEffect[Job]:
        return self.step_effects.then_transition_to("counts", left - 1) if left else self.step_effects.then_transition_to("end")

    @step("flaky")
    async def flaky(self) -> WorkflowStepEffect[Job]:
        if self.context.attempt < 3:
            raise ValueError(f"not in attempt {self.context.attempt}")
        return self.step_effects.then_transition_to("end")

    @step("fatal")
    async def fatal(self) -> WorkflowStepEffect[Job]:
        raise ValueError("no")

    @step("broken")
    def broken(self) -> WorkflowStepEffect[Job]:
        raise ValueError("no")

    @step("broken-too")
    async def broken_too(self) -> WorkflowStepEffect[Job]:
        raise LookupError("nor here")

    @step("doomed")
    async def doomed(self) -> WorkflowStepEffect[Job]:
        raise ValueError("no")

    @step("declined")
    async def declined(self) -> WorkflowStepEffect[Job]:
        raise Declined

    @step("compensate")
    async def compensate(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.update_state(replace(self.state, status="compensated")).then_end()

    @step("slow")
    async def slow(self) -> WorkflowStepEffect[Job]:
        await asyncio.sleep(60)
        return self.step_effects.then_end()

    @step("once")
    async def once(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.then_transition_to("end")

    @step("once-flaky")
    async def once_flaky(self) -> WorkflowStepEffect[Job]:
        if self.context.attempt < 2:
            raise ValueError("not yet")
        return self.step_effects.then_transition_to("end")

    @step("refuses")
    async def refuses(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.update_state(replace(self.state, status="refused")).then_fail("not today", ErrorCode.CONFLICT)

    @step("pauses")
    async def pauses(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.update_state(replace(self.state, status="paused")).then_pause(after=SOON, on_timeout=StepRef("counts", 1))

    @step("pauses-for-nothing")
    async def pauses_for_nothing(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.then_pause(after=SOON)

    @step("waits")
    async def waits(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.then_pause()

    @step("calls")
    async def calls(self) -> WorkflowStepEffect[Job]:
        await self._desk().call("take").invoke(1)
        await self._desk().call("take").invoke(1)
        if self.context.attempt < 3:
            await self._desk().call("refuse").invoke()
        return self.step_effects.then_transition_to("end")

    @step("wavers")
    async def wavers(self) -> WorkflowStepEffect[Job]:
        await self._desk().call("take").invoke(self.context.attempt)
        if self.context.attempt < 2:
            raise ValueError("once more")
        return self.step_effects.then_transition_to("end")

    @step("hangs")
    async def hangs(self) -> WorkflowStepEffect[Job]:
        await self._desk().call("hang").invoke()
        return self.step_effects.then_end()

    @step("gated")
    async def gated(self) -> WorkflowStepEffect[Job]:
        """Waits for the scenario; what it sets then is made from the state it began with."""
        while not await self._desk().call("is-open").invoke(reply=bool):  # noqa: ASYNC110  # the gate is another instance's
            await asyncio.sleep(0.01)
        return self.step_effects.update_state(replace(self.state, status="passed")).then_end()

    def _desk(self) -> Calls:
        return self.context.client.for_key_value_entity("desk", self.entity_id)


class HurriedWorkflow(JobWorkflow):
    """A job that has little time as a whole."""

    component_id = "hurried"
    settings = WorkflowSettings(timeout=LATER)


class CarefulWorkflow(JobWorkflow):
    """A job whose merge does not go well."""

    component_id = "careful"
    settings = WorkflowSettings(steps={"gated": StepSettings(recovery=Recovery(failover_to="compensate"))})

    def merge_state(self, base: Job, current: Job, mine: Job) -> Job:
        raise ValueError("these two do not go together")


@dataclass(frozen=True)
class Desk:
    taken: int = 0
    is_open: bool = False


class DeskEntity(KeyValueEntity[Desk]):
    component_id = "desk"
    state_codec = json_codec(Desk, "desk")

    def empty_state(self) -> Desk:
        return Desk()

    @command("take")
    def take(self, count: int) -> KeyValueEffect[Desk, Done]:
        return self.effects.update_state(replace(self.state, taken=self.state.taken + count)).then_reply(lambda _: DONE)

    @command("refuse")
    def refuse(self) -> KeyValueEffect[Desk, Done]:
        return self.effects.error("closed", ErrorCode.UNAVAILABLE)

    @command("hang")
    async def hang(self) -> KeyValueEffect[Desk, Done]:
        await asyncio.sleep(3_600)
        return self.effects.reply(DONE)

    @command("open")
    def open(self) -> KeyValueEffect[Desk, Done]:
        return self.effects.update_state(replace(self.state, is_open=True)).then_reply(lambda _: DONE)

    @query("is-open")
    def is_open(self) -> KeyValueReadOnlyEffect[Desk, bool]:
        return self.effects.reply(self.state.is_open)

    @query("taken")
    def taken(self) -> KeyValueReadOnlyEffect[Desk, int]:
        return self.effects.reply(self.state.taken)


@dataclass(frozen=True)
class Added:
    count: int


class TallyEntity(EventSourcedEntity[int, Added]):
    component_id = "tally"
    state_codec = json_codec(int, "tally")
    event_codec = json_codec(Added, "added")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: Added) -> int:
        return state + event.count

    @command("add")
    async def add(self, counts: list[int]) -> EventSourcedEffect[int, Added, int]:
        if 0 in counts:
            return self.effects.error("nothing to add", ErrorCode.CONFLICT)
        return self.effects.persist_all([Added(count) for count in counts]).then_reply_state()

    @command("lend")
    def lend(self, count: int) -> EventSourcedEffect[int, Added, int]:
        return self.effects.persist(Added(count)).expire_after(SOON).then_reply_state()

    @command("remove")
    def remove(self) -> EventSourcedEffect[int, Added, Done]:
        return self.effects.delete_entity().then_reply(lambda _: DONE)

    @query("total")
    def total(self) -> ReadOnlyEffect[int, Added, int]:
        return self.effects.reply(self.state)


JOBS: tuple[type[JobWorkflow], ...] = (JobWorkflow, HurriedWorkflow, CarefulWorkflow)

if __name__ == "__main__":
    service = Ankka.service().register(DeskEntity).register(TallyEntity)
    for job in JOBS:
        service.register(job)
    service.start()
