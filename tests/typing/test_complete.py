"""Every name that can be imported from `ankka` has a type that every checker sees alike."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_types_of_all_public_names_are_complete(tmp_path: Path) -> None:
    # this search does not follow .pth files, by which a checkout is installed
    folders = [str(ROOT), str(ROOT / "sidecar"), sysconfig.get_path("purelib")]
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--verifytypes", "ankka", "--ignoreexternal", "--outputjson"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)["typeCompleteness"]
    problems = [
        f"{symbol['name']}: {problem['message']}"
        for symbol in found["symbols"]
        for problem in symbol["diagnostics"]
        if symbol["isExported"] and problem["severity"] == "error"
    ]
    assert problems == []
    assert found["completenessScore"] == 1
    assert found["pyTypedPath"] == str(ROOT / "ankka" / "py.typed")
    assert found["exportedSymbolCounts"]["withKnownType"] > 1_000
