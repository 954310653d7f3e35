"""The wallet by hand: what each command journals, answers and refuses."""

import pytest

from ankka.codec import DONE
from ankka.effects.common import Error, ErrorCode
from ankka.testkit import EventSourcedTestKit
from samples.transfer.wallet import Deposited, Opened, Wallet, WalletEntity, WalletEvent, Withdrawn


def opened(*amounts: int) -> EventSourcedTestKit[Wallet, WalletEvent]:
    """An open wallet into which these amounts were put."""
    kit = EventSourcedTestKit.of(WalletEntity, "ada")
    kit.replay(Opened(), *map(Deposited, amounts))
    return kit


def test_a_wallet_is_opened_once() -> None:
    kit = EventSourcedTestKit.of(WalletEntity, "ada")
    call = kit.call(WalletEntity.open)
    assert (call.reply, call.events, call.new_state) == (DONE, [Opened()], Wallet(is_open=True))
    assert kit.call(WalletEntity.open).error == Error(ErrorCode.CONFLICT, "wallet 'ada' is open already")
    assert kit.sequence == 1


def test_a_deposit_answers_the_balance_after_it() -> None:
    kit = opened(500)
    call = kit.call(WalletEntity.deposit, 250)
    assert (call.reply, call.events) == (750, [Deposited(250)])
    assert kit.call(WalletEntity.balance).reply == 750


def test_a_withdrawal_may_take_all() -> None:
    kit = opened(500)
    call = kit.call(WalletEntity.withdraw, 500)
    assert (call.reply, call.events) == (0, [Withdrawn(500)])
    assert kit.call(WalletEntity.balance).reply == 0


def test_more_than_there_is_is_refused_and_journals_nothing() -> None:
    kit = opened(500)
    call = kit.call(WalletEntity.withdraw, 501)
    assert call.error == Error(ErrorCode.CONFLICT, "insufficient funds: wallet 'ada' holds 500, 501 are asked for")
    assert not call.persisted
    assert kit.state == Wallet(is_open=True, balance=500)


@pytest.mark.parametrize(("handler", "input"), [("deposit", 5), ("withdraw", 5), ("balance", None)])
def test_a_wallet_that_was_never_opened_is_unknown(handler: str, input: int | None) -> None:
    kit = EventSourcedTestKit.of(WalletEntity, "nobody")
    call = kit.call(handler, input)
    assert call.error == Error(ErrorCode.NOT_FOUND, "there is no wallet 'nobody'")
    assert kit.sequence == 0


@pytest.mark.parametrize("amount", [0, -1])
def test_only_what_is_more_than_nothing_moves(amount: int) -> None:
    kit = opened(500)
    what = "it must be greater than zero"
    assert kit.call("deposit", amount).error == Error(ErrorCode.BAD_REQUEST, f"an amount of {amount} cannot be deposited; {what}")
    assert kit.call("withdraw", amount).error == Error(ErrorCode.BAD_REQUEST, f"an amount of {amount} cannot be withdrawn; {what}")
    assert kit.state.balance == 500


@pytest.mark.parametrize("amount", [1.5, "5", True])
def test_an_amount_that_is_no_whole_number_is_refused(amount: object) -> None:
    error = opened(500).call("withdraw", amount).error
    assert error is not None
    assert error.code is ErrorCode.BAD_REQUEST
    assert error.message.startswith("the input of 'withdraw' cannot be sent: $: expected int")


def test_a_wallet_is_what_its_events_come_to() -> None:
    assert opened(500).replay(Withdrawn(200), Deposited(50)) == Wallet(is_open=True, balance=350)
