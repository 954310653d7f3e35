"""F72: what this version cannot read is refused, said, and left as it is; it is never taken for something that is not there."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest

from tests.integration.cli.programs import ankka
from tests.integration.http.conftest import is_problem
from tests.integration.payloads.conftest import VAULT
from tests.integration.support.programs import Programs, Sidecar, wait_for


def change(path: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    """Change a closed journal's file."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement, values in statements:
        assert connection.execute(statement, values).rowcount > 0, statement
    connection.close()


def rows_of(path: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT * FROM journal ORDER BY component, instance, generation, sequence").fetchall()
    connection.close()
    return rows


def lived(programs: Programs, *names: str) -> Sidecar:
    """A sidecar that has ended, whose journal holds a paused workflow and an entity of each name."""
    sidecar = programs.sidecar()
    process = programs.process(VAULT, sidecar)
    for name in names:
        assert sidecar.http.post(f"/v1/vault/{name}/start", json="wait").status_code == 204
        assert sidecar.http.post(f"/v1/ledger/{name}/add", json="line").json() == 1
        wait_for(lambda name=name: sidecar.http.get(f"/v1/vault/{name}/ankka:lifecycle").json()["status"] == "Paused", "the pause")  # type: ignore[misc]
    process.stop()
    sidecar.stop()
    return sidecar


@pytest.mark.parametrize("revision", [None, "0099"])
def test_a_journal_of_a_format_that_needs_newer_code_is_refused_at_start_and_left_alone(programs: Programs, revision: str | None) -> None:  # F72
    lived(programs, "v")
    path = programs.folder / "journal.db"
    change(path, ("UPDATE meta SET value = 9 WHERE name = 'min_code'", ()))
    if revision is not None:
        change(path, ("UPDATE alembic_version SET version_num = ?", (revision,)))
    before = rows_of(path)
    refused = programs.run("-m", "ankka_sidecar", "--journal", f"sqlite:///{path}", "--http", "127.0.0.1:0")
    assert refused.ended() == 1
    said = refused.output
    assert "was written by a newer version of Ankka" in said
    assert "need format 9, this version has 1; update Ankka, or use another journal" in said
    assert "Traceback" not in said
    assert rows_of(path) == before
    # the version that can read it finds all as it was
    change(path, ("UPDATE meta SET value = 1 WHERE name = 'min_code'", ()))
    sidecar = programs.sidecar()
    programs.process(VAULT, sidecar)
    assert sidecar.http.post("/v1/vault/v/start", json="write").status_code == 204
    assert sidecar.http.get("/v1/vault/v/ankka:await").json() == "written"


_FUTURE_EVENT = ("event", msgspec.msgpack.encode(["folded-in-space", 1, 2]))
_FUTURE_RECORD = ("record", msgspec.msgpack.encode(["workflow-of-2031", {"x": 1}]))
_NOISE = ("record", b"\xc1\xff\x00")
_EMPTY = ("record", b"")


@pytest.mark.parametrize(("column", "data"), [_FUTURE_EVENT, _FUTURE_RECORD, _NOISE, _EMPTY], ids=["event", "record", "noise", "empty"])
def test_an_instance_with_a_row_of_another_format_is_an_error_and_no_new_one(programs: Programs, column: str, data: bytes) -> None:  # F72 F63
    old = lived(programs, "odd", "fine")
    path = programs.folder / "journal.db"
    kept = path.with_name("kept.db")
    shutil.copy(path, kept)
    change(path, (f"UPDATE journal SET {column} = ? WHERE instance = 'odd'", (data,)))
    before = [row for row in rows_of(path) if row[1] == "odd"]
    sidecar = programs.again(old)
    process = programs.process(VAULT, sidecar)
    # a workflow's events are told and not needed: its record is the whole
    needed = ["ledger/odd/lines"] if column == "event" else ["ledger/odd/lines", "vault/odd/state", "vault/odd/ankka:lifecycle"]
    for route in needed:
        is_problem(sidecar.http.get(f"/v1/{route}"), 500, "INTERNAL", "this version cannot read", route.rpartition("/")[0])
    for component in ("ledger", "vault"):
        is_problem(sidecar.http.get(f"/v1/{component}/odd/ankka:journal"), 500, "INTERNAL", "sequence 1", "this version cannot read")
    is_problem(sidecar.http.post("/v1/ledger/odd/add", json="more"), 500, "INTERNAL", "this version cannot read")
    if column != "event":
        is_problem(sidecar.http.post("/v1/vault/odd/start", json="write"), 500, "INTERNAL", "this version cannot read")
    assert [row for row in rows_of(path) if row[1] == "odd"] == before
    # nobody else is kept by it
    assert sidecar.http.post("/v1/ledger/fine/add", json="more").json() == 2
    assert sidecar.http.post("/v1/vault/fine/start", json="write").status_code == 204
    assert sidecar.http.get("/v1/vault/fine/ankka:await").json() == "written"
    verified = ankka("journal", "verify", "--journal", f"sqlite:///{path}", cwd=programs.folder)
    assert verified.returncode == 1
    assert "odd" in verified.stdout + verified.stderr
    process.stop()
    sidecar.stop()
    # put back, it goes on where it was
    for one in (path.with_name("journal.db-wal"), path.with_name("journal.db-shm")):
        one.unlink(missing_ok=True)
    shutil.copy(kept, path)
    sidecar = programs.again(sidecar)
    programs.process(VAULT, sidecar)
    assert sidecar.http.get("/v1/ledger/odd/lines").json() == ["line"]
    assert sidecar.http.post("/v1/vault/odd/start", json="write").status_code == 204
    assert sidecar.http.get("/v1/vault/odd/ankka:await").json() == "written"
