"""How long the workflow kit takes: `python -m tests.benchmarks.kit`; a pause of 30 days, then a step with ten retries."""

import logging
import statistics
import time
from datetime import timedelta

from ankka import (
    DONE,
    Backoff,
    Done,
    Recovery,
    StepRef,
    StepSettings,
    Workflow,
    WorkflowEffect,
    WorkflowSettings,
    WorkflowStepEffect,
    command,
    json_codec,
    step,
)
from ankka.testkit import WorkflowTestKit

ROUNDS = 300


class PatientWorkflow(Workflow[int]):
    component_id = "patient"
    state_codec = json_codec(int, "patient")
    settings = WorkflowSettings(steps={"try": StepSettings(recovery=Recovery(max_retries=10, backoff=Backoff(timedelta(seconds=1))))})

    def empty_state(self) -> int:
        return 0

    @command("start")
    def start(self) -> WorkflowEffect[int, Done]:
        return self.effects.transition_to("wait").then_reply(lambda _: DONE)

    @step("wait")
    async def wait(self) -> WorkflowStepEffect[int]:
        return self.step_effects.then_pause(after=timedelta(days=30), on_timeout=StepRef("try"))

    @step("try")
    async def attempt(self) -> WorkflowStepEffect[int]:
        if self.context.attempt <= 10:
            raise ValueError("not yet")
        return self.step_effects.update_state(self.context.attempt).then_end()


def once() -> None:
    """One kit, one run."""
    kit = WorkflowTestKit.of(PatientWorkflow)
    kit.call("start")
    kit.run()
    assert kit.state == 11


def main() -> None:
    """Print the median and the best time of a kit."""
    logging.getLogger("ankka").setLevel(logging.CRITICAL)
    once()
    took: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        once()
        took.append((time.perf_counter() - began) * 1_000)
    print(f"a 30-day pause with ten retries in a kit: p50 {statistics.median(took):.2f} ms, best {min(took):.2f} ms, {ROUNDS} rounds")


if __name__ == "__main__":
    main()
