"""Programs that are the first of their container, pid 1, with the host's name: they end when told, and are not taken for others (F81).

The kernel gives pid 1 no default for SIGTERM: a program without a handler of its own would ignore it.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.integration.support.programs import Program, Programs, wait_for

CAN_UNSHARE: Final = (
    sys.platform == "linux" and subprocess.run(["unshare", "--fork", "--pid", "true"], capture_output=True, check=False).returncode == 0
)
SERVICE: Final = "tests.integration.process_edges.edges"
SIDECAR: Final = ("-m", "ankka_sidecar", "--http", "127.0.0.1:0", "--drain", "2s")
GRACE: Final = 8.0
CONTAINER: Final = ("import os, sys; os.execvp('unshare', ['unshare', '--fork', '--pid', '--mount-proc', sys.executable, *sys.argv[1:]])",)

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.skipif(not CAN_UNSHARE, reason="a pid namespace of its own needs Linux and the right to make one"),
]


class Container:
    """A program that is pid 1 in a namespace of its own."""

    def __init__(self, programs: Programs, *arguments: str, **environment: str) -> None:
        self.outer: Program = programs.run("-c", *CONTAINER, *arguments, environment=environment)

    def first(self) -> psutil.Process:
        """The program inside, as the host sees it."""
        return wait_for(lambda: next(iter(psutil.Process(self.outer.pid).children()), None), "the container's first process")

    def stop(self) -> tuple[int, float]:
        """SIGTERM to pid 1; its exit code, which `unshare` hands on, and the seconds it took."""
        began = time.monotonic()
        self.first().send_signal(signal.SIGTERM)
        return self.outer.ended(GRACE + 5), time.monotonic() - began


def runs(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().splitlines() if path.exists() else []


def test_f81_a_sidecar_that_is_pid_one_ends_when_told(programs: Programs) -> None:
    container = Container(programs, *SIDECAR, "--journal", f"sqlite:///{programs.folder}/journal.db")
    container.outer.wait_for_output(r"listening at (http://[^, ]+)")
    code, took = container.stop()
    assert (code, took < GRACE) == (0, True)


def test_f81_a_sidecar_whose_journal_is_gone_ends_when_told(programs: Programs) -> None:
    container = Container(programs, *SIDECAR, "--journal", f"sqlite:///{programs.folder}/journal.db")
    url = container.outer.wait_for_output(r"listening at (http://[^, ]+)")[1]
    process = programs.run("-m", SERVICE, environment={"ANKKA_SIDECAR": url})
    process.wait_for_output(r"ankka  http")
    with closing(sqlite3.connect(programs.folder / "journal.db")) as other:
        other.execute("ALTER TABLE journal RENAME TO away")
    code, took = container.stop()
    assert code in {0, 1}, "it says whether all was well"
    assert took < GRACE


@pytest.mark.parametrize("sidecar_lives", [True, False])
def test_f81_a_process_that_is_pid_one_ends_when_told(programs: Programs, sidecar_lives: bool) -> None:
    sidecar = programs.sidecar()
    container = Container(programs, "-m", SERVICE, ANKKA_SIDECAR=sidecar.url, ANKKA_DRAIN="2")
    container.outer.wait_for_output(r"ankka  http")
    sidecar.wait_until_ready()
    assert sidecar.http.post("/v1/edge/e1/start", json=["sleep", 60]).status_code == 204
    wait_for(lambda: runs(programs.folder), "the step runs")
    if not sidecar_lives:
        sidecar.kill()
    code, took = container.stop()
    assert (code, took < GRACE) == (0, True)


def test_w11_a_process_of_another_container_is_not_taken_for_one_of_ours(programs: Programs) -> None:
    """Its pid 1 is not this host's: when only its connection is lost, it is not dead, and its attempt goes on."""
    sidecar = programs.sidecar("--cancel-grace", "20s")
    container = Container(programs, "-m", SERVICE, ANKKA_SIDECAR=sidecar.url)
    container.outer.wait_for_output(r"ankka  http")
    sidecar.wait_until_ready()
    assert sidecar.http.post("/v1/edge/e1/start", json=["sleep", 4]).status_code == 204
    wait_for(lambda: runs(programs.folder), "the step runs")
    sidecar.kill()
    sidecar = programs.again(sidecar)
    answer = sidecar.http.get("/v1/edge/e1/ankka:await?timeout=20", timeout=30)
    assert answer.status_code == 200, answer.text
    assert runs(programs.folder) == ["e1 sleep 1"], "one run, one attempt"
    items = sidecar.http.get("/v1/edge/e1/ankka:journal").raise_for_status().json()["items"]
    assert [item["type"] for item in items] == ["started", "ended"]
    code, _ = container.stop()
    assert code == 0
