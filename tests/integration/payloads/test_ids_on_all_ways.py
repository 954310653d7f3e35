"""F67: an id of any shape goes every way there is: client, steps, streams, operators, command line, restart, deletion.

The HTTP routes of calls, and what is refused as an id, are in `tests/integration/http/test_ids.py`.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from ankka import ComponentClient, Ended
from tests.integration.cli.programs import ankka
from tests.integration.http.streams import stream_of
from tests.integration.payloads.conftest import VAULT
from tests.integration.payloads.vault import BoxEntity, LedgerEntity, VaultWorkflow
from tests.integration.support.programs import Programs, Sidecar, wait_for

SOON = timedelta(seconds=20)
IDS = [
    "a/b",
    "//",
    "a/../b",
    "...",
    "50%",
    "%2F",
    " ",
    "a?b#c&d=e",
    "日本語",
    "\U0001f469\u200d\U0001f680",
    "ankka:await",
    "e\u0301",
    "\\",
    "-x",
    "x" * 512,
    "ä" * 256,
]


@pytest.mark.parametrize("name", IDS, ids=lambda name: f"{name[:12]!a}")
async def test_the_client_and_the_steps_reach_it(vault: Sidecar, name: str) -> None:  # F67
    async with ComponentClient(vault.url) as client:
        workflow = client.for_workflow(VaultWorkflow, name)
        await workflow.call(VaultWorkflow.start).invoke("write")
        assert await workflow.await_end(SOON, reply=str) == "written"
        assert await workflow.call(VaultWorkflow.id).invoke() == name
        assert (await workflow.lifecycle()).status == "Completed"
        assert [part async for part in workflow.await_end_parts(SOON, reply=str)] == [Ended("written")]
        assert await client.for_event_sourced_entity(LedgerEntity, name).call(LedgerEntity.lines).invoke() == [name]
        box = client.for_key_value_entity(BoxEntity, name)
        assert await box.call(BoxEntity.put).invoke(name.encode()) == len(name.encode())
        assert await box.call(BoxEntity.content).invoke() == name.encode()


@pytest.mark.parametrize("name", IDS, ids=lambda name: f"{name[:12]!a}")
def test_operators_streams_and_deletion_reach_it(vault: Sidecar, name: str) -> None:  # F67
    name = f"op {name}".encode()[:512].decode(errors="ignore")
    path = f"/v1/vault/{quote(name, safe='')}"

    def status() -> str:
        found: str = vault.http.get(f"{path}/ankka:lifecycle").json()["status"]
        return found

    assert vault.http.post(f"{path}/start", json="wait").status_code == 204
    wait_for(lambda: status() == "Paused", "the pause")
    for action in ("pause", "resume", "cancel"):
        answer = vault.http.post(f"{path}/ankka:{action}")
        assert answer.is_success, answer.text
    assert status() == "Failed"
    assert vault.http.post(f"{path}/start", json="fail").status_code == 204
    assert vault.http.get(f"{path}/ankka:await").status_code == 424
    with stream_of(vault.http, path) as stream:
        assert stream.next().at == (1, "started")
    assert vault.http.delete(path).status_code == 204
    assert status() == "NotStarted"


@pytest.mark.parametrize("name", ["cli/b", "50% \U0001f680", "y" * 512])
def test_the_command_line_reaches_it(vault: Sidecar, tmp_path: Path, name: str) -> None:  # F67
    def run(*arguments: str) -> str:
        done = ankka(*arguments, "--sidecar", vault.url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("call", "vault", name, "start", "write")
    run("await", "vault", name)
    assert json.loads(run("call", "vault", name, "id")) == name
    assert f'"id":{json.dumps(name, ensure_ascii=False)}' in run("list", "vault", "--json")
    assert name in run("show", "vault", name)
    run("delete", "vault", name, "--yes")
    assert vault.http.get(f"/v1/vault/{quote(name, safe='')}/ankka:lifecycle").json()["status"] == "NotStarted"


def test_they_are_all_there_after_a_restart(programs: Programs) -> None:  # F67
    sidecar = programs.sidecar()
    programs.process(VAULT, sidecar)
    paths = [f"/v1/vault/{quote(name, safe='')}" for name in IDS]
    for path in paths:
        assert sidecar.http.post(f"{path}/start", json="wait").status_code == 204
    for path in paths:
        wait_for(lambda path=path: sidecar.http.get(f"{path}/ankka:lifecycle").json()["status"] == "Paused", path)  # type: ignore[misc]
    sidecar.kill()
    sidecar = programs.again(sidecar)
    sidecar.wait_until_ready()
    for path, name in zip(paths, IDS, strict=True):
        assert sidecar.http.get(f"{path}/ankka:lifecycle").json()["status"] == "Paused"
        assert sidecar.http.post(f"{path}/start", json="write").status_code == 204
        assert sidecar.http.get(f"{path}/ankka:await").json() == "written"
        assert sidecar.http.get(f"/v1/ledger/{quote(name, safe='')}/lines").json() == [name]
    listed = sidecar.http.get("/v1/instances", params={"component": "vault", "limit": "1000"}).json()["items"]
    assert {item["id"] for item in listed} == set(IDS)
