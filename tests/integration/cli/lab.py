"""The service that the command line is tried on: `python -m tests.integration.cli.lab`."""

import asyncio
from dataclasses import dataclass, replace

from ankka.codec import DONE, Done, json_codec
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import command, query
from ankka.service import Ankka
from ankka.workflow import Workflow, step
from samples.checkout.cart import ShoppingCartEntity
from samples.checkout.workflow import CheckoutWorkflow


@dataclass(frozen=True)
class Sample:
    """What a sample has been given."""

    note: str = ""
    ended: bool = False


class LabWorkflow(Workflow[Sample]):
    component_id = "lab"
    state_codec = json_codec(Sample, "sample")

    def empty_state(self) -> Sample:
        return Sample()

    @command("fail")
    def fail(self, reason: str) -> WorkflowEffect[Sample, Done]:
        return self.effects.update_state(replace(self.state, note=reason)).then_transition_to("give-up").then_reply(lambda _: DONE)

    @command("wait")
    def wait(self) -> WorkflowEffect[Sample, Done]:
        return self.effects.transition_to("hang").then_reply(lambda _: DONE)

    @command("pause")
    def pause(self) -> WorkflowEffect[Sample, Done]:
        return self.effects.transition_to("rest").then_reply(lambda _: DONE)

    @query("echo")
    def echo(self, text: str) -> WorkflowReadOnlyEffect[Sample, str]:
        return self.effects.reply(text)

    @query("double")
    def double(self, number: int) -> WorkflowReadOnlyEffect[Sample, int]:
        return self.effects.reply(2 * number)

    @query("sum")
    def sum(self, numbers: list[int]) -> WorkflowReadOnlyEffect[Sample, int]:
        return self.effects.reply(sum(numbers))

    @query("size")
    def size(self, data: bytes) -> WorkflowReadOnlyEffect[Sample, int]:
        return self.effects.reply(len(data))

    @step("give-up")
    def give_up(self) -> WorkflowStepEffect[Sample]:
        return self.step_effects.then_fail(self.state.note)

    @step("rest")
    def rest(self) -> WorkflowStepEffect[Sample]:
        return self.step_effects.then_pause()

    @step("hang")
    async def hang(self) -> WorkflowStepEffect[Sample]:
        await asyncio.sleep(20)
        return self.step_effects.update_state(replace(self.state, ended=True)).then_end()


service = Ankka.service().register(LabWorkflow).register(CheckoutWorkflow).register(ShoppingCartEntity)

if __name__ == "__main__":
    service.start()
