"""`start()` with the folder's own sidecar, as real programs: started, joined, healed, stopped, found again (API §1)."""

import json
import os
import signal
import stat
from datetime import timedelta

import pytest

from ankka import CommandError, ComponentClient, ErrorCode
from ankka.protocol.process_identity import pid_started
from tests.integration.service.folder_programs import FolderPrograms, attached_line, url_of
from tests.integration.service.parcels import DepotEntity, Parcel, ParcelWorkflow
from tests.integration.support.programs import wait_for

SOON = timedelta(seconds=20)


async def test_start_works_without_a_sidecar_and_leaves_nothing_running(programs: FolderPrograms) -> None:
    program = programs.start("parcel", "depot")
    sidecar = programs.running_sidecar()
    attached = attached_line(program)
    assert attached == f"ankka  {sidecar.url}  console /console/  journal ./.ankka/journal.db  components parcel, depot"
    written = json.loads(programs.own.sidecar_file.read_bytes())
    assert set(written) == {"http", "pid", "incarnation", "version", "journal", "startedAt"}
    assert stat.S_IMODE(programs.own.sidecar_file.stat().st_mode) == 0o600
    async with ComponentClient(url_of(program)) as client:
        parcel = client.for_workflow(ParcelWorkflow, "p 1")
        await parcel.call(ParcelWorkflow.send).invoke("depot")
        assert await parcel.await_end(SOON, reply=Parcel) == Parcel("p 1", "shipped", "depot")
        assert await client.for_event_sourced_entity(DepotEntity, "main").call(DepotEntity.stored).invoke() == 1
        with pytest.raises(CommandError, match="sent already") as raised:
            await client.for_workflow("parcel", "p 1").call("send").invoke("depot")
        assert raised.value.error.code is ErrorCode.CONFLICT
    assert program.interrupt() == 0
    assert program.output == f"{attached}\nended {program.pid}\n"
    assert pid_started(sidecar.pid) is None, "the last process stops the sidecar and waits for it"
    assert not programs.own.sidecar_file.exists()


def test_sigterm_ends_it_with_0_too(programs: FolderPrograms) -> None:
    program = programs.start()
    sidecar = programs.running_sidecar()
    program.send(signal.SIGTERM)
    assert program.ended() == 0
    assert pid_started(sidecar.pid) is None


async def test_the_next_start_finds_the_state(programs: FolderPrograms) -> None:
    program = programs.start()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("now")
        await client.for_workflow("parcel", "p1").await_end(SOON)
    assert program.interrupt() == 0
    again = programs.start()
    async with ComponentClient(url_of(again)) as client:
        assert await client.for_workflow("parcel", "p1").call("status").invoke(reply=Parcel) == Parcel("p1", "shipped", "now")
    assert again.interrupt() == 0


async def test_a_second_process_of_the_folder_joins_and_the_last_one_stops_the_sidecar(programs: FolderPrograms) -> None:
    parcels = programs.start("parcel")
    depot = programs.start("depot")
    sidecar = programs.running_sidecar()
    assert url_of(parcels) == url_of(depot)
    async with ComponentClient(url_of(depot)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("depot")
        await client.for_workflow("parcel", "p1").await_end(SOON)
        assert parcels.interrupt() == 0
        assert pid_started(sidecar.pid) is not None
        assert await client.for_event_sourced_entity("depot", "main").call("stored").invoke(reply=int) == 1
    assert depot.interrupt() == 0
    assert pid_started(sidecar.pid) is None


def test_processes_that_start_at_once_share_one_sidecar(programs: FolderPrograms) -> None:
    started = [programs.launch("parcel"), programs.launch("depot"), programs.launch("parcel")]
    assert len({url_of(program) for program in started}) == 1
    assert [program.interrupt() for program in started] == [0, 0, 0]


@pytest.mark.chaos
async def test_a_killed_sidecar_heals_and_a_running_step_is_taken_up(programs: FolderPrograms) -> None:
    # W11: a lost connection is not a lost process; the step that runs goes on, and no step runs twice
    program = programs.start("parcel")
    other = programs.start("depot")
    before = programs.running_sidecar()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("hold")
        programs.noted("hold p1 1")
        os.kill(before.pid, signal.SIGKILL)
        after = programs.sidecar_after(before)
        assert after.url == before.url, "the old port was free"
        programs.open_gate()
        assert await client.for_workflow("parcel", "p1").await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "hold")
        assert await client.for_event_sourced_entity("depot", "main").call("stored").invoke(reply=int) == 0
    assert programs.ledger() == ["pack p1 1", "hold p1 1", "ship p1 1"]
    assert (program.interrupt(), other.interrupt()) == (0, 0)
    assert pid_started(after.pid) is None


async def test_a_sidecar_that_was_told_to_stop_is_started_again_while_processes_need_it(programs: FolderPrograms) -> None:
    program = programs.start("parcel")
    before = programs.running_sidecar()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("now")
        await client.for_workflow("parcel", "p1").await_end(SOON)
        os.kill(before.pid, signal.SIGTERM)
        after = programs.sidecar_after(before)
    async with ComponentClient(after.url) as client:
        assert await client.for_workflow("parcel", "p1").call("status").invoke(reply=Parcel) == Parcel("p1", "shipped", "now")
    assert program.interrupt() == 0
    assert pid_started(after.pid) is None


@pytest.mark.chaos
def test_the_sidecar_leaves_by_itself_after_its_last_process_was_killed(programs: FolderPrograms) -> None:
    program = programs.start()
    sidecar = programs.running_sidecar()
    program.kill()
    wait_for(lambda: pid_started(sidecar.pid) is None, "the sidecar leaves", 25)
    assert not programs.own.sidecar_file.exists()


@pytest.mark.chaos
async def test_a_folder_whose_sidecar_and_process_were_killed_starts_again(programs: FolderPrograms) -> None:
    program = programs.start()
    sidecar = programs.running_sidecar()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("hold")
        programs.noted("hold p1 1")
    os.kill(sidecar.pid, signal.SIGKILL)
    program.kill()
    assert programs.own.sidecar_file.exists(), "nobody was left to remove it"
    programs.open_gate()
    again = programs.start()
    async with ComponentClient(url_of(again)) as client:
        assert await client.for_workflow("parcel", "p1").await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "hold")
    assert programs.ledger().count("pack p1 1") == 1
    assert programs.ledger()[-1].startswith("ship p1")
    assert again.interrupt() == 0


async def test_ctrl_c_lets_a_running_step_finish(programs: FolderPrograms) -> None:
    program = programs.start()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("hold")
        programs.noted("hold p1 1")
    program.send(signal.SIGINT)
    program.wait_for_output("ankka  stopping when 1 running step has ended")
    programs.open_gate()
    assert program.ended() == 0
    again = programs.start()
    async with ComponentClient(url_of(again)) as client:
        assert await client.for_workflow("parcel", "p1").await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "hold")
    # ship was pending when the sidecar stopped: the next one cannot know that it was never sent
    assert [line.split()[0] for line in programs.ledger()] == ["pack", "hold", "ship"]
    assert again.interrupt() == 0


async def test_a_step_that_outlasts_the_drain_time_runs_again_at_the_next_start(programs: FolderPrograms) -> None:
    programs.environment["ANKKA_DRAIN"] = "100ms"
    program = programs.start()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("hold")
        programs.noted("hold p1 1")
    assert program.interrupt() == 0
    assert "given back to run again" in program.output
    programs.open_gate()
    again = programs.start()
    async with ComponentClient(url_of(again)) as client:
        await client.for_workflow("parcel", "p1").await_end(SOON)
        assert (await client.for_workflow("parcel", "p1").lifecycle()).retries == {}
    assert [line.split()[0] for line in programs.ledger()] == ["pack", "hold", "hold", "ship"]
    assert again.interrupt() == 0


async def test_a_thread_that_does_not_end_does_not_keep_the_process(programs: FolderPrograms) -> None:
    programs.environment["ANKKA_DRAIN"] = "100ms"
    program = programs.start()
    sidecar = programs.running_sidecar()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("stuck")
        programs.noted("stuck p1 1")
    assert program.interrupt() == 0
    assert pid_started(sidecar.pid) is None


async def test_a_second_ctrl_c_exits_at_once_with_130(programs: FolderPrograms) -> None:
    program = programs.start()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("hold")
        programs.noted("hold p1 1")
    program.send(signal.SIGINT)
    program.wait_for_output("ankka  stopping when 1 running step has ended")
    program.send(signal.SIGINT)
    assert program.ended() == 130


async def test_a_refused_hello_ends_it_with_1_and_the_reasons(programs: FolderPrograms) -> None:
    program = programs.start("parcel")
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("now")
        await client.for_workflow("parcel", "p1").await_end(SOON)
    other = programs.launch("parcel-as-entity")
    assert other.ended() == 1
    errors = other.output
    assert "refused this process" in errors
    assert "'parcel'" in errors
    assert "Traceback" not in errors
    assert program.interrupt() == 0


def test_a_sidecar_that_cannot_start_shows_its_last_words(programs: FolderPrograms) -> None:
    programs.own.make()
    programs.own.journal.write_bytes(b"this is no database, but it is long enough to be read as one" * 100)
    program = programs.launch()
    assert program.ended() == 1
    errors = program.output
    assert "before it was ready" in errors
    assert str(programs.own.log) in errors
    assert "journal.db" in errors
    assert "Traceback" not in errors.partition("before it was ready")[0]


def test_a_folder_that_cannot_be_used_is_said(programs: FolderPrograms) -> None:
    (programs.folder / ".ankka").write_text("a file where the folder should be")
    program = programs.launch()
    assert program.ended() == 1
    errors = program.output
    assert f"the folder {programs.folder / '.ankka'} cannot hold the journal" in errors
    assert "ANKKA_SIDECAR" in errors
    assert "Traceback" not in errors
