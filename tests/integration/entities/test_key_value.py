"""Key value entities over HTTP and the client: set, get, delete, and what a kill -9 leaves."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import httpx
import pytest

from ankka import CommandError, ComponentClient, ErrorCode
from tests.integration.entities.conftest import Shelf
from tests.integration.entities.shelf import Note, NoteEntity
from tests.integration.support.programs import Programs, wait_for


def note(id: str, text: str, edits: int) -> dict[str, object]:
    return {"id": id, "text": text, "edits": edits}


def test_set_and_get_over_http(shelf: Shelf) -> None:
    assert shelf.get("note/a/read") == note("a", "", 0)
    assert shelf.get("note/a/ankka:lifecycle") == {"status": "Empty", "sequence": 0, "updatedAt": None, "expiresAt": None}
    assert shelf.post("note/a/write", "one") == note("a", "one", 1)
    assert shelf.post("note/a/write", "two") == note("a", "two", 2)
    assert shelf.get("note/a/read") == note("a", "two", 2)
    lifecycle = shelf.get("note/a/ankka:lifecycle")
    assert (lifecycle["status"], lifecycle["sequence"], lifecycle["expiresAt"]) == ("Active", 2, None)
    assert [(item["sequence"], item["type"], item["detail"]) for item in shelf.timeline("note/a")] == [
        (1, "updated", {"by": "write"}),
        (2, "updated", {"by": "write"}),
    ]
    assert shelf.listed("note") == {"a": "active"}
    shelf.is_clean()


def test_a_refusal_changes_nothing(shelf: Shelf) -> None:  # I5
    shelf.post("note/a/write", "one")
    refused = shelf.http.post("/v1/note/a/write", json="bad")
    assert (refused.status_code, refused.json()["detail"]) == (409, "no bad words")
    assert shelf.get("note/a/read") == note("a", "one", 1)
    assert shelf.get("note/a/ankka:lifecycle")["sequence"] == 1


def test_it_has_no_end_and_no_run(shelf: Shelf) -> None:
    shelf.post("note/a/write", "one")
    assert shelf.http.get("/v1/note/a/ankka:await").status_code == 400
    assert shelf.http.post("/v1/note/a/ankka:pause").status_code == 400


def test_w10_delete_by_a_command_and_by_an_operator(shelf: Shelf) -> None:
    shelf.post("note/a/write", "one")
    assert shelf.post("note/a/drop") == note("a", "", 0)
    assert shelf.get("note/a/ankka:lifecycle")["status"] == "Empty"
    assert shelf.get("note/a/read") == note("a", "", 0)
    assert shelf.listed("note") == {}
    assert shelf.post("note/a/write", "again") == note("a", "again", 1)
    assert shelf.http.delete("/v1/note/a").is_success
    assert shelf.get("note/a/read") == note("a", "", 0)
    assert [item["type"] for item in shelf.timeline("note/a")][-1] == "deleted"
    shelf.post("note/a/write", "third")
    shelf.restart()
    shelf.attach()
    assert shelf.get("note/a/read") == note("a", "third", 1)
    shelf.is_clean()


def test_the_falsy_and_the_empty_survive_a_restart(shelf: Shelf) -> None:
    for id, value in (("none", "null"), ("zero", "0")):
        answer = shelf.http.post(f"/v1/choice/{id}/set", content=value, headers={"content-type": "application/json"})
        assert answer.status_code == 204, answer.text
    shelf.restart()
    shelf.attach()
    assert [shelf.get(f"choice/{id}/read") for id in ("none", "zero", "absent")] == ["None", "0", "-1"]
    shelf.is_clean()


def test_kill_9_of_the_sidecar_keeps_what_was_acknowledged(shelf: Shelf) -> None:
    for number in range(5):
        shelf.post("note/a/write", f"text {number}")
    shelf.restart()
    wait_for(lambda: shelf.sidecar.is_ready, "the process attaches again by itself")
    assert shelf.get("note/a/read") == note("a", "text 4", 5)
    assert shelf.post("note/a/write", "on") == note("a", "on", 6)
    shelf.is_clean()


def test_updates_are_without_limit_and_the_oldest_leave_the_journal(programs: Programs) -> None:
    shelf = Shelf(programs, "--max-journal-events", "20")
    for number in range(1, 51):
        assert shelf.post("note/a/write", f"text {number}")["edits"] == number
    wait_for(lambda: len(shelf.timeline("note/a")) == 21, "the first one and the newest 20")
    assert [item["sequence"] for item in shelf.timeline("note/a")] == [1, *range(31, 51)]
    shelf.restart()
    shelf.sidecar.wait_until_ready()
    assert shelf.get("note/a/read") == note("a", "text 50", 50)
    assert shelf.post("note/a/write", "on")["edits"] == 51
    shelf.is_clean()


def test_kill_9_of_the_process_keeps_it_too(shelf: Shelf) -> None:
    shelf.post("note/a/write", "one")
    shelf.process.kill()
    shelf.attach()
    assert shelf.post("note/a/write", "two") == note("a", "two", 2)
    shelf.is_clean()


@pytest.mark.parametrize(("point", "kept"), [("append.before:3", 2), ("append.after:3", 3)])
def test_kill_9_around_the_commit_leaves_it_whole_or_not_at_all(programs: Programs, point: str, kept: int) -> None:
    sidecar = programs.sidecar(environment={"ANKKA_FAULTS": f"{point}=kill"})
    programs.process("tests.integration.entities.shelf", sidecar)
    for number in (1, 2):
        assert sidecar.http.post("/v1/note/a/write", json=f"text {number}").json() == note("a", f"text {number}", number)
    with pytest.raises(httpx.TransportError):
        sidecar.http.post("/v1/note/a/write", json="text 3")
    assert sidecar.ended() == -9
    arguments = {name: value for name, value in sidecar.environment.items() if name != "ANKKA_FAULTS"}
    again = programs.sidecar(environment=arguments)
    programs.process("tests.integration.entities.shelf", again)
    assert again.http.get("/v1/note/a/read").json() == note("a", f"text {kept}", kept)
    assert again.http.get("/v1/note/a/ankka:lifecycle").json()["sequence"] == kept


def test_its_lifecycle_and_its_deletion_need_no_process(shelf: Shelf) -> None:
    shelf.post("note/a/write", "one")
    shelf.process.kill()
    shelf.restart(stop=True)
    assert shelf.get("note/a/ankka:lifecycle")["status"] == "Active"
    assert [item["type"] for item in shelf.timeline("note/a")] == ["updated"]
    assert shelf.http.delete("/v1/note/a").is_success
    shelf.attach()
    assert shelf.get("note/a/read") == note("a", "", 0)
    shelf.is_clean()


def test_the_journal_holds_each_state_once_and_no_snapshot(shelf: Shelf) -> None:
    shelf.post("note/a/write", "one")
    shelf.post("note/a/drop")
    shelf.post("note/a/write", "two")
    with closing(sqlite3.connect(shelf.programs.folder / "journal.db")) as journal:
        rows = journal.execute("SELECT type, payload, manifest FROM journal WHERE component = 'note' ORDER BY generation, sequence").fetchall()
        assert journal.execute("SELECT count(*) FROM snapshot").fetchone() == (0,)
    assert rows[-1] == ("updated", b'{"id":"a","text":"two","edits":1}', "note")


async def test_the_client_by_class_and_by_name(shelf: Shelf) -> None:
    async with ComponentClient(shelf.sidecar.url) as client:
        typed = client.for_key_value_entity(NoteEntity, "a")
        assert await typed.call(NoteEntity.write).invoke("one") == Note("a", "one", 1)
        assert await client.for_key_value_entity("note", "a").call("read").invoke(reply=Note) == Note("a", "one", 1)
        assert await client.for_key_value_entity("desk", "d").call("copy").invoke("a", reply=str) == "one"
        with pytest.raises(CommandError) as refused:
            await client.for_event_sourced_entity("note", "a").call("read").invoke(reply=Note)
        with pytest.raises(CommandError, match="'note' is of the kind key-value-entity, not workflow"):
            await client.for_workflow("note", "a").lifecycle()
        with pytest.raises(CommandError, match="'note' is of the kind key-value-entity, not workflow"):
            await client.for_workflow("note", "a").await_end(timedelta(seconds=5))
    assert refused.value.error.code is ErrorCode.BAD_REQUEST
    assert "use the client's for_key_value_entity" in refused.value.error.message


def test_its_component_id_cannot_become_another_kinds(shelf: Shelf) -> None:
    shelf.post("note/a/write", "one")
    shelf.process.kill()
    shelf.restart()
    assert shelf.get("note/a/ankka:lifecycle")["status"] == "Active"
    other = shelf.programs.run("-m", "tests.integration.entities.note_of_events", environment={"ANKKA_SIDECAR": shelf.sidecar.url})
    assert other.ended() == 1
    assert "'note' is of the kind event-sourced-entity here, but key-value-entity in the journal" in other.output
