"""The workloads: `plain` is a workflow of three trivial steps, four durable commits."""

from dataclasses import dataclass, replace

from ankka.codec import DONE, Done, json_codec
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import command, query
from ankka.workflow import Workflow, step


@dataclass(frozen=True)
class Transfer:
    """A transfer as the seed has it, without wallets."""

    source: str = ""
    target: str = ""
    amount: int = 0
    status: str = "not-started"


class PlainTransfer(Workflow[Transfer]):
    """withdraw, deposit, finish: each only says that it was there."""

    component_id = "plain"
    state_codec = json_codec(Transfer, "transfer")

    def empty_state(self) -> Transfer:
        return Transfer()

    @command("start")
    def start(self, transfer: Transfer) -> WorkflowEffect[Transfer, Done]:
        """Start it."""
        return self.effects.update_state(replace(transfer, status="started")).then_transition_to("withdraw").then_reply(lambda _: DONE)

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[Transfer, Transfer]:
        """Where it is."""
        return self.effects.reply(self.state)

    @step("withdraw")
    async def withdraw(self) -> WorkflowStepEffect[Transfer]:
        return self.step_effects.update_state(replace(self.state, status="withdrawn")).then_transition_to("deposit")

    @step("deposit")
    async def deposit(self) -> WorkflowStepEffect[Transfer]:
        return self.step_effects.update_state(replace(self.state, status="deposited")).then_transition_to("finish")

    @step("finish")
    async def finish(self) -> WorkflowStepEffect[Transfer]:
        return self.step_effects.update_state(replace(self.state, status="completed")).then_end()
