"""The workflow kit on the engine's rules and a simulated clock: recovery, timeouts, pauses, and exactly the time that was asked for."""

import asyncio
import time
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

import pytest

from ankka.client import CommandError
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import End, TransitionTo, WorkflowStepEffect
from ankka.testkit import WorkflowTestKit
from ankka.testkit.scripted_calls import UnscriptedCall
from ankka.workflow import WorkflowSettings, step
from tests.unit.testkit.orders import BEGAN, Order, OrderWorkflow, OutOfStock, S, order, shown

TENANT: ContextVar[str] = ContextVar("tenant")


# --- recovery ---


def test_w6_retries_with_back_off_take_their_time() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, "closed", times=2)
    assert kit.run().status == "Completed"
    assert shown(kit) == [
        ("started", "reserve", 1), ("retried", "reserve", 2), ("retried", "reserve", 3), ("transitioned", "charge", 1), ("sent", "charge", 1),
        ("ended", "charge", 1),
    ]  # fmt: skip
    assert kit.now - BEGAN == 3 * S, "1 s and 2 s"
    assert kit.state == Order("charged", 1)
    assert kit.lifecycle.retries == {"reserve": 2}
    assert kit.journal[1].detail["error"] == "step 'reserve' failed: CommandError: UNAVAILABLE: closed"


def test_w6_failover_when_retries_are_used_up() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, "closed")
    life = kit.run()
    assert (life.status, kit.state.status, kit.now - BEGAN) == ("Completed", "cancelled", 7 * S)
    assert [entry.type for entry in kit.journal] == ["started", "retried", "retried", "retried", "failed-over", "ended"]
    assert kit.transitions == [TransitionTo("reserve"), TransitionTo("cancel")]


def test_w6_not_on_goes_straight_to_failover() -> None:
    class Empty(OrderWorkflow):
        component_id = "empty"

        @step("reserve")
        async def reserve(self) -> WorkflowStepEffect[Order]:
            raise OutOfStock

    kit = WorkflowTestKit.of(Empty)
    kit.call("start", "reserve")
    kit.run()
    assert shown(kit) == [("started", "reserve", 1), ("failed-over", "reserve", 1), ("ended", "cancel", 1)]


def test_a_step_whose_call_hangs_times_out_at_once_in_real_time() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").hang(times=1)
    began = time.monotonic()
    assert kit.run().status == "Completed"
    assert time.monotonic() - began < 5, "simulated: 11 s"
    assert kit.now - BEGAN == 11 * S
    assert kit.journal[1].detail["error"] == "step 'reserve' failed: timed out after 10 s"
    assert list(kit.journal[1].detail["unknown"]) == ["stock/s1 confirm"]


def test_a_sync_step_whose_call_hangs_times_out() -> None:
    kit = order("sync")
    kit.when("stock", "confirm").hang()
    life = kit.run()
    assert (life.status, life.failure) == ("Failed", "step 'sync' failed: timed out after 30 s")
    assert kit.now - BEGAN == 30 * S


def test_a_call_with_a_time_of_its_own_gets_a_timeout() -> None:
    class Impatient(OrderWorkflow):
        component_id = "impatient"

        @step("reserve")
        async def reserve(self) -> WorkflowStepEffect[Order]:
            with pytest.raises(CommandError) as raised:
                await self.context.client.for_event_sourced_entity("stock", "s1").call("take").with_timeout(2 * S).invoke(1, reply=int)
            assert raised.value.error.details == {"outcome": "unknown"}
            return self.step_effects.then_fail(raised.value.error.message, raised.value.error.code)

    kit = WorkflowTestKit.of(Impatient)
    kit.when("stock", "take").hang()
    kit.call("start", "reserve")
    life = kit.run()
    assert life.failure == "stock/s1 did not answer 'take' in time: it may have been done or not"
    assert kit.now - BEGAN == 2 * S


def test_w7_then_fail_is_final() -> None:
    kit = order("refuse")
    life = kit.run()
    assert (life.status, life.failure, life.is_terminal) == ("Failed", "not today", True)
    assert shown(kit) == [("started", "refuse", 1), ("failed", "refuse", 1)]


def test_w11_a_step_that_runs_once_is_journalled_before_it_begins() -> None:
    kit = order("charge")
    kit.run()
    assert shown(kit) == [("started", "charge", 1), ("sent", "charge", 1), ("ended", "charge", 1)]


# --- time ---


def test_f91_a_pause_of_days_takes_no_time() -> None:
    kit = order("ask")
    began = time.monotonic()
    assert kit.run().status == "Completed"
    assert time.monotonic() - began < 1
    assert shown(kit) == [("started", "ask", 1), ("paused", "ask", 1), ("resumed", "cancel", 1), ("ended", "cancel", 1)]
    assert kit.now - BEGAN == timedelta(days=3)


def test_w9_a_pause_without_a_time_waits_for_a_command() -> None:
    kit = order("wait")
    assert kit.run().status == "Paused"
    assert kit.run().status == "Paused"
    assert kit.now == BEGAN
    kit.call("approve")
    assert kit.lifecycle.status == "Running"
    assert kit.run().status == "Completed"
    assert shown(kit)[2:] == [("transitioned", "charge", 1), ("sent", "charge", 1), ("ended", "charge", 1)]


def test_w8_the_workflows_own_timeout_passes_with_advance() -> None:
    kit = order("wait")
    kit.run()
    life = kit.advance(timedelta(days=60))
    assert (life.status, life.failure) == ("Failed", "workflow timed out after 60 d")
    assert kit.now - BEGAN == timedelta(days=60)


def test_run_until_a_step_or_a_pause() -> None:
    kit = order("ask")
    assert kit.run(until="Paused").status == "Paused"
    assert kit.lifecycle.paused_until == BEGAN + timedelta(days=3)
    assert kit.run(until="cancel").step == "cancel"
    assert kit.state.status == "started", "it has not begun"
    assert kit.run(until=OrderWorkflow.cancel).step == "cancel"
    assert kit.run().status == "Completed"
    with pytest.raises(ValueError, match="does not declare the step 'chrage'; did you mean 'charge'"):
        kit.run(until="chrage")


def test_f92_advance_is_exact_and_does_only_what_is_due() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE, "closed")
    kit.advance(timedelta(0))
    assert shown(kit)[-1] == ("retried", "reserve", 2)
    kit.advance(timedelta(microseconds=999_999))
    assert len(kit.journal) == 2, "the back-off is 1 s"
    kit.advance(timedelta(microseconds=1))
    assert shown(kit)[-1] == ("retried", "reserve", 3)
    kit.advance(10 * S)
    assert kit.now == BEGAN + 11 * S
    assert [entry.at - BEGAN for entry in kit.journal] == [0 * S, 0 * S, 1 * S, 3 * S, 7 * S, 7 * S]
    with pytest.raises(ValueError, match="time does not go back"):
        kit.advance(-S)


def test_f92_a_sleep_ends_at_its_own_instant() -> None:
    kit = order("pack")
    assert kit.advance(20 * S - timedelta(microseconds=1)).status == "Running"
    assert kit.advance(timedelta(microseconds=1)).status == "Completed"
    assert kit.journal[-1].at - BEGAN == 20 * S


@pytest.mark.parametrize("pieces", [1, 7, 1_000])
def test_f92_many_sleeps_do_not_drift(pieces: int) -> None:
    class Sleeper(OrderWorkflow):
        component_id = "sleeper"

        @step("pack")
        async def pack(self) -> WorkflowStepEffect[Order]:
            for _ in range(pieces):
                await asyncio.sleep(21 / pieces)
            return self.step_effects.then_end()

    kit = WorkflowTestKit.of(Sleeper, now=datetime(2900, 1, 1, tzinfo=UTC))
    began = kit.now
    kit.call("start", "pack")
    kit.run()
    assert kit.now - began == 21 * S


def test_f92_a_sleep_of_more_than_a_day() -> None:
    class Sleeper(OrderWorkflow):
        component_id = "long-sleeper"
        settings = WorkflowSettings(default_step_timeout=timedelta(days=100))

        @step("pack")
        async def pack(self) -> WorkflowStepEffect[Order]:
            await asyncio.sleep(timedelta(days=99).total_seconds())
            return self.step_effects.then_end()

    kit = WorkflowTestKit.of(Sleeper)
    kit.call("start", "pack")
    assert kit.run().status == "Completed"
    assert kit.now - BEGAN == timedelta(days=99)


def test_threads_are_waited_for_while_the_clock_stands_still() -> None:
    kit = order("nap")
    assert kit.run().status == "Completed"
    assert kit.now == BEGAN


def test_a_step_that_waits_for_what_never_comes_times_out() -> None:
    kit = order("forever")
    assert kit.run().failure == "step 'forever' failed: timed out after 30 s"
    assert kit.now - BEGAN == 30 * S


# --- by hand and by the engine ---


def test_by_hand_first_then_by_the_engine() -> None:
    kit = order("reserve")
    assert kit.run_step().next == TransitionTo("charge")
    assert kit.run().status == "Completed"
    assert shown(kit) == [("started", "reserve", 1), ("transitioned", "charge", 1), ("sent", "charge", 1), ("ended", "charge", 1)]
    assert kit.outcome == End()


def test_a_step_under_way_is_not_run_by_hand() -> None:
    kit = order("pack")
    kit.advance(S)
    with pytest.raises(ValueError, match=r"is under way; let it go on with kit\.run\(\)"):
        kit.run_step()


def test_by_hand_a_back_off_and_a_timeout() -> None:
    kit = order("reserve")
    kit.when("stock", "confirm").hang()
    with pytest.raises(TimeoutError, match=r"step 'reserve' of order/o1 did not end within 0:00:10 \(simulated\)"):
        kit.run_step()
    assert kit.now - BEGAN == 10 * S
    kit.when("stock", "confirm").refuse(ErrorCode.UNAVAILABLE)
    kit.advance(timedelta(0))
    kit.when("stock", "confirm").reply()
    assert kit.run_step().next == TransitionTo("charge")
    assert kit.now - BEGAN == 11 * S


def test_a_missing_answer_fails_the_run_and_can_be_given_then() -> None:
    kit = WorkflowTestKit.of(OrderWorkflow)
    kit.when("stock", "take").reply(1)
    kit.call("start", "reserve")
    with pytest.raises(UnscriptedCall, match=r"say kit.when\('stock', 'confirm'\)"):
        kit.run()
    kit.when("stock", "confirm").reply()
    assert kit.run().status == "Completed"
    assert [entry.type for entry in kit.journal] == ["started", "transitioned", "sent", "ended"]


async def test_inside_a_running_loop() -> None:
    kit = order("ask")
    assert kit.run().status == "Completed"
    assert asyncio.get_running_loop().is_running()


def test_an_event_of_the_test_lets_a_step_go_on() -> None:
    class Waiting(OrderWorkflow):
        component_id = "waiting"

        @step("pack")
        async def pack(self) -> WorkflowStepEffect[Order]:
            await self.context.resources.wait()
            return self.step_effects.then_end()

    gate = asyncio.Event()
    kit = WorkflowTestKit.of(Waiting, resources=gate)
    kit.call("start", "pack")
    assert kit.advance(S).status == "Running"
    gate.set()
    assert kit.advance(timedelta(0)).status == "Completed"


def test_now_is_told_or_the_beginning_of_2026() -> None:
    began = datetime(2020, 2, 29, 12, tzinfo=UTC)
    kit = WorkflowTestKit.of(OrderWorkflow, now=began)
    assert kit.now == began
    with pytest.raises(ValueError, match="has no time zone"):
        WorkflowTestKit.of(OrderWorkflow, now=datetime(2020, 1, 1))  # noqa: DTZ001  # that is what is refused
