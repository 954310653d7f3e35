"""Under the kits the code of a handler knows what it runs for, as in production (F76)."""

import asyncio
import logging

import pytest

from ankka import (
    DONE,
    CurrentWork,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    EventSourcedTestKit,
    WorkFilter,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowStepEffect,
    WorkflowTestKit,
    command,
    current_work,
    json_codec,
    query,
    step,
)

log = logging.getLogger("shop.watched")
SEEN: list[CurrentWork | None] = []


def see() -> None:
    SEEN.append(current_work())
    log.warning("seen")


@pytest.fixture(autouse=True)
def seen() -> list[CurrentWork | None]:
    SEEN.clear()
    return SEEN


class Watched(Workflow[int]):
    component_id = "watched"
    state_codec = json_codec(int, "watched")

    def empty_state(self) -> int:
        return 0

    @command("start")
    def start(self) -> WorkflowEffect[int, Done]:
        see()
        return self.effects.transition_to("async").then_reply(lambda _: DONE)

    @query("status")
    async def status(self) -> WorkflowReadOnlyEffect[int, int]:
        see()
        return self.effects.reply(self.state)

    @step("async")
    async def in_loop(self) -> WorkflowStepEffect[int]:
        await asyncio.to_thread(see)
        return self.step_effects.then_transition_to("sync")

    @step("sync")
    def in_thread(self) -> WorkflowStepEffect[int]:
        see()
        return self.step_effects.then_end()


class WatchedEntity(EventSourcedEntity[int, int]):
    component_id = "watched-entity"
    state_codec = json_codec(int, "watched-entity")
    event_codec = json_codec(int, "counted")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("count")
    def count(self) -> EventSourcedEffect[int, int, int]:
        see()
        return self.effects.persist(1).then_reply_state()


def test_commands_queries_and_steps_of_a_workflow(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(WorkFilter())
    kit = WorkflowTestKit.of(Watched, "w1")
    kit.call("start")
    kit.run_step()
    kit.run_step()
    kit.call("status")
    assert [
        CurrentWork("watched", "w1", "command", "start"),
        CurrentWork("watched", "w1", "step", "async", 1),
        CurrentWork("watched", "w1", "step", "sync", 1),
        CurrentWork("watched", "w1", "query", "status"),
    ] == SEEN
    assert [record.__dict__["ankka_work"] for record in caplog.records] == [str(work) for work in SEEN]
    assert current_work() is None


def test_steps_that_the_engine_runs() -> None:
    kit = WorkflowTestKit.of(Watched, "w1")
    kit.call("start")
    kit.run()
    assert SEEN[1:] == [CurrentWork("watched", "w1", "step", "async", 1), CurrentWork("watched", "w1", "step", "sync", 1)]


def test_an_entity_and_a_loop_that_runs_already() -> None:
    async def main() -> None:
        EventSourcedTestKit.of(WatchedEntity, "k1").call("count")
        assert current_work() is None

    asyncio.run(main())
    assert [CurrentWork("watched-entity", "k1", "command", "count")] == SEEN


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (CurrentWork("cart", "k1", "command", "add"), "command 'add' of cart/k1"),
        (CurrentWork("cart", "k1", "apply_event", "apply_event"), "apply_event of cart/k1"),
        (CurrentWork("order", "o1", "step", "charge", 3), "step 'charge' of order/o1, attempt 3"),
    ],
)
def test_it_reads_like_ankkas_own_messages(work: CurrentWork, text: str) -> None:
    assert str(work) == text
    assert work.step == ("charge" if work.kind == "step" else None)
