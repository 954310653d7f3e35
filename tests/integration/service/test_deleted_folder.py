"""A journal that is deleted under its sidecar: nothing is answered as journalled for long that no start will find."""

import json
import os
import shutil
import signal
from datetime import timedelta

from ankka import ComponentClient
from ankka.protocol.process_identity import pid_started
from tests.integration.service.folder_programs import FolderPrograms, url_of
from tests.integration.service.parcels import Parcel
from tests.integration.support.programs import wait_for

SOON = timedelta(seconds=20)


async def test_the_process_says_so_and_goes_on_with_an_empty_journal(programs: FolderPrograms) -> None:
    program = programs.start()
    before = programs.running_sidecar()
    async with ComponentClient(url_of(program)) as client:
        await client.for_workflow("parcel", "p1").call("send").invoke("hold")
        programs.noted("hold p1 1")
    shutil.rmtree(programs.own.path)
    after = programs.sidecar_after(before)
    wait_for(lambda: pid_started(before.pid) is None, "the end of the sidecar that lost its journal")
    program.wait_for_output("a new sidecar with an empty journal was started")
    said = (
        f"ERROR:ankka:{programs.own.journal} was deleted while this process ran: what was in it is lost; "
        f"a new sidecar with an empty journal was started at {after.url}"
    )
    assert program.output.splitlines()[1:] == [said]
    assert programs.running_sidecar() == after, "the one that ended left the file of the other alone"
    programs.open_gate()
    async with ComponentClient(after.url) as client:
        parcel = client.for_workflow("parcel", "p1")
        assert await parcel.call("status").invoke(reply=Parcel) == Parcel("p1")
        await parcel.call("send").invoke("now")
        assert await parcel.await_end(SOON, reply=Parcel) == Parcel("p1", "shipped", "now")
    assert program.interrupt() == 0
    assert pid_started(after.pid) is None


def test_a_process_that_stops_then_says_so_and_ends(programs: FolderPrograms) -> None:
    program = programs.start()
    sidecar = programs.running_sidecar()
    os.kill(sidecar.pid, signal.SIGSTOP)  # or it might have looked already, and been followed by another
    shutil.rmtree(programs.own.path)
    program.send(signal.SIGINT)
    said = rf"was deleted while this process ran: what was in it is lost; its sidecar \(pid {sidecar.pid}\) ends by itself"
    program.wait_for_output(said)
    os.kill(sidecar.pid, signal.SIGCONT)
    assert program.ended() == 0
    wait_for(lambda: pid_started(sidecar.pid) is None, "the end of the sidecar")
    assert not programs.own.path.exists()


def test_a_sidecar_whose_journal_is_replaced_ends_and_says_so(programs: FolderPrograms) -> None:
    sidecar = programs.sidecar()
    sidecar.wait_for_output("listening at")
    journal = programs.folder / "journal.db"
    shutil.copyfile(journal, programs.folder / "backup.db")
    (programs.folder / "backup.db").replace(journal)
    assert sidecar.ended() == 1
    assert f"CRITICAL ankka.sidecar the journal {journal} was replaced by another file while this sidecar used it" in sidecar.output
    assert "Traceback" not in sidecar.output


def test_a_sidecar_leaves_the_file_of_the_one_that_followed_it(programs: FolderPrograms) -> None:
    file = programs.folder / "sidecar.json"
    sidecar = programs.sidecar("--embedded", str(file))
    sidecar.wait_for_output("listening at")
    of_another = json.loads(file.read_bytes()) | {"pid": os.getpid()}
    file.write_text(json.dumps(of_another), encoding="utf-8")
    assert sidecar.stop() == 0
    assert json.loads(file.read_bytes()) == of_another
