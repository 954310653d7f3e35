"""F74: a pickle in storage or on the wire runs nothing: not in the sidecar, not in the process, not in the tools."""

from __future__ import annotations

import ast
import base64
import pickle
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.sync.connection import Connection
from websockets.sync.server import ServerConnection, serve

from ankka.protocol.frames import SESSION_PATH
from tests.integration.cli.programs import ankka
from tests.integration.payloads.conftest import VAULT
from tests.integration.support.programs import ROOT, Programs, wait_for


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.canary,)


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A file that must not be there when the test is done."""
    path = tmp_path / "canary"
    yield path
    assert not path.exists(), "a pickle was run"


def bombs(canary: Path) -> list[bytes]:
    """Pickles of every protocol."""
    return [pickle.dumps(Bomb(canary), protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]


def test_the_pickles_of_these_tests_would_be_noticed(tmp_path: Path) -> None:
    for number, bomb in enumerate(bombs(tmp_path / "noticed")):
        pickle.loads(bomb)
        assert (tmp_path / "noticed").exists(), number
        (tmp_path / "noticed").unlink()


BODIES = ["application/json", "application/octet-stream", "text/plain", "application/x-python-pickle", "application/python-pickle", ""]


def test_in_a_body_of_any_type_to_any_handler(programs: Programs, canary: Path) -> None:  # F74
    sidecar = programs.sidecar()
    process = programs.process(VAULT, sidecar)
    routes = ["ledger/a/add", "box/a/put", "vault/a/start", "vault/a/nothing", "nothing/a/b", "vault/a/ankka:cancel", "ledger/a/lines"]
    for bomb in bombs(canary):
        for data in (bomb, base64.b64encode(bomb), b'"' + base64.b64encode(bomb) + b'"', b'{"py/reduce":[]}'):
            for route in routes:
                for kind in BODIES:
                    headers = {"content-type": kind} if kind else {}
                    answer = sidecar.http.post(f"/v1/{route}", content=data, headers={**headers, "Idempotency-Key": f"{route} {kind} {hash(data)}"})
                    # a text may be the name of a step that is not there
                    assert answer.status_code < 500 or route == "vault/a/start", answer.text
        # bytes are bytes: what a user stores comes back as it was
        assert sidecar.http.post("/v1/box/b/put", content=bomb, headers={"content-type": "application/octet-stream"}).json() == len(bomb)
        assert sidecar.http.get("/v1/box/b/content", headers={"accept": "application/octet-stream"}).content == bomb
    assert process.running.poll() is None


def until_closed(session: Connection) -> None:
    """Read on until the other side closes it."""
    with suppress(ConnectionClosed):
        while True:
            session.recv(timeout=10)


def test_as_frames_of_a_session_to_the_sidecar(programs: Programs, canary: Path) -> None:  # F74
    sidecar = programs.sidecar()
    for bomb in bombs(canary):
        for message in (bomb, b"\x91" + bomb, base64.b64encode(bomb).decode()):
            with connect(f"ws://127.0.0.1:{sidecar.port}{SESSION_PATH}") as session:
                session.send(message)
                until_closed(session)
    programs.process(VAULT, sidecar)
    assert sidecar.http.post("/v1/ledger/a/add", json="line").json() == 1


def test_as_frames_of_a_session_to_the_process(programs: Programs, canary: Path) -> None:  # F74
    seen = threading.Event()
    waiting = bombs(canary)

    def answer(session: ServerConnection) -> None:
        session.recv(timeout=10)  # its hello
        session.send(waiting.pop())
        if not waiting:
            seen.set()
        until_closed(session)

    plug = socket.create_server(("127.0.0.1", 0))
    with serve(answer, sock=plug) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        process = programs.run("-m", VAULT, environment={"ANKKA_SIDECAR": f"http://127.0.0.1:{plug.getsockname()[1]}"})
        wait_for(lambda: seen.is_set() or process.running.poll() is not None, "all pickles to be sent, or its end")
        process.kill()
        server.shutdown()
        thread.join()


def blobs() -> list[tuple[str, str]]:
    """Every column of every table that may hold bytes."""
    script = (ROOT / "sidecar/ankka_sidecar/adapters/journal/sqlite/schema.sql").read_text()
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})") if row[2] == "BLOB"]
    connection.close()
    return found


def test_all_the_blobs_are_known() -> None:
    assert {column for table, column in blobs() if table == "journal"} >= {"event", "record", "reply", "payload", "key", "fingerprint"}
    assert ("snapshot", "payload") in blobs()


def ask_for_everything(http: httpx.Client, name: str) -> None:
    """Whatever the answers are, all that is stored of the instance is read, and written where that goes."""
    for component, handler in (("ledger", "lines"), ("box", "content"), ("vault", "state")):
        for route in (handler, "ankka:lifecycle", "ankka:journal"):
            http.get(f"/v1/{component}/{name}/{route}")
    http.post(f"/v1/ledger/{name}/add", json="a", headers={"Idempotency-Key": f"key {name}"})
    http.post(f"/v1/box/{name}/put", content=b"b", headers={"content-type": "application/octet-stream", "Idempotency-Key": f"key {name}"})
    http.post(f"/v1/vault/{name}/start", json="write", headers={"Idempotency-Key": f"key {name}"})
    http.get(f"/v1/vault/{name}/ankka:await", params={"timeout": "0.1"})
    http.get("/v1/instances", params={"limit": "1000"})


def live(http: httpx.Client, name: str) -> None:
    """Instances of every kind, with replies by key and a snapshot."""
    keyed = {"Idempotency-Key": f"key {name}"}
    assert http.post(f"/v1/ledger/{name}/add", json="a", headers=keyed).json() == 1
    for _ in range(3):
        http.post(f"/v1/ledger/{name}/add", json="line")
    assert http.post(f"/v1/box/{name}/put", content=b"b", headers={"content-type": "application/octet-stream", **keyed}).json() == 1
    assert http.post(f"/v1/vault/{name}/start", json="wait", headers=keyed).status_code == 204
    wait_for(lambda: http.get(f"/v1/vault/{name}/ankka:lifecycle").json()["status"] == "Paused", "the pause")


def test_in_every_column_that_holds_bytes(programs: Programs, canary: Path) -> None:  # F74
    sidecar = programs.sidecar()
    process = programs.process(VAULT, sidecar)
    columns = blobs()
    names = [f"{table}-{column}" for table, column in columns]
    for name in [*names, "all", "typed", "fine"]:
        live(sidecar.http, name)
    process.stop()
    sidecar.stop()
    path = programs.folder / "journal.db"
    connection = sqlite3.connect(path, isolation_level=None)
    (bomb, *_) = reversed(bombs(canary))
    for (table, column), name in zip(columns, names, strict=True):
        # a key is told from others by its bytes
        value = f'CASE WHEN "{column}" IS NULL THEN NULL ELSE CAST(? || component || instance AS BLOB) END' if column == "key" else "?"
        for one in (name, "all"):
            done = connection.execute(f'UPDATE {table} SET "{column}" = {value} WHERE instance = ?', (bomb, one))
            assert done.rowcount > 0 or column == "key", (table, column)
    for column in ("payload", "reply"):  # with a type that says what it is
        connection.execute(f"UPDATE journal SET {column} = ? WHERE instance = 'typed' AND {column} IS NOT NULL", (bomb,))
    connection.execute("UPDATE journal SET content_type = 'application/x-python-pickle', manifest = 'pickle' WHERE instance = 'typed'")
    connection.execute("UPDATE snapshot SET payload = ?, content_type = 'application/x-python-pickle' WHERE instance = 'typed'", (bomb,))
    connection.close()
    for _ in range(2):
        sidecar = programs.again(sidecar)
        process = programs.process(VAULT, sidecar)
        for name in [*names, "all", "typed"]:
            ask_for_everything(sidecar.http, name)
        assert sidecar.http.post("/v1/ledger/fine/add", json="line").status_code == 200
        assert ankka("list", "--json", "--sidecar", sidecar.url, cwd=programs.folder).returncode == 0
        assert process.stop() == 0
        assert sidecar.stop() == 0
        ankka("journal", "verify", "--journal", f"sqlite:///{path}", cwd=programs.folder)


def test_nothing_that_unpickles_is_imported() -> None:  # F74
    forbidden = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "joblib"}
    read = 0
    for path in [*(ROOT / "ankka").rglob("*.py"), *(ROOT / "sidecar").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not forbidden & {name.partition(".")[0] for name in names}, f"{path}:{getattr(node, 'lineno', 0)}"
        read += 1
    assert read > 200
