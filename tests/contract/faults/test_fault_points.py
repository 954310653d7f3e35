"""Fault points: what a specification means, and that a fault comes at the visit it was meant for."""

import subprocess
import sys
from pathlib import Path

import pytest
from ankka_sidecar.adapters.faults import CountVisits, FaultAt, FaultInjected, NoFaults, faults_from
from ankka_sidecar.ports.faults import POINTS


@pytest.mark.parametrize("name", POINTS)
def test_in_production_no_point_does_anything(name: str) -> None:
    NoFaults().point(name)


def test_a_fault_comes_at_its_visit_and_only_then() -> None:
    faults = FaultAt.parse("append.before:3=raise, commit.after=raise")
    faults.point("append.before")
    faults.point("append.before")
    faults.point("commit.before")
    with pytest.raises(FaultInjected, match=r"append\.before, visit 3"):
        faults.point("append.before")
    faults.point("append.before")
    with pytest.raises(FaultInjected, match=r"commit\.after, visit 1"):
        faults.point("commit.after")


def test_visits_are_counted_in_a_file(tmp_path: Path) -> None:
    faults = faults_from(f"count:{tmp_path / 'visits'}")
    assert isinstance(faults, CountVisits)
    for name in ("append.before", "commit.before", "append.before"):
        faults.point(name)
    assert (tmp_path / "visits").read_text() == "append.before\ncommit.before\nappend.before\n"


@pytest.mark.chaos
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")
def test_kill_is_a_kill_that_nothing_can_catch() -> None:
    program = """
from ankka_sidecar.adapters.faults import FaultAt
try:
    FaultAt.parse("append.before=kill").point("append.before")
finally:
    print("outlived")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-9, "")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("append.befor=kill", "'append.befor' is no fault point; there are append.before"),
        ("append.before", "expected 'kill' or 'raise' behind '=', found ''"),
        ("append.before:1=explode", "expected 'kill' or 'raise' behind '=', found 'explode'"),
        ("append.before:0=kill", "expected the number of the visit, 1 or more, behind ':', found '0'"),
        ("append.before:=kill", "1 or more, behind ':', found ''"),
        ("", "'' is no fault point"),
    ],
)
def test_a_specification_that_cannot_be_read_is_refused(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaultAt.parse(spec)
