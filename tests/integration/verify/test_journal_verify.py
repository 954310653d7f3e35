"""`ankka journal verify` over journals that real sidecars and the checkout sample have written."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from ankka_sidecar.verify import check_sqlite
from ankka_sidecar.verify.places import LOST

from tests.integration.cli.programs import ankka, in_terminal
from tests.integration.support.programs import Programs, Sidecar, wait_for


def checkouts(sidecar: Sidecar, *modes: str) -> None:
    """Begin a checkout of each mode, named as it, with something in its cart."""
    for mode in modes:
        sidecar.http.post(f"/v1/shopping-cart/{mode}/add", json={"productId": "book", "quantity": 2}).raise_for_status()
        sidecar.http.post(f"/v1/checkout/{mode}/start", json=mode).raise_for_status()


def ends(sidecar: Sidecar, *modes: str) -> list[str]:
    return [sidecar.http.get(f"/v1/checkout/{mode}/ankka:await").raise_for_status().json()["status"] for mode in modes]


def verified(folder: Path, *options: str) -> "CompletedProcess[str]":
    return ankka("journal", "verify", "--journal", "sqlite:///journal.db", *options, cwd=folder)


@pytest.fixture
def folder(programs: Programs, tmp_path: Path) -> Path:
    """A folder with the journal of three checkouts, after a kill -9 of sidecar and process while one was paused."""
    sidecar = programs.sidecar()
    process = programs.process("samples.checkout", sidecar)
    checkouts(sidecar, "ok", "fail", "pause")
    assert ends(sidecar, "ok", "fail") == ["charged", "compensated"]
    sidecar.kill()
    process.kill()
    again = programs.again(sidecar)
    programs.process("samples.checkout", again)
    assert ends(again, "pause") == ["charged"]
    return tmp_path


def test_a_journal_is_clean_while_its_sidecar_runs(folder: Path) -> None:
    ran = verified(folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0].split(maxsplit=2) == ["I1", "ok", "each place (generation, sequence) is there once, without gaps"]
    assert [line.split()[0] for line in lines[:12]] == [f"I{number}" for number in range(1, 13)]
    assert "not in a journal" in lines[4]
    assert "instances, 0 snapshots: clean" in lines[-1]
    assert check_sqlite(folder / "journal.db") == []


def test_a_violation_is_shown_with_its_place_and_what_to_do(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as connection, connection:
        (generation,) = connection.execute("SELECT generation FROM journal WHERE component = 'checkout' AND instance = 'fail'").fetchone()
        connection.execute("DELETE FROM journal WHERE component = 'checkout' AND instance = 'fail' AND sequence = 3")
    ran = verified(folder)
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[:4] == [
        f"I1        violation  checkout/fail generation {generation} sequence 4: sequence 3 is missing",
        "          expected  sequence 3",
        "          found     sequence 4",
        f"          do        {LOST}",
    ]
    assert "I1        1 violation " in ran.stdout
    assert ran.stdout.splitlines()[-1].endswith(": 1 violation")

    document = json.loads(verified(folder, "--json").stdout)
    assert (document["clean"], document["warnings"]) == (False, [])
    (found,) = document["violations"]
    assert {name: found[name] for name in ("rule", "component", "instance", "generation", "sequence")} == {
        "rule": "I1", "component": "checkout", "instance": "fail", "generation": generation, "sequence": 4,
    }  # fmt: skip
    assert {entry["rule"]: entry["violations"] for entry in document["invariants"] if entry["violations"]} == {"I1": 1}


def test_an_overdue_deadline_is_a_warning(programs: Programs, tmp_path: Path) -> None:
    sidecar = programs.sidecar()
    process = programs.process("samples.checkout", sidecar)
    checkouts(sidecar, "pause")
    wait_for(lambda: sidecar.http.get("/v1/checkout/pause/ankka:lifecycle").json()["status"] == "Paused", "the pause")
    sidecar.kill()
    process.kill()
    assert check_sqlite(tmp_path / "journal.db") == []
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        (deadline,) = connection.execute("SELECT deadline FROM instance WHERE component = 'checkout'").fetchone()
    wait_for(lambda: time.time_ns() // 1_000 > deadline, "the end of the pause, one and a half seconds")
    ran = verified(tmp_path, "--overdue-after", "0s")
    assert ran.returncode == 0
    assert "I11       warning  checkout/pause" in ran.stdout
    assert "I11       1 warning " in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--journal", "nothing.db"), "journal nothing.db does not exist"),
        (("--journal", "memory:"), "a journal in memory"),
        (("--journal", "."), "is not a file"),
        ((), "Missing option '--journal'"),
        (("--journal", "nothing.db", "--overdue-after", "soon"), "'soon' is not a span of time"),
    ],
)
def test_bad_usage(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    ran = ankka("journal", "verify", *arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert says in ran.stderr.replace("\n", " ")


def test_the_journal_may_come_from_the_environment(tmp_path: Path) -> None:
    ran = ankka("journal", "verify", cwd=tmp_path, ANKKA_JOURNAL="sqlite:///elsewhere.db")
    assert (ran.returncode, "elsewhere.db does not exist" in ran.stderr) == (2, True)


def test_on_a_terminal(folder: Path) -> None:
    code, output = in_terminal("journal", "verify", "--journal", "journal.db", cwd=folder)
    assert code == 0
    assert "rows checked" in output
    assert "clean" in output
