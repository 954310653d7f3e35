"""Which sidecar a command speaks to, and what it says when there is none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.programs import ankka


def _folder_of(tmp_path: Path, url: str, pid: int, incarnation: str) -> None:
    (tmp_path / ".ankka").mkdir()
    (tmp_path / ".ankka" / "sidecar.json").write_text(json.dumps({"http": url, "pid": pid, "incarnation": incarnation}))


def _incarnation(url: str) -> str:
    import httpx

    return str(httpx.get(f"{url}/healthz", trust_env=False).json()["incarnation"])


def test_no_sidecar_says_how_to_start_one(tmp_path: Path) -> None:
    alone = ankka("list", cwd=tmp_path)
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "no sidecar" in alone.stderr
    assert "ankka dev MODULE" in alone.stderr
    assert "ANKKA_SIDECAR=" in alone.stderr


def test_the_option_wins_over_the_variable_and_the_variable_over_the_folder(lab: str, tmp_path: Path) -> None:
    _folder_of(tmp_path, "http://127.0.0.1:1", os.getpid(), "x")
    assert ankka("list", "--sidecar", lab, cwd=tmp_path, ANKKA_SIDECAR="http://127.0.0.1:1").returncode == 0
    assert ankka("list", cwd=tmp_path, ANKKA_SIDECAR=lab).returncode == 0
    assert ankka("list", cwd=tmp_path).returncode == 1


def test_the_folders_sidecar_is_found_also_behind_a_proxy_setting(lab: str, tmp_path: Path) -> None:
    _folder_of(tmp_path, lab, os.getpid(), _incarnation(lab))
    found = ankka("list", "--json", cwd=tmp_path, HTTP_PROXY="http://127.0.0.1:1", http_proxy="http://127.0.0.1:1")
    assert (found.returncode, found.stderr) == (0, "")


def test_another_sidecar_at_the_folders_port_is_not_spoken_to(lab: str, tmp_path: Path) -> None:
    _folder_of(tmp_path, lab, os.getpid(), "another")
    other = ankka("call", "lab", "x", "echo", "a", cwd=tmp_path)
    assert (other.returncode, other.stdout) == (1, "")
    assert "is another one" in other.stderr


def test_a_sidecar_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    _folder_of(tmp_path, "http://127.0.0.1:1", gone.pid, "x")
    silent = ankka("show", "lab", "x", cwd=tmp_path)
    assert (silent.returncode, silent.stdout) == (1, "")
    assert "http://127.0.0.1:1 (./.ankka/sidecar.json)" in silent.stderr
    assert f"its process {gone.pid} is gone" in silent.stderr


@pytest.mark.parametrize("missing", ["typer", "httpx", "rich"])
def test_without_the_extra_it_is_named(tmp_path: Path, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\nimport ankka.cli\nsys.exit(ankka.cli.main(['call', 'a', 'b', 'c']))"
    alone = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ANKKA_SIDECAR": "http://127.0.0.1:1"},
    )
    assert alone.returncode == 1
    assert "Traceback" not in alone.stderr
    if missing != "rich":  # needed for tables and colours only
        assert "ankka-engine[cli]" in alone.stderr


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, ankka.cli\nassert ankka.cli.main(['--help']) == 0\nprint(*{name.partition('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not {"rich", "httpx", "asyncio", "watchfiles", "ankka_sidecar", "fastapi"}.intersection(ran.stdout.splitlines()[-1].split())
    for command in ("dev", "sidecar", "call", "await", "list", "show"):
        assert f"\n  {command} " in ran.stdout
