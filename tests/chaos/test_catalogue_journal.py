"""The journal's cases of the list, with real programs: crashes behind a commit, a store that fails first, pages, long histories."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from typing import Any

import httpx
import msgspec
import psutil
import pytest
from ankka_sidecar.core.events import Persisted, decode_event
from ankka_sidecar.core.records import EntityRecord, decode_record

from ankka.protocol.wire import encode_value
from tests.chaos.catalogue_stand import Catalogue
from tests.integration.support.programs import Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow]

GRACE = ("--cancel-grace", "1s")
MOST = 100_000
"""The default of max-journal-events."""


@pytest.mark.parametrize("fault", ["append.after:1", "reply.before-send:1", "step.before-send:1"])
def test_w2_a_step_that_was_journalled_and_not_sent_runs_after_a_restart(programs: Programs, fault: str) -> None:  # F45
    """The sidecar dies between the start's commit and its reply, or between the reply and the step that is sent."""
    stand = Catalogue(programs, *GRACE, faults=f"{fault}=kill")
    stand.process()
    with pytest.raises(httpx.TransportError):  # a reply that was handed over just before is not written either
        stand.start("j", "plain")
    stand.died()
    stand.restart()
    stand.until_runs("j", "plain")  # nobody asks for the instance
    assert stand.ended("j") == ["start", "plain"]
    assert [kind for kind in stand.kinds("j") if kind != "interrupted"] == ["started", "ended"]
    assert stand.runs() == {("j", "plain"): 1}
    assert stand.lifecycle("j")["retries"] == {}
    stand.check()


@pytest.mark.parametrize("visit", [9, 10, 11])
def test_w2_steps_run_though_the_sidecar_dies_right_behind_a_commit(programs: Programs, visit: int) -> None:  # F45
    """It may be that of a start, or of a step's end: what was acknowledged or is in the journal is done, once."""
    stand = Catalogue(programs, *GRACE, faults=f"commit.after:{visit}=kill")
    stand.process()
    started: list[str] = []
    with suppress(httpx.TransportError):
        while len(started) < 20:
            stand.start(f"j{len(started)}", "plain")
            started.append(f"j{len(started)}")
    stand.died()
    stand.restart()
    for name in started:
        stand.until_runs(name, "plain")  # nobody asks for the instance
    last = f"j{len(started)}"
    if stand.lifecycle(last)["status"] != "NotStarted":
        started.append(last)  # it was not told so, but it is in the journal
    assert started
    for name in started:
        assert stand.ended(name) == ["start", "plain"]
        assert [kind for kind in stand.kinds(name) if kind != "interrupted"] == ["started", "ended"]
    assert stand.runs() == {(name, "plain"): 1 for name in started}
    stand.check()


@pytest.mark.parametrize("fault", ["append.after:2", "append.after:3", "append.after:4", "ack.before-send:1"])
def test_w4_what_was_journalled_goes_on_and_is_not_done_again(programs: Programs, fault: str) -> None:  # F45
    """Two instances, each a step that leads to another; the sidecar dies right behind the commit of one of those effects."""
    stand = Catalogue(programs, *GRACE, faults=f"{fault}=kill")
    stand.process()
    for name in ("a", "b"):
        with suppress(httpx.TransportError):
            stand.start(name, "nap", "100")
    stand.died()
    stand.restart()
    stand.sidecar.wait_until_ready()
    if stand.lifecycle("b")["status"] == "NotStarted":
        stand.start("b", "nap", "100")
    for name in ("a", "b"):
        assert stand.ended(name)[0] == "start"
        assert [kind for kind in stand.kinds(name) if kind != "interrupted"] == ["started", "paused", "resumed", "ended"]
        assert stand.lifecycle(name)["retries"] == {}
    assert stand.runs() == {("a", "nap"): 1, ("a", "late"): 1, ("b", "nap"): 1, ("b", "late"): 1}
    stand.check()


def test_a_journal_that_cannot_be_read_at_first_is_read_by_the_next_command(programs: Programs) -> None:  # F61
    """The first load after a start fails, as the table is not there; then it is, and nothing is started again."""
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "rest")
    stand.until_status("j", "Paused")
    stand.restart()
    stand.sidecar.wait_until_ready()
    with closing(sqlite3.connect(stand.folder / "journal.db")) as other:
        other.execute("ALTER TABLE journal RENAME TO away")
        refused = stand.post("j/note")
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE"), refused.text
        assert "cannot be read now" in refused.json()["detail"]
        assert stand.post("other/start", ["plain"]).status_code == 503
        other.execute("ALTER TABLE away RENAME TO journal")
    assert stand.post("j/note").status_code == 204
    stand.start("other", "plain")
    assert stand.ended("other") == ["start", "plain"]
    assert stand.post("j/finish").status_code == 204
    assert stand.ended("j") == ["start", "plain"]
    assert stand.kinds("j") == ["started", "paused", "updated", "transitioned", "ended"]
    stand.check()


def test_pages_of_a_journal_that_grows_miss_nothing(programs: Programs) -> None:  # F62
    """A reader follows `next`, and at the end begins again behind the last item, while three callers append."""
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "rest")
    stand.until_status("j", "Paused")
    stopped = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not stopped.is_set():
            written.append(stand.post("j/note").status_code)

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    seen: list[dict[str, Any]] = []
    try:
        while len(seen) < 600:
            seen += _pages_behind(stand, seen, limit=7)
    finally:
        stopped.set()
        for writer in writers:
            writer.join()
    seen += _pages_behind(stand, seen, limit=7)
    assert set(written) == {204}
    assert [item["sequence"] for item in seen] == list(range(1, len(written) + 3))
    assert seen == _pages_behind(stand, [], limit=1_000)
    stand.check()


def _pages_behind(stand: Catalogue, seen: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """All that is behind the last one seen, page by page."""
    after = f"{seen[-1]['generation']}:{seen[-1]['sequence']}" if seen else ""
    items: list[dict[str, Any]] = []
    while True:
        page = stand.get(f"j/ankka:journal?limit={limit}&after={after}")
        items += page["items"]
        if page["next"] is None:
            return items
        after = page["next"]


def test_a_history_of_100000_effects_loads_from_its_snapshot_and_ends_at_its_limit(programs: Programs) -> None:  # F65
    stand = Catalogue(programs)
    stand.process()
    for _ in range(150):  # a snapshot is taken at 100
        assert stand.sidecar.http.post("/v1/tally/t/add", json=1).status_code == 200
    wait_for(lambda: _count(stand, "snapshot") == 1, "the snapshot")
    assert stand.sidecar.stop() == 0
    _lengthen(stand, MOST - 2)
    stand.restart()
    stand.sidecar.wait_until_ready()
    before = psutil.Process(stand.sidecar.pid).memory_info().rss
    begin = time.monotonic()
    answer = stand.sidecar.http.get("/v1/tally/t/sum")
    took = time.monotonic() - begin
    assert (answer.status_code, answer.json()) == (200, MOST - 2)
    assert took < 3, f"{took:.2f} s"
    assert psutil.Process(stand.sidecar.pid).memory_info().rss - before < 30_000_000
    for total in (MOST - 1, MOST):
        assert stand.sidecar.http.post("/v1/tally/t/add", json=1).json() == total
    refused = stand.sidecar.http.post("/v1/tally/t/add", json=1)
    assert (refused.status_code, refused.json()["code"]) == (429, "RESOURCE_EXHAUSTED")
    assert "has 100,000 effects and takes no more (max-journal-events 100,000)" in refused.json()["detail"]
    assert stand.sidecar.http.get("/v1/tally/t/sum").json() == MOST, "it can still be read"
    assert _count(stand, "journal") == MOST
    assert stand.sidecar.stop() == 0
    with closing(sqlite3.connect(stand.folder / "journal.db")) as journal, journal:
        journal.execute("DELETE FROM snapshot")
    stand.restart()
    stand.sidecar.wait_until_ready()
    assert stand.sidecar.http.get("/v1/tally/t/sum").json() == MOST, "it is the same without a snapshot"
    stand.check()


def _count(stand: Catalogue, table: str) -> int:
    with closing(sqlite3.connect(stand.folder / "journal.db")) as journal:
        return int(journal.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # one of ours


def _lengthen(stand: Catalogue, length: int) -> None:
    """Copy the newest row of the tally until it has `length` effects; its snapshot is that of 50 effects before the end."""
    with closing(sqlite3.connect(stand.folder / "journal.db")) as journal:
        journal.row_factory = sqlite3.Row
        last = dict(journal.execute("SELECT * FROM journal WHERE component = 'tally' ORDER BY sequence DESC LIMIT 1").fetchone())
        record, event = decode_record(last["record"]), decode_event(last["event"])
        assert isinstance(record, EntityRecord)
        assert isinstance(event, Persisted)
        assert len(event.events) == 1
        columns = ", ".join(f'"{name}"' for name in last)
        copies = (
            {**last, "sequence": sequence, "effect": sequence, "record": encode_value(msgspec.structs.replace(record, sequence=sequence))}
            for sequence in range(record.sequence + 1, length + 1)
        )
        marks = ", ".join(f":{name}" for name in last)
        with journal:
            journal.executemany(f"INSERT INTO journal ({columns}) VALUES ({marks})", copies)  # its own columns
            journal.execute("UPDATE instance SET sequence = ? WHERE component = 'tally'", (length,))
            journal.execute("UPDATE snapshot SET sequence = ?, payload = ?", (length - 50, str(length - 50).encode()))
