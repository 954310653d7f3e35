"""The checkout by hand: its commands and steps run here, and the test answers for the cart."""

from datetime import timedelta

import pytest

from ankka.client import CommandError
from ankka.codec import DONE
from ankka.effects.common import Error, ErrorCode
from ankka.effects.workflow import End, Pause, StepRef, TransitionTo
from ankka.testkit import WorkflowTestKit
from samples.checkout.cart import LineItem, ShoppingCart, ShoppingCartEntity
from samples.checkout.workflow import Checkout, CheckoutWorkflow, PaymentDeclined

BOUGHT = ShoppingCart("c1", (LineItem("book", 2),), checkedOut=True)


def started(mode: str, quantity: int = 2) -> WorkflowTestKit[Checkout]:
    """A checkout that has begun, with a cart that holds so many things and can be bought."""
    kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
    kit.when(ShoppingCartEntity, ShoppingCartEntity.total_quantity).reply(quantity)
    kit.when(ShoppingCartEntity, ShoppingCartEntity.checkout).reply(BOUGHT)
    assert kit.call(CheckoutWorkflow.start, mode).reply == DONE
    return kit


def test_a_start_records_what_was_asked_and_leads_to_reserve() -> None:
    kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
    call = kit.call("start", "ok")
    assert call.reply == DONE
    assert call.new_state == Checkout("c1", "reserving", "ok")
    assert call.transition == TransitionTo("reserve")


def test_a_second_start_is_refused_and_changes_nothing() -> None:
    kit = started("ok")
    call = kit.call("start", "fail")
    assert call.error == Error(ErrorCode.CONFLICT, "checkout is already reserving")
    assert call.new_state is None
    assert kit.state == Checkout("c1", "reserving", "ok")
    assert kit.pending == TransitionTo("reserve")


def test_reserve_asks_the_cart() -> None:
    kit = started("ok", quantity=3)
    run = kit.run_step()
    assert run.next == TransitionTo("charge")
    assert run.new_state == Checkout("c1", "reserved", "ok", reserved=3)


def test_it_is_charged() -> None:
    kit = started("ok")
    assert kit.run_until_end().next == End()
    assert kit.transitions == [TransitionTo("reserve"), TransitionTo("charge")]
    assert kit.call("status").reply == Checkout("c1", "charged", "ok", reserved=2)


def test_an_empty_cart_is_not_bought() -> None:
    kit = started("ok", quantity=0)
    kit.when("shopping-cart", "checkout").refuse(ErrorCode.CONFLICT, "nobody should ask for this")
    assert kit.run_until_end().next == End()
    assert kit.state.status == "charged"


def test_a_declined_payment_is_raised_and_changes_nothing() -> None:
    kit = started("fail")
    kit.run_step()
    with pytest.raises(PaymentDeclined, match="payment declined"):
        kit.run_step()
    assert kit.state.status == "reserved"
    assert kit.pending == TransitionTo("charge"), "what follows a fault is the engine's affair, by the settings"


def test_the_settings_say_what_follows_a_declined_payment() -> None:
    assert CheckoutWorkflow.settings is not None
    recovery = CheckoutWorkflow.settings.steps["charge"].recovery
    assert recovery is not None
    assert (recovery.max_retries, recovery.failover_to) == (1, "compensate")


def test_compensate_gives_back_what_was_reserved() -> None:
    kit = started("fail")
    kit.run_step()
    run = kit.run_step("compensate")
    assert run.next == End()
    assert run.new_state == Checkout("c1", "compensated", "fail", reserved=0)


def test_a_cart_that_was_bought_already_refuses_the_charge() -> None:
    kit = started("ok")
    kit.run_step()
    kit.when("shopping-cart", "checkout").refuse(ErrorCode.CONFLICT, "the cart is already checked out")
    with pytest.raises(CommandError) as raised:
        kit.run_step()
    assert raised.value.error == Error(ErrorCode.CONFLICT, "the cart is already checked out")


def test_a_pause_ends_at_charge() -> None:
    kit = started("pause")
    assert kit.run_step().next == TransitionTo("wait")
    run = kit.run_step()
    assert run.next == Pause(timedelta(milliseconds=1500), StepRef("charge"))
    assert kit.state.status == "waiting"
    assert kit.pending is None
    assert kit.run_step("charge").next == End()


def test_a_pause_that_runs_out_goes_on_by_itself() -> None:
    kit = started("pause")
    assert kit.run_until_end().next == End()
    assert [transition.step for transition in kit.transitions] == ["reserve", "wait", "charge"]


def test_a_mode_that_is_no_text_is_refused() -> None:
    error = WorkflowTestKit.of(CheckoutWorkflow, "c1").call("start", 3).error
    assert error == Error(ErrorCode.BAD_REQUEST, "the input of 'start' cannot be sent: $: expected str, got int 3")
