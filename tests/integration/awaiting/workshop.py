"""The service of the awaiting tests: jobs that end when a file says so, and bosses whose steps wait for jobs.

`python -m tests.integration.awaiting.workshop`, in the folder of the files.
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

PATIENCE = timedelta(seconds=30)


@dataclass(frozen=True)
class Job:
    """What was made, and what was said meanwhile."""

    made: tuple[str, ...] = ()
    note: str = ""


class JobWorkflow(Workflow[Job]):
    """`start(what)` makes it as soon as there is a file of that name."""

    component_id = "job"
    state_codec = json_codec(Job, "job")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=60))

    def empty_state(self) -> Job:
        return Job()

    @command("start")
    def start(self, what: str) -> WorkflowEffect[Job, Done]:
        if not what:
            return self.effects.error("make what?", ErrorCode.CONFLICT)
        return self.effects.transition_to("make", what).then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[Job, str]:
        return self.effects.update_state(replace(self.state, note=text)).then_reply(lambda state: state.note)

    @command("spoil")
    def spoil(self) -> WorkflowEffect[Job, Done]:
        return self.effects.transition_to("break").then_reply(lambda _: DONE)

    @command("remove")
    def remove(self) -> WorkflowEffect[Job, Done]:
        return self.effects.delete().then_reply(lambda _: DONE)

    @query("look")
    def look(self) -> WorkflowReadOnlyEffect[Job, Job]:
        return self.effects.reply(self.state)

    @step("make")
    async def make(self, what: str) -> WorkflowStepEffect[Job]:
        while not Path(what).exists():  # noqa: ASYNC110, ASYNC240  # made by the test, in another process
            await asyncio.sleep(0.01)
        return self.step_effects.update_state(replace(self.state, made=(*self.state.made, what))).then_end()

    @step("break")
    def break_(self) -> WorkflowStepEffect[Job]:
        return self.step_effects.then_fail("no wood", ErrorCode.CONFLICT)


class BossWorkflow(Workflow[str]):
    """Has a job made in a step, asynchronously or in a thread, and keeps what came of it."""

    component_id = "boss"
    state_codec = json_codec(str, "boss")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=60))

    def empty_state(self) -> str:
        return ""

    @command("start")
    def start(self, step_and_job: tuple[str, str]) -> WorkflowEffect[str, Done]:
        name, job = step_and_job
        return self.effects.transition_to(name, job).then_reply(lambda _: DONE)

    @step("wait")
    async def wait(self, job: str) -> WorkflowStepEffect[str]:
        calls = self.context.client.for_workflow(JobWorkflow, job)
        end = await calls.call(JobWorkflow.start).then_await_end(PATIENCE).invoke(job)
        return self.step_effects.update_state(f"{','.join(end.made)} at attempt {self.context.attempt}").then_end()

    @step("wait-in-a-thread")
    def wait_in_a_thread(self, job: str) -> WorkflowStepEffect[str]:
        end = self.context.client.for_workflow("job", job).call("start").then_await_end(PATIENCE).invoke_sync(job, reply=Job)
        return self.step_effects.update_state(f"{','.join(end.made)} at attempt {self.context.attempt}").then_end()


service = Ankka.service().register(JobWorkflow).register(BossWorkflow)

if __name__ == "__main__":
    service.start()
