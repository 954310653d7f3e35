"""States that other versions have written: fields added, removed, renamed, required; who gets which instance."""

import os
from pathlib import Path

from tests.integration.support.programs import ROOT, Programs
from tests.integration.versions.deploying import Deploying

MANY = 12
"""Calls enough that each of two processes would get some, if both were given them."""


def rested(deploying: Deploying, instance: str) -> None:
    """An order that waits for a command."""
    deploying.post(f"order/{instance}/start", "rest")
    deploying.until(instance, status="Paused")


def test_added_removed_and_renamed_fields(deploying: Deploying) -> None:
    # F71: a default for the added one, the removed one ignored, a renamed one is both
    v1 = deploying.attach("v1")
    rested(deploying, "o")
    assert deploying.get("order/o/state") == {"item": "book", "coupon": "ten percent", "label": "blue"}
    deploying.leave(v1)
    v2 = deploying.attach("v2")
    assert deploying.get("order/o/state") == {"item": "book", "title": "untitled", "gift": False}
    assert deploying.post("order/o/wrap") == "v2"
    assert deploying.get("order/o/state") == {"item": "book", "title": "untitled", "gift": True}
    deploying.leave(v2)
    deploying.attach("v1")
    assert deploying.get("order/o/state") == {"item": "book", "coupon": "", "label": ""}


def test_a_new_required_field_is_a_load_error_that_names_it_until_it_is_mended(deploying: Deploying) -> None:
    # F71: nothing is journalled of it, and the mended version goes on
    v1 = deploying.attach("v1")
    rested(deploying, "o")
    deploying.leave(v1)
    broken = deploying.attach("needing_an_owner")
    answer = deploying.sidecar.http.get("/v1/order/o/state")
    assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
    broken.wait_for_output("owner")
    assert deploying.get("order/o/ankka:lifecycle")["status"] == "Paused"
    assert deploying.get("order/new/state") == {"owner": "nobody", "item": ""}
    deploying.leave(broken)
    deploying.attach("v2")
    deploying.post("order/o/go", "hold")
    assert deploying.get("order/o/ankka:await")["item"] == "book, held by v2"


def test_a_step_whose_state_a_version_cannot_read_waits_for_one_that_can(deploying: Deploying) -> None:
    # F71, W12: a deployment never fails a run
    v1 = deploying.attach("v1")
    for name in ("a", "b"):
        deploying.post(f"order/{name}/start", "rest-a-little")
    for name in ("a", "b"):
        deploying.until(name, status="Paused")
    deploying.leave(v1)
    broken = deploying.attach("needing_an_owner")
    broken.wait_for_output("owner")
    why = "a process that can read it: the state of order/a cannot be read: $.owner: the required field 'owner' of Order is missing"
    lifecycle = deploying.until("a", waitingFor=why, pendingStep="reserve")
    assert (lifecycle["status"], lifecycle["retries"], lifecycle["failure"]) == ("Running", {}, None)
    deploying.until("b", pendingStep="reserve", status="Running")
    deploying.attach("v2")  # beside it
    for name in ("a", "b"):
        assert deploying.get(f"order/{name}/ankka:await")["item"] == "book, held by v2"
        assert deploying.types(name) == ["started", "paused", "resumed", "interrupted", "ended"], "one try, and no retry"


def test_what_the_newer_has_written_goes_to_the_newer_only_and_to_the_older_when_it_has_left(deploying: Deploying) -> None:
    deploying.attach("v1")
    v2 = deploying.attach("v2")
    rested(deploying, "o")
    assert deploying.post("order/o/wrap") == "v2"  # a command that only v2 has
    assert {deploying.get("order/o/version") for _ in range(MANY)} == {"v2"}
    assert {deploying.post("order/o/rename", f"book {number}") for number in range(MANY)} == {"v2"}
    assert deploying.get("order/o/state") == {"item": f"book {MANY - 1}", "title": "untitled", "gift": True}
    # rolling back: with no newer one attached the older gets it
    deploying.leave(v2)
    assert deploying.get("order/o/version") == "v1"
    assert deploying.post("order/o/rename", "pen") == "v1"
    assert deploying.get("order/o/state")["item"] == "pen"


def test_what_the_older_has_written_may_go_to_both(deploying: Deploying) -> None:
    v1 = deploying.attach("v1")
    rested(deploying, "o")
    deploying.attach("v2")
    assert {deploying.get("order/o/version") for _ in range(MANY)} == {"v1", "v2"}
    assert v1.running.poll() is None


def test_who_is_newer_is_known_after_a_restart(deploying: Deploying, programs: Programs) -> None:
    # the order is the journal's, not that of attaching
    both = [deploying.attach("v1"), deploying.attach("v2")]
    rested(deploying, "o")
    assert deploying.post("order/o/wrap") == "v2"
    deploying.sidecar.kill()
    deploying.sidecar = programs.again(deploying.sidecar)
    for process in both:
        deploying.sidecar.wait_for_output(rf"process {process.pid} of \S+ attached")
    assert {deploying.get("order/o/version") for _ in range(MANY)} == {"v2"}


def test_an_edited_comment_strands_nothing(deploying: Deploying, programs: Programs, tmp_path: Path) -> None:
    # F73
    module = tmp_path / "shop.py"
    text = (Path(__file__).parent / "v1.py").read_text()
    module.write_text(text)
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    before = programs.process("shop", deploying.sidecar, environment)
    rested(deploying, "o")
    deploying.leave(before)
    module.write_text(text.replace('"""Wait for a command."""', '"""Wait for somebody who knows what comes next."""  # as asked for'))
    programs.process("shop", deploying.sidecar, environment)
    deploying.post("order/o/go", "reserve")
    assert deploying.get("order/o/ankka:await")["item"] == "book, reserved by v1"
