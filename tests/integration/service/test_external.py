"""`start()` and `listen()` with a sidecar named by `ANKKA_SIDECAR`, and the service as a context manager."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from ankka import Ankka, ComponentClient
from tests.integration.service.folder_programs import FolderPrograms, attached_line
from tests.integration.service.parcels import DepotEntity, Parcel, ParcelWorkflow

SOON = timedelta(seconds=20)


async def test_an_address_that_does_not_answer_is_said_once_and_found_later(programs: FolderPrograms) -> None:
    url = f"http://{programs.environment['ANKKA_HTTP']}"
    programs.environment["ANKKA_SIDECAR"] = url
    program = programs.launch("depot")
    said = program.wait_for_output(r".*no sidecar answers at .*\n")[0]
    assert f"no sidecar answers at {url}" in said
    assert "still trying" in said
    assert programs.outer_sidecar().url == url
    attached = attached_line(program)
    assert attached == f"ankka  {url}  console /console/  components depot"
    async with ComponentClient(url) as client:
        assert await client.for_event_sourced_entity("depot", "main").call("store").invoke(2, reply=int) == 2
    assert program.interrupt() == 0
    assert program.output == f"{said}{attached}\nended {program.pid}\n", "it was said once"


def test_ctrl_c_ends_a_process_that_still_looks_for_its_sidecar(programs: FolderPrograms) -> None:
    programs.environment["ANKKA_SIDECAR"] = f"http://{programs.environment['ANKKA_HTTP']}"
    program = programs.launch("depot")
    program.wait_for_output("no sidecar answers at ")
    assert program.interrupt() == 0


def test_a_wrong_address_is_refused_with_an_example(programs: FolderPrograms) -> None:
    programs.environment["ANKKA_SIDECAR"] = "localhost:9000"
    program = programs.launch("depot")
    assert program.ended() == 1
    assert "ANKKA_SIDECAR" in program.output
    assert "expected http://host:port" in program.output
    assert "Traceback" not in program.output


async def test_listen_runs_in_a_running_loop_until_it_is_cancelled(programs: FolderPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[str]:
        opened.append("opened")
        yield "resources"
        opened.append("closed")

    url = programs.outer_sidecar().url
    monkeypatch.setenv("ANKKA_SIDECAR", url)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    listening = asyncio.create_task(Ankka.service(lifespan).register(DepotEntity).listen())
    async with ComponentClient(url) as client:
        depot = client.for_event_sourced_entity(DepotEntity, "main")
        assert await depot.call(DepotEntity.store).invoke(2) == 2
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert opened == ["opened"]
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert opened == ["opened", "closed"]


async def test_a_running_service_has_a_client_on_its_own_session(programs: FolderPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_SIDECAR", programs.outer_sidecar().url)
    monkeypatch.chdir(programs.folder)
    async with Ankka.service().register(ParcelWorkflow).register(DepotEntity).running() as running:
        parcel = running.client.for_workflow(ParcelWorkflow, "p1")
        await parcel.call(ParcelWorkflow.send).invoke("depot")
        assert await parcel.await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "depot")


async def test_many_clients_calls_at_once_are_all_answered(programs: FolderPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    url = programs.outer_sidecar().url
    monkeypatch.setenv("ANKKA_SIDECAR", url)
    async with Ankka.service().register(DepotEntity).running(), ComponentClient(url) as client:
        stores = [client.for_event_sourced_entity(DepotEntity, f"d{number % 10}").call(DepotEntity.store) for number in range(500)]
        await asyncio.gather(*[store.invoke(1) for store in stores])
        stored = [client.for_event_sourced_entity(DepotEntity, f"d{number}").call(DepotEntity.stored) for number in range(10)]
        assert await asyncio.gather(*[one.invoke() for one in stored]) == [50] * 10
