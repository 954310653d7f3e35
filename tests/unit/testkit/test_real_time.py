"""What a unit kit waits for in real time: threads, sockets, other libraries; and what blocks for ever, which fails (F91)."""

import asyncio
import gc
import socketserver
import threading
import time
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from datetime import timedelta

import pytest
from msgspec import structs

from ankka.codec import DONE, Done
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import WorkflowEffect, WorkflowStepEffect
from ankka.testkit import WorkflowTestKit
from ankka.testkit.limits import LIMITS
from ankka.testkit.loop_thread import StepBlocked
from ankka.workflow import Recovery, StepSettings, WorkflowSettings, command, step
from tests.unit.testkit.orders import BEGAN, Order, OrderWorkflow, S, order

TENANT: ContextVar[str] = ContextVar("tenant")


# --- what blocks ---


@pytest.mark.parametrize(
    ("at", "line"), [("stuck-thread", "threading.Event().wait(5)"), ("stuck-loop", "time.sleep(5)"), ("spinning", "await asyncio.sleep(0)")]
)
def test_f91_what_blocks_fails_with_a_dump(at: str, line: str) -> None:
    kit = order(at)
    kit.patience = timedelta(milliseconds=200)
    with pytest.raises(StepBlocked, match=r"not at rest after 0\.2 s of real time \(kit\.patience\)") as raised:
        kit.run()
    assert line in str(raised.value)
    with pytest.raises(StepBlocked, match="this kit cannot go on"):
        kit.run()


def test_a_loop_without_an_end_is_cut() -> None:
    with pytest.raises(RuntimeError, match="order/o1 has not come to rest after 50 step attempts"):
        order("round").run(limit=50)
    with pytest.raises(RuntimeError, match="more than 1,000 step attempts are due"):
        order("round").advance(S)


def test_a_kit_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    kit = order("pack")
    kit.advance(S)
    made = weakref.ref(kit)
    gc.disable()
    try:
        del kit
        assert made() is None, "no cycle keeps it"
    finally:
        gc.enable()
    assert set(threading.enumerate()) <= before


# --- what is real ---


def test_a_socket_is_waited_for() -> None:
    class Fetching(OrderWorkflow):
        component_id = "fetching"

        @step("pack")
        async def pack(self) -> WorkflowStepEffect[Order]:
            reader, writer = await asyncio.open_connection(*self.context.resources)
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return self.step_effects.update_state(Order(answer.decode())).then_end()

    class Answers(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"hello")

    with socketserver.TCPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.handle_request).start()
        kit = WorkflowTestKit.of(Fetching, resources=server.server_address)
        kit.call("start", "pack")
        assert kit.run().status == "Completed"
    assert (kit.state.status, kit.now) == ("hello", BEGAN)


def test_a_sync_step_that_does_not_stop_is_abandoned_as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ankka.testkit.workflow_simulation.LIMITS", structs.replace(LIMITS, cancel_grace=200_000))

    class Stubborn(OrderWorkflow):
        component_id = "stubborn"
        settings = WorkflowSettings(
            steps={"stuck-thread": StepSettings(timeout=timedelta(milliseconds=100), recovery=Recovery(failover_to="charge"))}
        )

        @step("stuck-thread")
        def stuck_thread(self) -> WorkflowStepEffect[Order]:
            self.context.resources.wait(20)
            return self.step_effects.then_end()

    let_go = threading.Event()
    kit = WorkflowTestKit.of(Stubborn, resources=let_go)
    kit.call("start", "stuck-thread")
    assert kit.run().status == "Completed"
    assert [entry.type for entry in kit.journal] == ["started", "failed-over", "ended"]
    assert timedelta(milliseconds=300) <= kit.now - BEGAN < S, "its timeout, and the grace time (5 s, here 0.2)"
    let_go.set()


def test_context_variables_of_the_test_are_there() -> None:
    class Telling(OrderWorkflow):
        component_id = "telling"

        @step("cancel")
        def cancel(self) -> WorkflowStepEffect[Order]:
            return self.step_effects.update_state(Order(TENANT.get())).then_end()

    before = TENANT.set("acme")
    kit = WorkflowTestKit.of(Telling)
    kit.call("start", "cancel")
    kit.run()
    TENANT.reset(before)
    assert kit.state.status == "acme"


def test_a_sync_step_takes_no_simulated_time_however_long_it_takes() -> None:
    class Lazy(OrderWorkflow):
        component_id = "lazy"

        @step("cancel")
        def cancel(self) -> WorkflowStepEffect[Order]:
            time.sleep(0.05)
            return self.step_effects.then_end()

    kit = WorkflowTestKit.of(Lazy)
    kit.call("start", "cancel")
    assert kit.advance(timedelta(0)).status == "Completed"
    assert kit.now == BEGAN


def test_another_librarys_thread_is_given_a_moment() -> None:
    class Querying(OrderWorkflow):
        component_id = "querying"

        @step("pack")
        async def pack(self) -> WorkflowStepEffect[Order]:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[str] = loop.create_future()
            threading.Timer(0.02, loop.call_soon_threadsafe, (answer.set_result, "found")).start()
            return self.step_effects.update_state(Order(await answer)).then_end()

    kit = WorkflowTestKit.of(Querying)
    kit.call("start", "pack")
    kit.run()
    assert (kit.state.status, kit.now) == ("found", BEGAN)


def test_what_a_thread_says_between_two_calls_of_the_kit_is_heard() -> None:
    class Told(OrderWorkflow):
        component_id = "told"

        @step("pack")
        async def pack(self) -> WorkflowStepEffect[Order]:
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self.context.resources.append(lambda: answer.get_loop().call_soon_threadsafe(answer.set_result, "late"))
            return self.step_effects.update_state(Order(await answer)).then_end()

    answers: list[Callable[[], object]] = []
    kit = WorkflowTestKit.of(Told, resources=answers)
    kit.call("start", "pack")
    assert kit.advance(S).status == "Running"
    thread = threading.Thread(target=answers[0])
    thread.start()
    thread.join()
    assert kit.advance(timedelta(0)).status == "Completed"
    assert kit.state.status == "late"


def test_a_sync_command_that_would_wait_for_a_call_is_refused_not_hung() -> None:
    class Waiting(OrderWorkflow):
        component_id = "waits-in-a-command"

        @command("delete")
        def delete(self) -> WorkflowEffect[Order, Done]:
            self.context.client.for_event_sourced_entity("stock", "s1").call("confirm").invoke_sync()
            return self.effects.delete().then_reply(lambda _: DONE)

    kit = WorkflowTestKit.of(Waiting)
    kit.when("stock", "confirm").reply()
    error = kit.call("delete").error
    assert error is not None
    assert error.code is ErrorCode.INTERNAL
