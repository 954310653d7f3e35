"""The workflow kit on the documents' checkout, and on what a test does wrong."""

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from ankka.client import CommandError
from ankka.codec import DONE, Done, json_codec
from ankka.effects.common import Error, ErrorCode
from ankka.effects.workflow import End, Pause, StepFail, StepRef, TransitionTo, WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.testkit import WorkflowTestKit
from ankka.testkit.scripted_calls import UnscriptedCall
from ankka.workflow import Workflow, command, query, step
from tests.unit.seed_checkout import Checkout, CheckoutWorkflow, PaymentDeclined, ShoppingCart
from tests.unit.shopping_cart import CartEntity


def checkout(mode: str) -> WorkflowTestKit[Checkout]:
    kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
    kit.when("shopping-cart", "total-quantity").reply(3)
    kit.when("shopping-cart", "checkout").reply(ShoppingCart("c1", 3, True))
    assert kit.call("start", mode).reply == DONE
    return kit


def test_a_checkout_that_is_charged() -> None:
    kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
    assert (kit.state, kit.pending, kit.outcome) == (Checkout("c1"), None, None)
    kit.when("shopping-cart", "total-quantity").reply(3)
    kit.when("shopping-cart", "checkout").reply(ShoppingCart("c1"))
    started = kit.call("start", "ok")
    assert (started.reply, started.error) == (DONE, None)
    assert started.new_state == Checkout("c1", "reserving", "ok")
    assert started.transition == kit.pending == TransitionTo("reserve")
    reserved = kit.run_step()
    assert reserved.next == TransitionTo("charge")
    assert reserved.new_state == Checkout("c1", "reserved", "ok", 3)
    assert kit.run_step().next == End()
    assert kit.state.status == "charged"
    assert [kit.pending, kit.outcome] == [None, End()]
    assert kit.transitions == [TransitionTo("reserve"), TransitionTo("charge")]
    assert kit.call("status").reply == Checkout("c1", "charged", "ok", 3)


def test_a_checkout_that_is_declined_is_compensated_by_hand() -> None:
    kit = checkout("fail")
    kit.run_step()
    with pytest.raises(PaymentDeclined, match="payment declined"):
        kit.run_step()
    assert kit.pending == TransitionTo("charge")
    with pytest.raises(PaymentDeclined):
        kit.run_until_end()
    assert kit.run_step("compensate").new_state == Checkout("c1", "compensated", "fail", 0)
    assert kit.outcome == End()


def test_a_checkout_that_pauses() -> None:
    kit = checkout("pause")
    kit.run_step()
    assert kit.run_step().next == Pause(timedelta(milliseconds=1500), StepRef("charge"))
    assert kit.pending is None
    with pytest.raises(ValueError, match="no step of checkout/c1 is pending"):
        kit.run_step()
    assert kit.run_step(CheckoutWorkflow.charge).next == End()


def test_run_until_end_goes_on_where_a_pause_would() -> None:
    kit = checkout("pause")
    assert kit.run_until_end().next == End()
    assert kit.state.status == "charged"
    assert [transition.step for transition in kit.transitions] == ["reserve", "wait", "charge"]


def test_refusals_are_as_their_caller_gets_them() -> None:
    kit = checkout("ok")
    assert kit.call("start", "ok").error == Error(ErrorCode.CONFLICT, "checkout is already reserving")
    assert kit.call(CheckoutWorkflow.start, 3).error == Error(
        ErrorCode.BAD_REQUEST, "the input of 'start' cannot be sent: $: expected str, got int 3"
    )
    unknown = kit.call("strat").error
    assert unknown is not None
    assert (unknown.code, unknown.message) == (ErrorCode.NOT_FOUND, "'checkout' has no handler 'strat'; did you mean 'start'?")
    with pytest.raises(ValueError, match="does not declare the step 'chrage'; did you mean 'charge'"):
        kit.run_step("chrage")


def test_a_scripted_refusal_is_a_command_error_in_the_step() -> None:
    kit = checkout("ok")
    kit.run_step()
    kit.when("shopping-cart", "checkout").refuse(ErrorCode.CONFLICT, "already checked out")
    with pytest.raises(CommandError, match="CONFLICT: already checked out"):
        kit.run_step()


def test_a_call_without_an_answer_says_how_to_give_one() -> None:
    kit = WorkflowTestKit.of(CheckoutWorkflow, "c1")
    kit.call("start", "ok")
    with pytest.raises(UnscriptedCall) as raised:
        kit.run_step()
    assert str(raised.value) == (
        "shopping-cart/c1 was called with 'total-quantity', and the kit has no answer: "
        "say kit.when('shopping-cart', 'total-quantity').reply(…) or kit.when('shopping-cart', 'total-quantity').refuse(…) first"
    )
    assert kit.pending == TransitionTo("reserve")


async def test_inside_a_running_loop() -> None:
    kit = checkout("ok")
    assert kit.run_until_end().next == End()
    assert asyncio.get_running_loop().is_running()


def test_it_is_quick() -> None:
    began = time.perf_counter()
    for _ in range(20):
        checkout("pause").run_until_end()
    assert time.perf_counter() - began < 5  # some 50 ms here; a hang or a real pause would take longer


@dataclass(frozen=True)
class Work:
    done: int = 0


class Worker(Workflow[Work]):
    component_id = "worker"
    state_codec = json_codec(Work, "work")

    def empty_state(self) -> Work:
        return Work()

    @command("start")
    async def start(self, number: int) -> WorkflowEffect[Work, Done]:
        await self.context.client.for_event_sourced_entity("shopping-cart", "k").call("touch").invoke()
        return self.effects.transition_to(self.count, number).then_no_reply()

    @command("forget")
    def forget(self) -> WorkflowEffect[Work, Work]:
        return self.effects.delete().then_reply_state()

    @query("resources")
    def resources(self) -> WorkflowReadOnlyEffect[Work, str]:
        return self.effects.reply(f"{self.context.resources} {dict(self.context.metadata)}")

    @step("count")
    def count(self, number: int) -> WorkflowStepEffect[Work]:
        total = self.context.client.for_event_sourced_entity(CartEntity, "k").call(CartEntity.total_quantity).invoke_sync()
        if number > total:
            return self.step_effects.then_fail("too many", ErrorCode.CONFLICT)
        return self.step_effects.update_state(replace(self.state, done=number)).then_transition_to(self.count, number + 1)

    @step("careless")
    async def careless(self) -> WorkflowStepEffect[Work]:
        try:
            await self.context.client.for_workflow("elsewhere", "e").lifecycle()
        except Exception:  # the kit must not let this hide an answer that is missing
            return self.step_effects.then_end()
        return self.step_effects.then_pause()


def test_sync_steps_inputs_and_their_calls() -> None:
    kit = WorkflowTestKit.of(Worker)
    kit.when(CartEntity, CartEntity.touch).reply()
    kit.when(CartEntity, CartEntity.total_quantity).reply(3)
    assert kit.call("start", 2).transition == TransitionTo("count", 2)
    assert kit.run_step().next == TransitionTo("count", 3)
    assert kit.run_until_end().next == StepFail("too many", ErrorCode.CONFLICT)
    assert kit.state == Work(3)
    assert kit.run_step("count", 1).next == TransitionTo("count", 2)
    forgotten = kit.call("forget")
    assert (forgotten.reply, forgotten.deleted, kit.state, kit.pending) == (Work(), True, Work(), None)


def test_a_loop_without_an_end_is_cut() -> None:
    kit = WorkflowTestKit.of(Worker)
    kit.when(CartEntity, CartEntity.touch).reply()
    kit.when(CartEntity, CartEntity.total_quantity).reply(1_000)
    kit.call("start", 1)
    with pytest.raises(RuntimeError, match="worker/test has not ended after 5 steps"):
        kit.run_until_end(limit=5)


def test_an_answer_that_is_missing_is_not_hidden_by_the_code() -> None:
    kit = WorkflowTestKit.of(Worker)
    with pytest.raises(UnscriptedCall):
        kit.run_step("careless")
    with pytest.raises(UnscriptedCall):
        kit.call("start", 1)


def test_a_step_that_is_run_without_the_input_it_needs() -> None:
    with pytest.raises(ValueError, match=r"the step 'count' needs an input: \w+, int; give it: kit.run_step\('count', …\)"):
        WorkflowTestKit.of(Worker).run_step("count")


def test_a_refusal_has_a_code() -> None:
    kit = WorkflowTestKit.of(Worker)
    message: Any = "sold out"
    with pytest.raises(ValueError, match="'sold out' is no error code; use a member of ErrorCode"):
        kit.when(CartEntity, CartEntity.touch).refuse(message)


def test_resources_and_metadata() -> None:
    kit = WorkflowTestKit.of(Worker, resources="pool")
    assert kit.call("resources", metadata={"tenant": "acme"}).reply == "pool {'tenant': 'acme'}"
