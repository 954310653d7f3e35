"""The workflow kit on the engine's rules: commands while a step runs, and the calls of a step that runs again."""

from datetime import timedelta

import pytest

from ankka.client import CommandError
from ankka.codec import DONE, default_codec_for
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import TransitionTo, WorkflowStepEffect
from ankka.protocol.frames import Call
from ankka.protocol.payload import Payload
from ankka.testkit import WorkflowTestKit
from ankka.testkit.scripted_calls import Script, ScriptedCall, When
from ankka.workflow import Backoff, Recovery, StepSettings, WorkflowSettings, step
from tests.unit.shopping_cart import CheckedOut, Item, ItemAdded
from tests.unit.testkit.orders import BEGAN, Order, OrderWorkflow, S, order, shown

# --- commands while a step runs ---


def test_w14_a_command_while_a_step_runs_is_merged() -> None:
    kit = order("pack")
    assert kit.advance(10 * S).status == "Running"
    kit.call("note", "gift")
    assert kit.call("state").reply == Order("started", note="gift")
    assert kit.run().status == "Completed"
    assert kit.state == Order("packed", note="gift")
    assert shown(kit) == [("started", "pack", 1), ("updated", "pack", 1), ("ended", "pack", 1)]
    assert list(kit.journal[-1].detail["merged"]) == [2]
    assert kit.now - BEGAN == 20 * S


def test_w5_a_redirect_cancels_the_step_that_runs() -> None:
    kit = order("pack")
    kit.advance(10 * S)
    kit.call("approve")
    assert kit.run().status == "Completed"
    assert kit.state.status == "charged"
    assert kit.now - BEGAN == 10 * S


def test_w10_delete_while_a_step_runs() -> None:
    kit = order("pack")
    kit.advance(S)
    assert kit.call("delete").deleted
    assert (kit.run().status, kit.state, kit.outcome) == ("NotStarted", Order(), None)
    kit.call("start", "charge")
    assert kit.run().run == 1
    assert [entry.type for entry in kit.journal] == ["started", "deleted", "started", "sent", "ended"]
    kit.call("delete")
    kit.call("start", "charge")
    assert kit.outcome is None, "the last step was another life's"


def test_w1_a_second_run() -> None:
    kit = order("charge")
    kit.run()
    kit.call("start", "refuse")
    assert (kit.run().run, kit.lifecycle.status) == (2, "Failed")


def test_a_command_takes_the_time_it_takes() -> None:
    kit = order("wait")
    kit.run()
    assert kit.call("slow", 4).reply == DONE
    assert kit.now - BEGAN == 4 * S
    error = kit.call("slow", 40).error
    assert error is not None
    assert (error.code, error.details) == (ErrorCode.TIMEOUT, {"outcome": "not done"})
    assert kit.now - BEGAN == 14 * S


def test_w15_a_command_with_a_key_is_done_once() -> None:
    kit = WorkflowTestKit.of(OrderWorkflow, "o1")
    for _ in range(2):
        assert kit.call("note", "gift", idempotency_key="k").reply == DONE
    assert [entry.type for entry in kit.journal] == ["updated"]
    error = kit.call("note", "other", idempotency_key="k").error
    assert error is not None
    assert error.code is ErrorCode.CONFLICT
    kit.advance(timedelta(days=7))
    assert kit.call("note", "other", idempotency_key="k").reply == DONE
    assert kit.state.note == "other"


# --- calls of a step that runs again (W16) ---


def test_w16_a_retry_gets_the_recorded_replies() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, times=2)
    kit.run()
    assert [call.handler for call in kit.calls] == ["take", "confirm", "confirm", "confirm"], "a refused call is made again, a done one is not"
    assert kit.calls[0] == ScriptedCall("stock", "s1", "take", "1")


def test_w16_by_hand_too() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, times=1)
    with pytest.raises(CommandError):
        kit.run_step()
    assert kit.run_step().next == TransitionTo("charge")
    assert [call.handler for call in kit.calls] == ["take", "confirm", "confirm"]
    assert shown(kit) == [("started", "reserve", 1), ("transitioned", "charge", 1)]


def test_w16_what_a_retry_does_not_repeat_is_in_the_journal() -> None:
    class Wavering(OrderWorkflow):
        component_id = "wavering"

        @step("reserve")
        async def reserve(self) -> WorkflowStepEffect[Order]:
            stock = self.context.client.for_event_sourced_entity("stock", "s1")
            await stock.call("take").invoke(self.context.attempt, reply=int)
            await stock.call("confirm").invoke()
            return self.step_effects.then_end()

    kit = WorkflowTestKit.of(Wavering)
    kit.when("stock", "take").reply(1)
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, times=1)
    kit.when("stock", "confirm").reply()
    kit.call("start", "reserve")
    kit.run()
    assert kit.journal[-1].detail["unrepeated"] == ("stock/s1 take",)
    assert [call.input for call in kit.calls] == ["1", None, "2", None]


def test_w16_replies_to_calls_are_kept_for_a_day() -> None:
    class Patient(OrderWorkflow):
        component_id = "patient"
        settings = WorkflowSettings(steps={"reserve": StepSettings(recovery=Recovery(max_retries=2, backoff=Backoff(timedelta(hours=20))))})

    kit = WorkflowTestKit.of(Patient)
    kit.when("stock", "take").reply(1)
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, times=2)
    kit.when("stock", "confirm").reply()
    kit.call("start", "reserve")
    kit.run()
    assert [call.handler for call in kit.calls] == ["take", "confirm", "confirm", "take", "confirm"], "after 20 h, after 60 h"
    assert kit.journal[2].detail["forgotten"] is True


def test_a_scripted_container_is_written_by_what_is_in_it() -> None:
    script = Script()
    When(script, "shopping-cart", "events").reply([ItemAdded(Item("pen", 2)), CheckedOut(2)])
    answer = script.take(Call(1, "shopping-cart", "k1", "events", None, 1_000_000), 0)
    assert isinstance(answer, Payload)
    assert default_codec_for(list[ItemAdded | CheckedOut]).decode_payload(answer) == [ItemAdded(Item("pen", 2)), CheckedOut(2)]
