"""Memory does not grow with the ids that were ever touched, and a start does not load what is paused."""

import asyncio
import sqlite3

import psutil
import pytest

from ankka.client import ComponentClient
from tests.integration.recovery.stage import Stage
from tests.integration.support.programs import Programs, wait_for

MODULE = "tests.integration.recovery.four_steps"
MIB = 1024 * 1024


async def touch(url: str, first: int, count: int) -> None:
    """Ask each of so many ids once, 64 at a time."""
    numbers = iter(range(first, first + count))
    async with ComponentClient(url) as client:

        async def lane() -> None:
            for number in numbers:
                await client.for_workflow("walk", f"id{number}").lifecycle()

        await asyncio.gather(*(lane() for _ in range(64)))


def resident(stage: Stage) -> float:
    assert stage.sidecar is not None
    return psutil.Process(stage.sidecar.pid).memory_info().rss / MIB


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_ids_that_were_touched_once_leave_no_growth(programs: Programs) -> None:  # F95
    stage = Stage(programs, MODULE, "--passivate-after", "1s")
    asyncio.run(touch(stage.sidecar.url, 0, 20_000))  # what a warm sidecar needs, it has now
    before = resident(stage)
    asyncio.run(touch(stage.sidecar.url, 100_000, 40_000))
    asyncio.run(touch(stage.sidecar.url, 200_000, 1))
    # 40,000 machines of a kilobyte would be 40 MiB; 200,000 ids may leave 50 MiB, so these a fifth of it.
    assert resident(stage) - before < 10


@pytest.mark.slow
def test_a_start_does_not_load_paused_instances(programs: Programs) -> None:
    stage = Stage(programs, MODULE)
    assert stage.sidecar.post("walk/w0/pause", 3_600).status_code == 204
    wait_for(lambda: stage.sidecar.lifecycle("walk/w0")["status"] == "Paused", "it is paused")
    stage.sidecar.kill()
    with sqlite3.connect(programs.folder / "journal.db") as journal:
        copy_instance(journal, 20_000)
    stage.start_sidecar()
    wait_for(lambda: stage.sidecar.http.get("/readyz").status_code == 200, "the sidecar is ready again")
    empty = 60  # MiB of a sidecar over an empty journal, with room for the interpreter's own variation
    assert resident(stage) < empty
    assert stage.sidecar.lifecycle("walk/copy-19999")["status"] == "Paused"
    assert len(stage.sidecar.get("instances?status=Paused&limit=1000")["items"]) == 1_000


def copy_instance(journal: sqlite3.Connection, count: int) -> None:
    """So many paused instances with the rows of `w0`."""
    for table in ("journal", "instance"):
        columns = [row[1] for row in journal.execute(f"PRAGMA table_info({table})") if row[1] != "rowid"]
        rows = [dict(zip(columns, row, strict=True)) for row in journal.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE instance = 'w0'")]
        copies = [{**row, "instance": f"copy-{number}"} for number in range(count) for row in rows]
        marks = ", ".join(f":{column}" for column in columns)
        journal.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", copies)
