"""`ankka pause`, `resume`, `cancel`, `delete` against a real sidecar and process: one instance, or all that match."""

import getpass
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.integration.cli.programs import ANKKA, Program, ankka, environment
from tests.integration.operators.acting import Acting

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def run(acting: Acting, tmp_path: Path) -> Run:
    """Runs a command against the shared sidecar."""
    return lambda *arguments: ankka(*arguments, cwd=tmp_path, ANKKA_SIDECAR=acting.sidecar.url)


@pytest.fixture
def paused(own: Acting) -> Acting:
    """Three runs that wait for a command, one that has ended, on a sidecar of their own."""
    for name in ("a", "b", "c"):
        own.start(name, "waiting")
        own.until(name, status="Paused")
    own.start("ended", "second")
    own.until("ended", status="Completed")
    return own


def test_one_is_paused_resumed_cancelled_and_deleted_at_once(run: Run, acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    for action, said in (("pause", "paused"), ("resume", "resumed"), ("cancel", "cancelled"), ("delete", "deleted")):
        ran = run(action, "held", one, "--reason", "ein Grund ü")
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"held/{one}  {said}\n", "")
    items = acting.timeline(one)
    assert {item["detail"]["by"] for item in items if item["type"] in ("held", "released", "failed", "deleted")} == {getpass.getuser()}
    assert items[-1]["detail"]["reason"] == "ein Grund ü"


def test_the_timeline_that_is_shown_says_who_and_why(run: Run, acting: Acting, one: str) -> None:
    acting.start(one, "waiting")
    acting.until(one, status="Paused")
    run("pause", "held", one, "--reason", "a look")
    shown = run("show", "held", one).stdout
    assert "  by an operator: nothing new starts\n" in shown
    assert f"by {getpass.getuser()}, reason a look" in shown


def test_a_refusal_is_said_and_fails(run: Run, one: str) -> None:
    refused = run("pause", "held", one)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"held/{one}: CONFLICT (409): held/{one} is NotStarted: there is no run to pause\n"
    as_json = run("delete", "held", one, "--json")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout) == [
        {"component": "held", "id": one, "done": False, "code": "NOT_FOUND", "detail": f"there is no held/{one} to delete"}
    ]


def test_all_that_match_are_done_where_nobody_can_be_asked_only_with_yes(paused: Acting, tmp_path: Path) -> None:
    def run(*arguments: str) -> "CompletedProcess[str]":
        return ankka(*arguments, cwd=tmp_path, ANKKA_SIDECAR=paused.sidecar.url)

    unasked = run("cancel", "held", "--status", "paused")
    assert (unasked.returncode, unasked.stdout) == (2, "")
    assert "this would cancel 3 instances of held; nothing was done" in " ".join(unasked.stderr.split())
    assert paused.lifecycle("a")["status"] == "Paused"
    # without a status, those that have a run: the ended one is none of them
    held = run("pause", "held", "--yes")
    assert (held.returncode, held.stdout.splitlines(), held.stderr) == (0, [f"held/{name}  paused" for name in "abc"], "3 instances paused\n")
    cancelled = run("cancel", "held", "--status", "Paused", "--since", "10m", "--yes", "--json")
    assert [(item["id"], item["done"]) for item in json.loads(cancelled.stdout)] == [("a", True), ("b", True), ("c", True)]
    nothing = run("cancel", "held", "--yes")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "there is nothing to cancel\n")
    by_failure = run("delete", "held", "--failure", "cancelled", "--yes")
    assert (by_failure.returncode, by_failure.stderr) == (0, "3 instances deleted\n")
    assert run("delete", "held", "-y").stdout == "held/ended  deleted\n"
    assert run("delete", "held", "-y").stderr == "there is nothing to delete\n"


def test_one_that_is_refused_does_not_stop_the_rest(paused: Acting, tmp_path: Path) -> None:
    some = ankka("cancel", "held", "--since", "1h", "--status", "Completed", "--yes", cwd=tmp_path, ANKKA_SIDECAR=paused.sidecar.url)
    assert some.returncode == 1
    assert some.stderr.splitlines() == [
        "held/ended: CONFLICT (409): held/ended is Completed: there is no run to cancel",
        "0 instances cancelled, 1 not",
    ]


def test_many_are_asked_about_on_a_terminal(paused: Acting, tmp_path: Path) -> None:
    changes = environment(ANKKA_SIDECAR=paused.sidecar.url, TERM="xterm-256color", NO_COLOR="1")
    for typed, code, status in (("n\n", 1, "Paused"), ("y\n", 0, "Failed")):
        with Program([*ANKKA, "cancel", "held"], cwd=tmp_path, env=changes, terminal=True) as program:
            program.until(r"cancel 3 instances of held\? \[y/N\]")
            program.type(typed)
            program.until("nothing was done" if code else "3 instances cancelled")
            assert program.ends() == code
        assert paused.lifecycle("b")["status"] == status


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pause",), "Missing argument 'COMPONENT'"),
        (("pause", "held", "i", "--status", "paused"), "an ID names one instance, options find many"),
        (("delete", "held", "--status", "asleep"), "'asleep' is none of NotStarted"),
        (("cancel", "held", "--since", "yesterday"), "neither a span"),
        (("cancel", "held", ".."), "Invalid value for ID"),
    ],
)
def test_bad_usage(run: Run, arguments: tuple[str, ...], said: str) -> None:
    ran = run(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in " ".join(ran.stderr.split())


def test_a_sidecar_that_is_not_there(tmp_path: Path) -> None:
    ran = ankka("delete", "held", "a", cwd=tmp_path, ANKKA_SIDECAR="http://127.0.0.1:1")
    assert ran.returncode == 1
    assert "no sidecar answers at http://127.0.0.1:1" in ran.stderr
