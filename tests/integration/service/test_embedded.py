"""`start()` with the folder's own sidecar, as real programs: started, joined, healed, stopped, found again (API §1)."""

import asyncio
import json
import os
import signal
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from ankka import CommandError, ComponentClient, ErrorCode
from ankka.protocol.process_identity import pid_started
from tests.integration.service.parcels import DepotEntity, Parcel, ParcelWorkflow
from tests.integration.service.programs import Programs

SOON = timedelta(seconds=20)


async def test_start_works_without_a_sidecar_and_leaves_nothing_running(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start("parcel", "depot")
        sidecar = programs.sidecar()
        assert sidecar is not None
        assert program.line == f"ankka  {sidecar.url}  console /console/  journal ./.ankka/journal.db  components parcel, depot"
        written = json.loads(programs.folder.sidecar_file.read_bytes())
        assert set(written) == {"http", "pid", "incarnation", "version", "journal", "startedAt"}
        assert stat.S_IMODE(programs.folder.sidecar_file.stat().st_mode) == 0o600
        async with ComponentClient(program.url) as client:
            parcel = client.for_workflow(ParcelWorkflow, "p 1")
            await parcel.call(ParcelWorkflow.send).invoke("depot")
            assert await parcel.await_end(SOON, reply=Parcel) == Parcel("p 1", "shipped", "depot")
            assert await client.for_event_sourced_entity(DepotEntity, "main").call(DepotEntity.stored).invoke() == 1
            with pytest.raises(CommandError, match="sent already") as raised:
                await client.for_workflow("parcel", "p 1").call("send").invoke("depot")
            assert raised.value.error.code is ErrorCode.CONFLICT
        assert await program.stop() == 0
        await program.says("ended")
        assert pid_started(sidecar.pid) is None, "the last process stops the sidecar and waits for it"
        assert not programs.folder.sidecar_file.exists()
        assert await program.errors() == ""


async def test_sigterm_ends_it_with_0_too(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start()
        sidecar = programs.sidecar()
        assert sidecar is not None
        program.signal(signal.SIGTERM)
        assert await program.exit_code() == 0
        assert pid_started(sidecar.pid) is None


async def test_the_next_start_finds_the_state(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start()
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("now")
            await client.for_workflow("parcel", "p1").await_end(SOON)
        assert await program.stop() == 0
        again = await programs.start()
        async with ComponentClient(again.url) as client:
            assert await client.for_workflow("parcel", "p1").call("status").invoke(reply=Parcel) == Parcel("p1", "shipped", "now")
        assert await again.stop() == 0


async def test_a_second_process_of_the_folder_joins_and_the_last_one_stops_the_sidecar(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        parcels = await programs.start("parcel")
        depot = await programs.start("depot")
        sidecar = programs.sidecar()
        assert sidecar is not None
        assert parcels.url == depot.url
        async with ComponentClient(depot.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("depot")
            await client.for_workflow("parcel", "p1").await_end(SOON)
            assert await parcels.stop() == 0
            assert pid_started(sidecar.pid) is not None
            assert await client.for_event_sourced_entity("depot", "main").call("stored").invoke(reply=int) == 1
        assert await depot.stop() == 0
        assert pid_started(sidecar.pid) is None


async def test_processes_that_start_at_once_share_one_sidecar(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        started = await asyncio.gather(programs.start("parcel"), programs.start("depot"), programs.start("parcel"))
        assert len({program.url for program in started}) == 1
        assert [await program.stop() for program in started] == [0, 0, 0]


@pytest.mark.chaos
async def test_a_killed_sidecar_heals_and_a_running_step_is_taken_up(tmp_path: Path) -> None:
    # W11: a lost connection is not a lost process; the step that runs goes on, and no step runs twice
    async with Programs(tmp_path) as programs:
        program = await programs.start("parcel")
        other = await programs.start("depot")
        before = programs.sidecar()
        assert before is not None
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("hold")
            await programs.noted("hold p1 1")
            os.kill(before.pid, signal.SIGKILL)
            after = await programs.another_sidecar(before)
            assert after.url == before.url, "the old port was free"
            programs.open_gate()
            assert await client.for_workflow("parcel", "p1").await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "hold")
            assert await client.for_event_sourced_entity("depot", "main").call("stored").invoke(reply=int) == 0
        assert programs.ledger() == ["pack p1 1", "hold p1 1", "ship p1 1"]
        assert (await program.stop(), await other.stop()) == (0, 0)
        assert pid_started(after.pid) is None


async def test_a_sidecar_that_was_told_to_stop_is_started_again_while_processes_need_it(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start("parcel")
        before = programs.sidecar()
        assert before is not None
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("now")
            await client.for_workflow("parcel", "p1").await_end(SOON)
            os.kill(before.pid, signal.SIGTERM)
            after = await programs.another_sidecar(before)
        async with ComponentClient(after.url) as client:
            assert await client.for_workflow("parcel", "p1").call("status").invoke(reply=Parcel) == Parcel("p1", "shipped", "now")
        assert await program.stop() == 0
        assert pid_started(after.pid) is None


@pytest.mark.chaos
async def test_the_sidecar_leaves_by_itself_after_its_last_process_was_killed(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start()
        sidecar = programs.sidecar()
        assert sidecar is not None
        program.signal(signal.SIGKILL)
        await program.exit_code()
        await programs.gone(sidecar.pid, within=25)
        assert not programs.folder.sidecar_file.exists()


@pytest.mark.chaos
async def test_a_folder_whose_sidecar_and_process_were_killed_starts_again(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start()
        sidecar = programs.sidecar()
        assert sidecar is not None
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("hold")
            await programs.noted("hold p1 1")
        os.kill(sidecar.pid, signal.SIGKILL)
        program.signal(signal.SIGKILL)
        await program.exit_code()
        assert programs.folder.sidecar_file.exists(), "nobody was left to remove it"
        programs.open_gate()
        again = await programs.start()
        async with ComponentClient(again.url) as client:
            assert await client.for_workflow("parcel", "p1").await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "hold")
        assert programs.ledger().count("pack p1 1") == 1
        assert programs.ledger()[-1].startswith("ship p1")
        assert await again.stop() == 0


async def test_ctrl_c_lets_a_running_step_finish(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start()
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("hold")
            await programs.noted("hold p1 1")
        program.signal(signal.SIGINT)
        await program.says("ankka  stopping when 1 running step has ended")
        programs.open_gate()
        assert await program.exit_code() == 0
        again = await programs.start()
        async with ComponentClient(again.url) as client:
            assert await client.for_workflow("parcel", "p1").await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "hold")
        # ship was pending when the sidecar stopped: the next one cannot know that it was never sent
        assert [line.split()[0] for line in programs.ledger()] == ["pack", "hold", "ship"]
        assert await again.stop() == 0


async def test_a_step_that_outlasts_the_drain_time_runs_again_at_the_next_start(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        programs.environment["ANKKA_DRAIN"] = "100ms"
        program = await programs.start()
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("hold")
            await programs.noted("hold p1 1")
        assert await program.stop() == 0
        assert "given back to run again" in await program.errors()
        programs.open_gate()
        again = await programs.start()
        async with ComponentClient(again.url) as client:
            await client.for_workflow("parcel", "p1").await_end(SOON)
            assert (await client.for_workflow("parcel", "p1").lifecycle()).retries == {}
        assert [line.split()[0] for line in programs.ledger()] == ["pack", "hold", "hold", "ship"]
        assert await again.stop() == 0


async def test_a_thread_that_does_not_end_does_not_keep_the_process(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        programs.environment["ANKKA_DRAIN"] = "100ms"
        program = await programs.start()
        sidecar = programs.sidecar()
        assert sidecar is not None
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("stuck")
            await programs.noted("stuck p1 1")
        assert await program.stop() == 0
        assert pid_started(sidecar.pid) is None


async def test_a_second_ctrl_c_exits_at_once_with_130(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start()
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("hold")
            await programs.noted("hold p1 1")
        program.signal(signal.SIGINT)
        await program.says("ankka  stopping when 1 running step has ended")
        program.signal(signal.SIGINT)
        assert await program.exit_code() == 130


async def test_a_refused_hello_ends_it_with_1_and_the_reasons(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        program = await programs.start("parcel")
        async with ComponentClient(program.url) as client:
            await client.for_workflow("parcel", "p1").call("send").invoke("now")
            await client.for_workflow("parcel", "p1").await_end(SOON)
        other = await programs.launch("parcel-as-entity")
        assert await other.exit_code() == 1
        errors = await other.errors()
        assert "refused this process" in errors
        assert "'parcel'" in errors
        assert "Traceback" not in errors
        assert await program.stop() == 0


async def test_a_sidecar_that_cannot_start_shows_its_last_words(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        programs.folder.make()
        programs.folder.journal.write_bytes(b"this is no database, but it is long enough to be read as one" * 100)
        program = await programs.launch()
        assert await program.exit_code() == 1
        errors = await program.errors()
        assert "before it was ready" in errors
        assert str(programs.folder.log) in errors
        assert "journal.db" in errors
        assert "Traceback" not in errors.partition("before it was ready")[0]


async def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        (tmp_path / ".ankka").write_text("a file where the folder should be")
        program = await programs.launch()
        assert await program.exit_code() == 1
        errors = await program.errors()
        assert f"the folder {tmp_path / '.ankka'} cannot hold the journal" in errors
        assert "ANKKA_SIDECAR" in errors
        assert "Traceback" not in errors
