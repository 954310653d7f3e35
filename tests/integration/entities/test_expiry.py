"""`expire_after` of both kinds: the deadline is in the journal, so neither a restart nor an idle node loses it."""

import sqlite3
import time
from contextlib import closing
from datetime import datetime
from typing import Any

import pytest

from tests.integration.entities.conftest import Shelf
from tests.integration.support.programs import wait_for

pytestmark = pytest.mark.parametrize(("path", "empty"), [("note/a", {"id": "a", "text": "", "edits": 0}), ("tally/a", 0)])


def lend(shelf: Shelf, path: str) -> datetime:
    """Change it, for one second; when it expires."""
    shelf.post(f"{path}/lend", 1)
    return datetime.fromisoformat(shelf.get(f"{path}/ankka:lifecycle")["expiresAt"])


def expired(shelf: Shelf, path: str) -> None:
    """Wait until the journal says that it went by itself."""

    def look() -> bool:
        lifecycle = shelf.get(f"{path}/ankka:lifecycle")
        return bool(lifecycle["status"] == "Empty")

    wait_for(look, f"{path} expires")
    last = shelf.timeline(path)[-1]
    assert (last["type"], last["detail"]) == ("deleted", {"by": "expired"})


def deadline(shelf: Shelf, path: str) -> int | None:
    component, instance = path.split("/")
    with closing(sqlite3.connect(shelf.programs.folder / "journal.db")) as journal:
        query = "SELECT deadline FROM instance WHERE component = ? AND instance = ?"
        found: int | None = journal.execute(query, (component, instance)).fetchone()[0]
        return found


def test_it_goes_by_itself_and_begins_anew(shelf: Shelf, path: str, empty: Any) -> None:
    instant = lend(shelf, path)
    assert deadline(shelf, path) == round(instant.timestamp() * 1_000_000)
    expired(shelf, path)
    assert time.time() >= instant.timestamp()
    assert deadline(shelf, path) is None
    assert shelf.get(f"{path}/read") == empty
    lend(shelf, path)
    assert shelf.get(f"{path}/ankka:lifecycle")["sequence"] == 1
    shelf.is_clean()


def test_a_change_without_an_expiry_keeps_it(shelf: Shelf, path: str, empty: Any) -> None:
    instant = lend(shelf, path)
    command, body = ("write", "kept") if path.startswith("note") else ("count", None)
    shelf.post(f"{path}/{command}", body)
    assert shelf.get(f"{path}/ankka:lifecycle")["expiresAt"] is None
    assert deadline(shelf, path) is None
    other = path.replace("/a", "/b")
    assert lend(shelf, other) > instant
    expired(shelf, other)
    assert shelf.get(f"{path}/ankka:lifecycle")["sequence"] == 2
    shelf.is_clean()


def test_it_survives_a_kill_9(shelf: Shelf, path: str, empty: Any) -> None:
    instant = lend(shelf, path)
    shelf.restart()
    expired(shelf, path)
    assert time.time() >= instant.timestamp()
    wait_for(lambda: shelf.sidecar.is_ready, "the process attaches again by itself")
    assert shelf.get(f"{path}/read") == empty
    shelf.is_clean()


def test_it_passes_while_all_is_down_and_no_process_is_needed(shelf: Shelf, path: str, empty: Any) -> None:
    instant = lend(shelf, path)
    shelf.process.kill()
    assert shelf.sidecar.stop() == 0
    wait_for(lambda: time.time() > instant.timestamp(), "the second is over")
    shelf.sidecar = shelf.programs.again(shelf.sidecar)
    expired(shelf, path)
    shelf.attach()
    assert shelf.get(f"{path}/read") == empty
    shelf.is_clean()
