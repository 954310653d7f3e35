"""What a handler runs for is known where its code runs: in its threads and tasks, and on its log records (F76)."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from ankka import (
    DONE,
    Ankka,
    CurrentWork,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
    Recovery,
    StepSettings,
    WorkFilter,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowSettings,
    WorkflowStepEffect,
    command,
    current_work,
    json_codec,
    query,
    step,
)
from tests.integration.support.programs import Programs, Sidecar

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
CALLS = 20
SEEN: dict[str, list[CurrentWork | None]] = {}
log = logging.getLogger("shop.traced")


def see(where: str) -> None:
    """Note what runs, and log a line."""
    SEEN.setdefault(where, []).append(current_work())
    log.warning("at %s", where)


class TracedWorkflow(Workflow[int]):
    """Its steps note what they run for in threads and tasks; `threads` fails in its first attempt."""

    component_id = "traced"
    state_codec = json_codec(int, "traced")
    settings = WorkflowSettings(steps={"threads": StepSettings(recovery=Recovery(max_retries=1))})

    def empty_state(self) -> int:
        return 0

    def merge_state(self, base: int, current: int, mine: int) -> int:
        see("merge")
        return current + mine

    @command("start")
    def start(self) -> WorkflowEffect[int, Done]:
        see("command")
        return self.effects.transition_to("threads").then_reply(lambda _: DONE)

    @command("add")
    async def add(self) -> WorkflowEffect[int, Done]:
        await asyncio.to_thread(see, "async-command")
        return self.effects.update_state(self.state + 1).then_reply(lambda _: DONE)

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[int, int]:
        see("query")
        return self.effects.reply(self.state)

    @step("threads")
    async def threads(self) -> WorkflowStepEffect[int]:
        await asyncio.gather(*(asyncio.to_thread(see, f"to-thread-{self.context.attempt}") for _ in range(CALLS)))

        async def child() -> None:
            see(f"task-{self.context.attempt}")

        await asyncio.create_task(child())
        if self.context.attempt == 1:
            raise RuntimeError("once more")
        return self.step_effects.then_transition_to("sync")

    @step("sync")
    def sync(self) -> WorkflowStepEffect[int]:
        see("sync-step")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(see, "bare-thread").result()
        this = self.context.client.for_workflow(TracedWorkflow, self.entity_id)
        this.call(TracedWorkflow.add).invoke_sync()
        self.context.client.for_event_sourced_entity(TracedEntity, "k1").call(TracedEntity.count).invoke_sync()
        return self.step_effects.update_state(self.state + 10).then_end()


class TracedEntity(EventSourcedEntity[int, int]):
    component_id = "traced-entity"
    state_codec = json_codec(int, "traced-entity")
    event_codec = json_codec(int, "counted")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        see("apply-event")
        return state + event

    @command("count")
    def count(self) -> EventSourcedEffect[int, int, int]:
        see("entity-command")
        return self.effects.persist(1).then_reply_state()

    @query("look")
    async def look(self) -> ReadOnlyEffect[int, int, int]:
        see("entity-query")
        return self.effects.reply(self.state)


@pytest.fixture
def sidecar(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> Sidecar:
    SEEN.clear()
    sidecar = programs.sidecar()
    monkeypatch.setenv("ANKKA_SIDECAR", sidecar.url)
    return sidecar


@asynccontextmanager
async def ended(sidecar: Sidecar) -> AsyncGenerator[None]:
    """A run of `t1`, which somebody with a trace started, to its end; the process stays attached meanwhile."""
    async with Ankka.service().register(TracedWorkflow).register(TracedEntity).running() as running:
        await running.attached()
        headers = {"traceparent": TRACE}
        started = await asyncio.to_thread(sidecar.http.post, "/v1/traced/t1/start", headers=headers)
        assert started.status_code == 204
        end = await asyncio.to_thread(sidecar.http.get, "/v1/traced/t1/ankka:await")
        assert (end.status_code, end.json()) == (200, 11)
        yield


async def test_threads_and_tasks_of_a_step_know_instance_attempt_and_trace(sidecar: Sidecar) -> None:
    # F76
    async with ended(sidecar):
        pass
    first = CurrentWork("traced", "t1", "step", "threads", 1, TRACE)
    assert SEEN["to-thread-1"] == [first] * CALLS
    assert SEEN["to-thread-2"] == [replace(first, attempt=2)] * CALLS
    assert SEEN["task-1"] == [first]
    assert SEEN["task-2"] == [replace(first, attempt=2)]
    assert SEEN["sync-step"] == [CurrentWork("traced", "t1", "step", "sync", 1, TRACE)]
    assert SEEN["bare-thread"] == [None], "a thread of the user's own inherits nothing, as ever in Python"


async def test_commands_queries_folds_and_merges_know_what_they_are(sidecar: Sidecar) -> None:
    async with ended(sidecar):
        await asyncio.to_thread(sidecar.http.get, "/v1/traced/t1/status")
        await asyncio.to_thread(sidecar.http.get, "/v1/traced-entity/k1/look", headers={"traceparent": TRACE})
    assert SEEN["command"] == [CurrentWork("traced", "t1", "command", "start", trace=TRACE)]
    assert SEEN["query"] == [CurrentWork("traced", "t1", "query", "status")]
    assert SEEN["merge"] == [CurrentWork("traced", "t1", "merge_state", "merge_state")]
    assert SEEN["entity-query"] == [CurrentWork("traced-entity", "k1", "query", "look", trace=TRACE)]
    assert SEEN["apply-event"][0] == CurrentWork("traced-entity", "k1", "command", "count", trace=TRACE)
    assert current_work() is None


async def test_what_a_step_calls_is_part_of_its_trace(sidecar: Sidecar) -> None:
    async with ended(sidecar):
        pass
    assert SEEN["async-command"] == [CurrentWork("traced", "t1", "command", "add", trace=TRACE)]
    assert SEEN["entity-command"] == [CurrentWork("traced-entity", "k1", "command", "count", trace=TRACE)]


async def test_log_records_say_what_runs(sidecar: Sidecar, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(WorkFilter())
    caplog.handler.setFormatter(logging.Formatter("[%(ankka_work)s] %(message)s"))
    log.warning("outside")
    async with ended(sidecar):
        pass
    lines = caplog.text.splitlines()
    assert lines[0] == "[-] outside"
    assert lines.count("[step 'threads' of traced/t1, attempt 1] at to-thread-1") == CALLS
    assert lines.count("[step 'threads' of traced/t1, attempt 2] at to-thread-2") == CALLS
    assert "[step 'sync' of traced/t1, attempt 1] at sync-step" in lines
    assert "[command 'start' of traced/t1] at command" in lines
    (record,) = [record for record in caplog.records if record.getMessage() == "at sync-step"]
    fields = [record.__dict__[f"ankka_{name}"] for name in ("component", "instance", "handler", "step", "attempt", "trace")]
    assert fields == ["traced", "t1", "sync", "sync", 1, TRACE]


async def test_what_ankka_logs_of_a_fault_has_the_fields_without_a_set_up(sidecar: Sidecar, caplog: pytest.LogCaptureFixture) -> None:
    async with ended(sidecar):
        pass
    (record,) = [record for record in caplog.records if record.name == "ankka" and "failed in attempt 1" in record.getMessage()]
    assert [record.__dict__[f"ankka_{name}"] for name in ("instance", "step", "attempt")] == ["t1", "threads", 1]


def test_a_record_keeps_what_it_said_in_its_own_thread() -> None:
    # a QueueListener's handler filters in a thread of its own
    record = logging.makeLogRecord({"msg": "x", "ankka_work": "step 'a' of b/c, attempt 1"})
    thread = threading.Thread(target=WorkFilter().filter, args=(record,))
    thread.start()
    thread.join()
    assert record.__dict__["ankka_work"] == "step 'a' of b/c, attempt 1"


def test_a_filter_by_name_still_filters() -> None:
    assert not WorkFilter("shop").filter(logging.makeLogRecord({"name": "other"}))
    assert WorkFilter("shop").filter(logging.makeLogRecord({"name": "shop.cart"}))
