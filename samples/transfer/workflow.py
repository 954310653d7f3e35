"""The transfer workflow: withdraw from one wallet, deposit into another, and put the money back if that fails."""

from dataclasses import dataclass, replace
from datetime import timedelta

from ankka.codec import DONE, Done, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import command, query
from ankka.workflow import Recovery, StepSettings, Workflow, WorkflowSettings, step
from samples.transfer.wallet import WalletEntity


@dataclass(frozen=True)
class Transfer:
    """So many cents from one wallet to another."""

    from_wallet: str
    to_wallet: str
    amount: int


@dataclass(frozen=True)
class TransferState:
    """How far a transfer has come: `not-started`, `started`, `withdrawn`, then `completed` or `compensated`."""

    transfer: Transfer | None = None
    status: str = "not-started"


class TransferWorkflow(Workflow[TransferState]):
    """One transfer, by its id.

    A step may run more than once: after a fault, or because its process died. The wallets are called once all the same.
    The client of a step names each call by the visit to the step, the wallet and the amount; a wallet that has carried out
    a call of that name already answers as it did then, and changes nothing.
    """

    component_id = "transfer"
    state_codec = json_codec(TransferState, "transfer-state")
    settings = WorkflowSettings(
        timeout=timedelta(seconds=60),
        default_step_timeout=timedelta(seconds=10),
        # One retry, then compensate. The deposit is the step that can fail for reasons outside this workflow's control, so
        # it is the one worth a second attempt.
        steps={"deposit": StepSettings(recovery=Recovery(max_retries=1, failover_to="compensate"))},
    )

    def empty_state(self) -> TransferState:
        return TransferState()

    @command("start")
    def start(self, transfer: Transfer) -> WorkflowEffect[TransferState, Done]:
        """Begin; a second time is refused, whatever became of the first."""
        if transfer.amount <= 0:
            return self.effects.error("transfer amount must be greater than zero")
        if self.state.status != "not-started":
            return self.effects.error("transfer already started", ErrorCode.CONFLICT)
        started = self.effects.update_state(TransferState(transfer, "started"))
        return started.then_transition_to(self.withdraw, transfer).then_reply(lambda _: DONE)

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[TransferState, TransferState]:
        """How far it has come."""
        return self.effects.reply(self.state)

    @step("withdraw")
    async def withdraw(self, transfer: Transfer) -> WorkflowStepEffect[TransferState]:
        wallet = self.context.client.for_event_sourced_entity(WalletEntity, transfer.from_wallet)
        await wallet.call(WalletEntity.withdraw).invoke(transfer.amount)
        withdrawn = self.step_effects.update_state(replace(self.state, status="withdrawn"))
        return withdrawn.then_transition_to(self.deposit, transfer)

    @step("deposit")
    async def deposit(self, transfer: Transfer) -> WorkflowStepEffect[TransferState]:
        wallet = self.context.client.for_event_sourced_entity(WalletEntity, transfer.to_wallet)
        await wallet.call(WalletEntity.deposit).invoke(transfer.amount)
        return self.step_effects.update_state(replace(self.state, status="completed")).then_end()

    @step("compensate")
    async def compensate(self) -> WorkflowStepEffect[TransferState]:
        """Put the money back.

        It takes no input and reads the transfer from the state, as every failover step does: what needs compensating is
        what the workflow has recorded, not what was known when the settings were written.
        """
        transfer = self.state.transfer
        assert transfer is not None, "recorded by start, long before a deposit can fail"
        wallet = self.context.client.for_event_sourced_entity(WalletEntity, transfer.from_wallet)
        await wallet.call(WalletEntity.deposit).invoke(transfer.amount)
        return self.step_effects.update_state(replace(self.state, status="compensated")).then_end()
