"""`IntegrationTestKit` with a real service: calls, HTTP, the journal, restarts and kills in the middle of a step."""

import asyncio
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psutil
import pytest

from ankka import Ankka, KeyValueEntity, json_codec
from ankka.client import CommandError
from ankka.effects.common import ErrorCode
from ankka.process.connection import SessionRejected
from ankka.protocol.ids import InvalidId
from ankka.service import ServiceBuilder
from ankka.testkit import IntegrationTestKit, JournalEntry
from tests.integration.testkit.bakery import LarderEntity, Order, OrderWorkflow, Oven, SignEntity, bakery

SOON = timedelta(seconds=20)


def facts(entries: list[JournalEntry]) -> list[tuple[str, str | None, int | None]]:
    """Type, step and attempt of each."""
    return [(entry.type, entry.step, entry.attempt) for entry in entries]


async def incarnation(kit: IntegrationTestKit) -> str:
    """What the sidecar is named, anew at each start."""
    answer = await kit.http.get("/healthz")
    return str(answer.json()["incarnation"])


def attached_to(journal: Path) -> set[str]:
    """The boots of the processes that the sidecar has noted in its journal: random, one for each that attaches."""
    connection = sqlite3.connect(f"file:{journal}?mode=ro", uri=True)
    try:
        ((noted,),) = connection.execute("SELECT processes FROM node").fetchall()
    finally:
        connection.close()
    return {process["boot"] for process in json.loads(noted)}


async def status(kit: IntegrationTestKit, id: str) -> Order:
    """The order's end state."""
    return await kit.client.for_workflow(OrderWorkflow, id).await_end(SOON, reply=Order)


async def test_the_service_is_called_by_client_and_by_http() -> None:
    oven = Oven()
    oven.lit.set()
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        await kit.client.for_workflow(OrderWorkflow, "o1").call(OrderWorkflow.place).invoke("rye")
        assert await status(kit, "o1") == Order("rye", "baked")
        assert await kit.client.for_event_sourced_entity(LarderEntity, "flour").call(LarderEntity.taken).invoke() == 1
        written = await kit.http.post("/v1/sign/door/write", json="open")
        assert (written.status_code, written.json()) == (200, "open")
        assert await kit.client.for_key_value_entity("sign", "door").call("read").invoke(reply=str) == "open"
        refused = await kit.http.post("/v1/order/o1/place", json="oat")
        assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert (oven.opened, oven.closed) == (1, 1)


async def test_the_journal_of_a_workflow_is_its_timeline() -> None:
    oven = Oven()
    oven.lit.set()
    before = datetime.now(UTC)
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        await kit.client.for_workflow("order", "o/1 ö").call("place").invoke("rye")
        await status(kit, "o/1 ö")
        entries = await kit.journal_of("order", "o/1 ö")
        assert facts(entries) == [("started", "fetch", 1), ("transitioned", "bake", 1), ("ended", "bake", 1)]
        assert [(entry.sequence, entry.run, entry.detail) for entry in entries] == [
            (1, 1, {"to": "fetch", "by": "place"}),
            (2, 1, {"to": "bake", "by": "fetch"}),
            (3, 1, {"by": "bake"}),
        ]
        assert len({entry.generation for entry in entries}) == 1
        assert before <= entries[0].at <= entries[1].at <= entries[2].at <= datetime.now(UTC)


async def test_the_journal_of_an_entity_has_all_its_events_from_all_pages() -> None:
    async with IntegrationTestKit.start(bakery(Oven())) as kit:
        larder = kit.client.for_event_sourced_entity(LarderEntity, "sugar").call(LarderEntity.take)
        assert await larder.invoke(1_500) == 1_500
        assert await larder.invoke(700) == 2_200
        entries = await kit.journal_of(LarderEntity, "sugar")
        assert len(entries) == 2_200
        assert {(entry.type, entry.run, entry.step, entry.attempt) for entry in entries} == {("taken", None, None, None)}
        assert [entry.sequence for entry in entries] == sorted(entry.sequence for entry in entries)
        assert entries[0].detail == {"by": "take", "event": 1}


async def test_what_has_no_journal() -> None:
    async with IntegrationTestKit.start(bakery(Oven())) as kit:
        assert await kit.journal_of("sign", "nobody wrote it") == []
        with pytest.raises(CommandError, match="no component 'sing'") as raised:
            await kit.journal_of("sing", "door")
        assert raised.value.error.code == ErrorCode.NOT_FOUND
        with pytest.raises(InvalidId, match="an instance id must not be empty"):
            await kit.journal_of("sign", "")


async def test_a_restart_drops_all_that_was_in_memory(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    ovens: list[Oven] = []

    def service() -> ServiceBuilder:
        ovens.append(Oven())
        return bakery(ovens[-1])

    async with IntegrationTestKit.start(service, journal=f"sqlite:///{journal}") as kit:
        write = kit.client.for_key_value_entity("sign", "door").call("write")
        await write.invoke("open", reply=str)
        before = psutil.Process(kit.sidecar_pid)
        url, name = kit.url, await incarnation(kit)
        boots = attached_to(journal)
        await kit.restart()
        # the sidecar is another program, so nothing of the old one's memory can be in it
        assert not before.is_running()
        assert (kit.sidecar_pid != before.pid, await incarnation(kit) != name, kit.url == url) == (True, True, True)
        # the service attached as another process, made anew, with a lifespan of its own
        assert [(oven.opened, oven.closed) for oven in ovens] == [(1, 1), (1, 0)]
        # what was journalled is there
        assert (await kit.http.get("/v1/sign/door/read")).json() == "open"
        assert await write.invoke("closed", reply=str) == "closed"
        assert (len(boots), len(attached_to(journal)), boots & attached_to(journal)) == (1, 1, set())


async def test_a_restart_in_the_middle_of_a_step_interrupts_it_and_it_runs_again() -> None:
    # W11: an interruption is no fault
    oven = Oven()
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
        assert await oven.reached.get() == 1
        await kit.restart()
        attempt = await oven.reached.get()
        assert attempt > 1
        oven.lit.set()
        assert await status(kit, "o1") == Order("rye", "baked")
        assert oven.tried == {"o1": 2}
        lifecycle = await kit.client.for_workflow("order", "o1").lifecycle()
        assert lifecycle.retries == {}
        started, transitioned, *interrupted, ended = await kit.journal_of("order", "o1")
        assert facts([started, transitioned, ended]) == [("started", "fetch", 1), ("transitioned", "bake", 1), ("ended", "bake", attempt)]
        assert {entry.type for entry in interrupted} == {"interrupted"}
        assert await kit.client.for_event_sourced_entity(LarderEntity, "flour").call(LarderEntity.taken).invoke() == 1
    assert (oven.opened, oven.closed) == (2, 2)


async def test_steps_get_the_kits_drain_time_at_a_restart() -> None:
    oven = Oven()
    async with IntegrationTestKit.start(bakery(oven), drain=timedelta(seconds=20)) as kit:
        await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
        await oven.reached.get()
        restarting = asyncio.create_task(kit.restart())
        await asyncio.sleep(0)
        oven.lit.set()
        await restarting
        assert await status(kit, "o1") == Order("rye", "baked")
        assert oven.tried == {"o1": 1}
        assert facts(await kit.journal_of("order", "o1"))[-1] == ("ended", "bake", 1)


async def test_a_killed_sidecar_comes_back_and_the_step_in_the_middle_goes_on() -> None:
    # W11: a lost connection is not a lost process
    oven = Oven()
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
        await oven.reached.get()
        pid, url, name = kit.sidecar_pid, kit.url, await incarnation(kit)
        await kit.kill_sidecar()
        assert not psutil.pid_exists(pid)
        assert (kit.sidecar_pid != pid, kit.url == url, await incarnation(kit) != name) == (True, True, True)
        oven.lit.set()
        assert await status(kit, "o1") == Order("rye", "baked")
        assert oven.tried == {"o1": 1}
        assert facts(await kit.journal_of("order", "o1"))[-1] == ("ended", "bake", 1)
    assert (oven.opened, oven.closed) == (1, 1)


async def test_a_killed_sidecar_stays_away_until_it_is_started() -> None:
    oven = Oven()
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        await kit.client.for_key_value_entity("sign", "door").call("write").invoke("open", reply=str)
        await kit.kill_sidecar(start_again=False)
        with pytest.raises(httpx.ConnectError):
            await kit.http.get("/healthz")
        reading = asyncio.create_task(kit.client.for_key_value_entity("sign", "door").call("read").invoke(reply=str))
        await kit.start_sidecar()
        assert await reading == "open"
        with pytest.raises(RuntimeError, match=r"runs; `await kit\.restart"):
            await kit.start_sidecar()


async def test_two_kits_at_once_know_nothing_of_each_other() -> None:
    service = bakery(Oven())
    async with IntegrationTestKit.start(service) as one, IntegrationTestKit.start(service) as other:
        assert one.url != other.url
        await one.client.for_key_value_entity("sign", "door").call("write").invoke("one", reply=str)
        await other.client.for_key_value_entity("sign", "door").call("write").invoke("other", reply=str)
        await one.restart()
        assert (await one.http.get("/v1/sign/door/read")).json() == "one"
        assert (await other.http.get("/v1/sign/door/read")).json() == "other"
        assert len(await one.journal_of(SignEntity, "door")) == 1


async def test_a_journal_of_ones_own_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with IntegrationTestKit.start(bakery(Oven()), journal="sqlite:///kept.db") as kit:
        await kit.client.for_key_value_entity("sign", "door").call("write").invoke("kept", reply=str)
    assert (tmp_path / "kept.db").is_file()
    async with IntegrationTestKit.start(bakery(Oven()), journal=f"sqlite:///{tmp_path / 'kept.db'}") as kit:
        assert await kit.client.for_key_value_entity("sign", "door").call("read").invoke(reply=str) == "kept"


async def test_settings_reach_the_sidecar_and_the_tests_own_environment_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_MAX_PAYLOAD", "nonsense")
    async with IntegrationTestKit.start(bakery(Oven()), settings={"max_payload": 1_000, "cancel-grace": timedelta(milliseconds=500)}) as kit:
        refused = await kit.http.post("/v1/sign/door/write", json="x" * 2_000)
        assert refused.status_code == 413
        assert "1000" in refused.json()["detail"] or "1,000" in refused.json()["detail"]


@pytest.mark.parametrize("end", ["restart", "kill"])
async def test_who_waits_for_an_end_still_waits_after_it(end: str) -> None:
    oven = Oven()
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        order = kit.client.for_workflow(OrderWorkflow, "o1")
        await order.call(OrderWorkflow.place).invoke("rye")
        await oven.reached.get()
        waiting = asyncio.create_task(order.await_end(SOON, reply=Order))
        await order.lifecycle()  # the session keeps the order, so the sidecar has the question now
        await (kit.restart() if end == "restart" else kit.kill_sidecar())
        oven.lit.set()
        assert await waiting == Order("rye", "baked")


async def test_another_process_attaches_by_address() -> None:
    async with IntegrationTestKit.start(bakery(Oven())) as kit:
        listening = asyncio.create_task(Ankka.service().register(SignEntity).listen(sidecar=kit.url))
        while (await kit.http.get("/healthz")).json()["processes"] != 2:  # noqa: ASYNC110  # another program's count
            await asyncio.sleep(0.01)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        with pytest.raises(ValueError, match="sidecar: 'localhost' is no sidecar address"):
            await bakery(Oven()).listen(sidecar="localhost")


class OrderNote(KeyValueEntity[str]):
    """What was a workflow is an entity now."""

    component_id = "order"
    state_codec = json_codec(str, "order-note")

    def empty_state(self) -> str:
        return ""


async def test_a_service_that_does_not_fit_the_journal_is_refused() -> None:
    oven = Oven()
    services = [Ankka.service().register(OrderNote), bakery(oven)]
    async with IntegrationTestKit.start(lambda: services.pop() if len(services) > 1 else services[0]) as kit:
        await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
        await kit.kill_sidecar(start_again=False)
        with pytest.raises(SessionRejected, match="'order' is of the kind key-value-entity here, but workflow in the journal"):
            await kit.restart()
        await kit.kill_sidecar(start_again=False)
        with pytest.raises(RuntimeError, match="no service is attached"):
            await kit.start_sidecar()
        services[0] = bakery(oven)
        oven.lit.set()
        await kit.restart()
        assert await status(kit, "o1") == Order("rye", "baked")
