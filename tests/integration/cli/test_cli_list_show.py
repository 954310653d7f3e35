"""`ankka list` and `ankka show` against a real sidecar and process."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from tests.integration.cli.conftest import Run
from tests.integration.cli.programs import in_terminal


@pytest.fixture
def failed(run: Run) -> str:
    """The id of an instance that failed for a reason of its own."""
    name = f"ä/b c-{uuid4().hex}"
    run("call", "lab", name, "fail", f"reason [bold]{name}")
    assert run("await", "lab", name).returncode == 1
    return name


def test_list_finds_by_failure_and_shows_it(run: Run, failed: str) -> None:
    listed = run("list", "lab", "--failure", failed, "--status", "failed", "--since", "10m")
    assert (listed.returncode, listed.stderr) == (0, "")
    heading, line = listed.stdout.splitlines()
    assert heading.split() == ["COMPONENT", "ID", "STATUS", "STEP", "UPDATED", "FAILURE"]
    assert line.startswith(f"lab        {failed}  Failed")
    assert line.endswith(f"reason [bold]{failed}")
    assert "\x1b" not in listed.stdout


def test_list_as_json_is_what_the_sidecar_answers(run: Run, failed: str) -> None:
    listed = run("list", "--failure", failed, "--json")
    (item,) = json.loads(listed.stdout)
    assert (item["component"], item["id"], item["status"], item["failure"]) == ("lab", failed, "Failed", f"reason [bold]{failed}")


def test_list_says_that_there_is_nothing(run: Run) -> None:
    empty = run("list", "lab", "--failure", "unheard of")
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "no instance with component lab, failure unheard of\n")
    as_json = run("list", "lab", "--failure", "unheard of", "--json")
    assert (as_json.returncode, as_json.stdout, as_json.stderr) == (0, "[]\n", "")


def test_list_stops_at_its_limit_and_says_that_there_are_more(run: Run) -> None:
    for number in range(3):
        run("call", "checkout", f"limit-{number}", "start", "ok")
    limited = run("list", "checkout", "--limit", "2", "--json")
    assert len(json.loads(limited.stdout)) == 2
    assert "there are more" in limited.stderr


def test_show_has_lifecycle_and_timeline(run: Run) -> None:
    name = f"p/{uuid4().hex} ü"
    run("call", "checkout", name, "start", "fail")
    run("await", "checkout", name)
    shown = run("show", "checkout", name)
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert lines[0] == f"checkout/{name}  Completed"
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["SEQ", "TIME", "EVENT", "STEP", "ATTEMPT", "DETAIL"]
    events = [line.split()[3] for line in table[1:]]
    assert events == ["started", "transitioned", "retried", "failed-over", "ended"]
    assert table[1].split()[1:3] == ["+0", "ms"]
    assert "PaymentDeclined: payment declined" in table[3]


def test_show_says_why_it_waits(run: Run) -> None:
    name = uuid4().hex
    run("call", "lab", name, "pause")
    assert run("await", "lab", name, "--timeout", "200ms").returncode == 1
    shown = run("show", "lab", name)
    assert shown.stdout.startswith(f"lab/{name}  Paused\n  waits for  a command")


def test_show_works_for_an_entity(run: Run) -> None:
    name = uuid4().hex
    run("call", "shopping-cart", name, "add", '{"productId": "pear\\u001b", "quantity": 2}')
    shown = run("show", "shopping-cart", name)
    assert shown.stdout.startswith(f"shopping-cart/{name}  Active\n")
    assert 'by add, event {"type":"ItemAdded","item":{"productId":"pear\\u001b","quantity":2}}' in shown.stdout
    document = json.loads(run("show", "shopping-cart", name, "--json").stdout)
    assert (document["component"], document["id"], document["lifecycle"]["sequence"]) == ("shopping-cart", name, 1)
    assert [item["type"] for item in document["journal"]] == ["ItemAdded"]


@pytest.mark.parametrize(("component", "said"), [("checkout", "nothing is journalled of checkout/gone"), ("chekout", "no component 'chekout'")])
def test_show_of_what_is_not_there_fails(run: Run, component: str, said: str) -> None:
    missing = run("show", component, "gone")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith("NOT_FOUND (404): ")
    assert said in missing.stderr


def test_tables_on_a_terminal_cut_nothing_and_interpret_nothing(lab: str, tmp_path: Path, failed: str) -> None:
    code, shown = in_terminal("list", "lab", "--failure", failed, cwd=tmp_path, ANKKA_SIDECAR=lab, NO_COLOR="1")
    assert code == 0
    assert "[bold]" in shown
    assert "ago" in shown
    assert "…" not in shown
