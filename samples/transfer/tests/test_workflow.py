"""The transfer without a sidecar: by hand, then as the engine runs it; the test answers for the wallets."""

import pytest

from ankka.client import CommandError
from ankka.codec import DONE
from ankka.effects.common import Error, ErrorCode
from ankka.effects.workflow import End, TransitionTo
from ankka.testkit import WorkflowTestKit
from samples.transfer.wallet import WalletEntity
from samples.transfer.workflow import Transfer, TransferState, TransferWorkflow

RENT = Transfer("ada", "bob", 300)


def started() -> WorkflowTestKit[TransferState]:
    """A transfer that has begun, between wallets that allow it."""
    kit = WorkflowTestKit.of(TransferWorkflow, "t1")
    kit.when(WalletEntity, WalletEntity.withdraw).reply(700)
    kit.when(WalletEntity, WalletEntity.deposit).reply(300)
    assert kit.call(TransferWorkflow.start, RENT).reply == DONE
    return kit


def test_a_start_records_the_transfer_and_leads_to_withdraw() -> None:
    call = WorkflowTestKit.of(TransferWorkflow, "t1").call("start", RENT)
    assert (call.reply, call.new_state) == (DONE, TransferState(RENT, "started"))
    assert call.transition == TransitionTo("withdraw", RENT)


@pytest.mark.parametrize("amount", [0, -300])
def test_an_amount_that_is_not_greater_than_zero_is_refused(amount: int) -> None:
    kit = WorkflowTestKit.of(TransferWorkflow, "t1")
    assert kit.call("start", Transfer("ada", "bob", amount)).error == Error(ErrorCode.BAD_REQUEST, "transfer amount must be greater than zero")
    assert (kit.state, kit.pending) == (TransferState(), None)


def test_a_second_start_is_refused_and_changes_nothing() -> None:
    kit = started()
    assert kit.call("start", Transfer("bob", "ada", 1)).error == Error(ErrorCode.CONFLICT, "transfer already started")
    assert kit.state == TransferState(RENT, "started")
    kit.run_until_end()
    assert kit.call("start", RENT).error == Error(ErrorCode.CONFLICT, "transfer already started")


def test_each_step_moves_the_money_on() -> None:
    kit = started()
    withdrawn = kit.run_step()
    assert (withdrawn.next, withdrawn.new_state) == (TransitionTo("deposit", RENT), TransferState(RENT, "withdrawn"))
    deposited = kit.run_step()
    assert (deposited.next, deposited.new_state) == (End(), TransferState(RENT, "completed"))
    assert kit.call(TransferWorkflow.status).reply == TransferState(RENT, "completed")


def test_a_refused_withdrawal_is_raised() -> None:
    kit = started()
    kit.when("wallet", "withdraw").refuse(ErrorCode.CONFLICT, "insufficient funds")
    with pytest.raises(CommandError, match="insufficient funds"):
        kit.run_step()
    assert kit.state.status == "started"


def test_compensate_puts_the_money_back_from_what_was_recorded() -> None:
    kit = started()
    kit.run_step()
    run = kit.run_step("compensate")
    assert (run.next, run.new_state) == (End(), TransferState(RENT, "compensated"))


# --- as the engine runs it, on a simulated clock -------------------------------------------------------------------


def calls(kit: WorkflowTestKit[TransferState]) -> list[tuple[str, str, int]]:
    """What the wallets were asked: which, what, how much."""
    return [(call.instance, call.handler, int(call.input)) for call in kit.calls]


def test_the_money_is_moved() -> None:
    kit = started()
    assert kit.run().status == "Completed"
    assert kit.state == TransferState(RENT, "completed")
    assert calls(kit) == [("ada", "withdraw", 300), ("bob", "deposit", 300)]


def test_a_deposit_that_fails_once_is_tried_again() -> None:
    kit = started()
    kit.when(WalletEntity, WalletEntity.deposit).refuse(ErrorCode.UNAVAILABLE, "no process", times=1)
    lifecycle = kit.run()
    assert (lifecycle.status, lifecycle.retries) == ("Completed", {"deposit": 1})
    assert kit.state.status == "completed"
    assert calls(kit) == [("ada", "withdraw", 300), ("bob", "deposit", 300), ("bob", "deposit", 300)]


def test_a_deposit_that_fails_twice_is_compensated() -> None:
    kit = started()
    kit.when(WalletEntity, WalletEntity.deposit).refuse(ErrorCode.NOT_FOUND, "there is no wallet 'bob'", times=2)
    assert kit.run().status == "Completed"
    assert kit.state == TransferState(RENT, "compensated")
    assert [entry.type for entry in kit.journal] == ["started", "transitioned", "retried", "failed-over", "ended"]
    assert calls(kit)[2:] == [("bob", "deposit", 300), ("ada", "deposit", 300)]


def test_a_deposit_that_is_never_answered_is_compensated_after_two_timeouts() -> None:
    kit = started()
    kit.when(WalletEntity, WalletEntity.deposit).hang(times=2)
    began = kit.now
    assert kit.run().status == "Completed"
    assert kit.state.status == "compensated"
    assert round((kit.now - began).total_seconds()) == 20


def test_insufficient_funds_fail_the_transfer_at_once() -> None:
    kit = started()
    kit.when(WalletEntity, WalletEntity.withdraw).refuse(ErrorCode.CONFLICT, "insufficient funds")
    lifecycle = kit.run()
    assert (lifecycle.status, lifecycle.retries) == ("Failed", {})
    assert lifecycle.failure is not None
    assert "insufficient funds" in lifecycle.failure
    assert (kit.state.status, calls(kit)) == ("started", [("ada", "withdraw", 300)])


def test_a_wallet_that_cannot_take_the_money_back_leaves_the_transfer_failed() -> None:
    kit = started()
    kit.when(WalletEntity, WalletEntity.deposit).refuse(ErrorCode.NOT_FOUND, "there is no such wallet")
    lifecycle = kit.run()
    assert lifecycle.status == "Failed"
    assert lifecycle.failure is not None
    assert "step 'compensate' failed" in lifecycle.failure
    assert kit.state.status == "withdrawn", "which says where the money is"
