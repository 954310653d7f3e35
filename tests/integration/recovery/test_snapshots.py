"""Snapshots are a cache: used where they can be read, passed over with a warning where not."""

import sqlite3
from pathlib import Path

from tests.integration.recovery.stage import Stage
from tests.integration.support.programs import Programs, wait_for

MODULE = "tests.integration.recovery.carts"


def add(stage: Stage, product: str) -> None:
    assert stage.sidecar.post("shopping-cart/c/add", {"productId": product, "quantity": 1}).status_code == 200


def snapshots(folder: Path) -> list[tuple[int]]:
    with sqlite3.connect(folder / "journal.db") as journal:
        return journal.execute("SELECT sequence FROM snapshot").fetchall()


def damage(folder: Path) -> None:
    with sqlite3.connect(folder / "journal.db") as journal:
        assert journal.execute("UPDATE snapshot SET payload = x'7b22'").rowcount == 1


def test_a_snapshot_is_taken_and_used(programs: Programs) -> None:
    stage = Stage(programs, MODULE)
    for product in "abc":
        add(stage, product)
    wait_for(lambda: snapshots(programs.folder) == [(2,)], "the snapshot is stored")
    stage.sidecar.kill()
    with sqlite3.connect(programs.folder / "journal.db") as journal:
        # Only what is behind the snapshot is needed: a state without these rows shows that it was used.
        journal.execute("UPDATE journal SET event = (SELECT event FROM journal WHERE sequence = 3) WHERE sequence = 1")
    stage.start_sidecar()
    assert [item["productId"] for item in stage.sidecar.get("shopping-cart/c/get")["items"]] == ["a", "b", "c"]


def test_a_snapshot_that_cannot_be_read_is_passed_over(programs: Programs) -> None:  # F60
    stage = Stage(programs, MODULE)
    for product in "abc":
        add(stage, product)
    wait_for(lambda: snapshots(programs.folder) == [(2,)], "the snapshot is stored")
    stage.sidecar.kill()
    damage(programs.folder)
    stage.start_sidecar()
    assert [item["productId"] for item in stage.sidecar.get("shopping-cart/c/get")["items"]] == ["a", "b", "c"]
    add(stage, "d")
    assert stage.sidecar.get("shopping-cart/c/total-quantity") == 4
    assert "a snapshot cannot be read, the journal is replayed instead: shopping-cart/c at 2" in stage.sidecar.output


def test_a_damaged_snapshot_at_the_end_of_the_journal_is_noticed_too(programs: Programs) -> None:  # F60
    stage = Stage(programs, MODULE)
    for product in "ab":
        add(stage, product)
    wait_for(lambda: snapshots(programs.folder) == [(2,)], "the snapshot is stored")
    stage.sidecar.kill()
    damage(programs.folder)
    stage.start_sidecar()
    assert stage.sidecar.get("shopping-cart/c/total-quantity") == 2
