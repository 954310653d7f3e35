"""`start()` and `listen()` with a sidecar named by `ANKKA_SIDECAR`, and the service as a context manager."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from ankka import Ankka, ComponentClient
from tests.integration.service.parcels import DepotEntity, Parcel, ParcelWorkflow
from tests.integration.service.programs import Programs

SOON = timedelta(seconds=20)


async def test_an_address_that_does_not_answer_is_said_once_and_found_later(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        url = f"http://{programs.environment['ANKKA_HTTP']}"
        programs.environment["ANKKA_SIDECAR"] = url
        program = await programs.launch("depot")
        said = await program.error_line()
        assert f"no sidecar answers at {url}" in said
        assert "still trying" in said
        await programs.start_sidecar()
        program.line = await program.says("ankka  ")
        assert program.line == f"ankka  {url}  console /console/  components depot"
        async with ComponentClient(url) as client:
            assert await client.for_event_sourced_entity("depot", "main").call("store").invoke(2, reply=int) == 2
        assert await program.stop() == 0
        assert await program.errors() == "", "it was said once"


async def test_ctrl_c_ends_a_process_that_still_looks_for_its_sidecar(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        programs.environment["ANKKA_SIDECAR"] = f"http://{programs.environment['ANKKA_HTTP']}"
        program = await programs.launch("depot")
        await program.error_line()
        assert await program.stop() == 0


async def test_a_wrong_address_is_refused_with_an_example(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        programs.environment["ANKKA_SIDECAR"] = "localhost:9000"
        program = await programs.launch("depot")
        assert await program.exit_code() == 1
        errors = await program.errors()
        assert "ANKKA_SIDECAR" in errors
        assert "expected http://host:port" in errors
        assert "Traceback" not in errors


async def test_listen_runs_in_a_running_loop_until_it_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[str]:
        opened.append("opened")
        yield "resources"
        opened.append("closed")

    async with Programs(tmp_path) as programs:
        url = await programs.start_sidecar()
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


async def test_a_running_service_has_a_client_on_its_own_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Programs(tmp_path) as programs:
        monkeypatch.setenv("ANKKA_SIDECAR", await programs.start_sidecar())
        monkeypatch.chdir(tmp_path)
        async with Ankka.service().register(ParcelWorkflow).register(DepotEntity).running() as running:
            parcel = running.client.for_workflow(ParcelWorkflow, "p1")
            await parcel.call(ParcelWorkflow.send).invoke("depot")
            assert await parcel.await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "depot")


async def test_many_clients_calls_at_once_are_all_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Programs(tmp_path) as programs:
        url = await programs.start_sidecar()
        monkeypatch.setenv("ANKKA_SIDECAR", url)
        async with Ankka.service().register(DepotEntity).running(), ComponentClient(url) as client:
            stores = [client.for_event_sourced_entity(DepotEntity, f"d{number % 10}").call(DepotEntity.store) for number in range(500)]
            await asyncio.gather(*[store.invoke(1) for store in stores])
            stored = [client.for_event_sourced_entity(DepotEntity, f"d{number}").call(DepotEntity.stored) for number in range(10)]
            assert await asyncio.gather(*[one.invoke() for one in stored]) == [50] * 10
