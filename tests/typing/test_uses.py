"""The type checkers find exactly the wrong uses, and nothing wrong with the documents' workflow."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
USES = ("tests/typing/uses.py", "tests/typing/uses_of_calls.py")
SEED = "tests/unit/seed_checkout.py"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def marked() -> set[tuple[str, int]]:
    lines = [(path, number, line) for path in USES for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)]
    return {(path, number) for path, number, line in lines if "# wrong: " in line}


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_pyright_finds_the_wrong_uses_and_no_other(tmp_path: Path) -> None:
    config = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT), str(ROOT / "sidecar")], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    for path in (*USES, SEED):  # copies, because the project's own configuration leaves the wrong uses out
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    answer = json.loads(run("pyright", "--project", str(tmp_path), "--pythonpath", sys.executable, "--outputjson"))
    assert answer["summary"]["filesAnalyzed"] == 3
    errors = answer["generalDiagnostics"]
    found = {(Path(error["file"]).relative_to(tmp_path).as_posix(), error["range"]["start"]["line"] + 1) for error in errors}
    assert found == marked(), "\n".join(f"{error['file']}:{error['range']['start']['line'] + 1}: {error['message']}" for error in errors)


def test_mypy_finds_the_wrong_uses_and_no_other() -> None:
    output = run("mypy", "--strict", "--config-file=", "--cache-dir=.mypy_cache/uses", "--explicit-package-bases", *USES, SEED)
    errors = re.findall(r"^([\w/.]+):(\d+): error: ", output, re.MULTILINE)
    assert {(path, int(line)) for path, line in errors} == marked(), output
