"""The workloads: `plain` is a workflow of three trivial steps, four durable commits; `calling` two steps that call wallets, five."""

from dataclasses import dataclass, replace

from ankka.client import Calls
from ankka.codec import DONE, Done, json_codec
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity, command, query
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


class CallingTransfer(Workflow[Transfer]):
    """The seed's transfer: withdraw and deposit each call a wallet; `Keyless` makes the same calls without keys."""

    component_id = "calling"
    state_codec = json_codec(Transfer, "transfer")
    is_keyed = True

    def empty_state(self) -> Transfer:
        return Transfer()

    @command("start")
    def start(self, transfer: Transfer) -> WorkflowEffect[Transfer, Done]:
        """Start it."""
        return self.effects.update_state(replace(transfer, status="started")).then_transition_to("withdraw").then_reply(lambda _: DONE)

    @step("withdraw")
    async def withdraw(self) -> WorkflowStepEffect[Transfer]:
        await self._wallet(self.state.source).call("add").invoke(-self.state.amount, reply=int)
        return self.step_effects.update_state(replace(self.state, status="withdrawn")).then_transition_to("deposit")

    @step("deposit")
    async def deposit(self) -> WorkflowStepEffect[Transfer]:
        await self._wallet(self.state.target).call("add").invoke(self.state.amount, reply=int)
        return self.step_effects.update_state(replace(self.state, status="completed")).then_end()

    def _wallet(self, name: str) -> Calls:
        wallet = self.context.client.for_event_sourced_entity("wallet", name)
        return wallet if self.is_keyed else wallet.with_idempotency_key(None)


class KeylessTransfer(CallingTransfer):
    """The same without keys: what keys cost."""

    component_id = "keyless"
    is_keyed = False


class Wallet(EventSourcedEntity[int, int]):
    """Holds an amount."""

    component_id = "wallet"
    state_codec = json_codec(int, "wallet")
    event_codec = json_codec(int, "changed")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("add")
    def add(self, amount: int) -> EventSourcedEffect[int, int, int]:
        """Add to it."""
        return self.effects.persist(amount).then_reply(lambda balance: balance)
