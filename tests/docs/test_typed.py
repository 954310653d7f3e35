"""What the pages show in classes and functions, and in the files to save, is clean for strict type checkers.

Lines outside of them are what one types at a prompt: there `call.error.message` of a call that certainly failed is no error.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT, blocks_of, files, page_name

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the pages, and each page's code as a module of its own."""
    folder = tmp_path_factory.mktemp("pages")
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
    for page in PAGES:
        code = "\n".join(block.text for block in blocks_of(page, "python") if not block.note)
        if code:
            name = page_name(page).removesuffix(".md").replace("/", "_").replace("-", "_")
            (folder / f"{name}.py").write_text(code, encoding="utf-8")
    return folder


def _defined(file: Path) -> set[int]:
    """The lines of a file within its classes and functions; all of them in a file that readers save."""
    text = file.read_text(encoding="utf-8")
    if file.name in files():
        return set(range(1, text.count("\n") + 2))
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def test_pyright_finds_nothing_in_what_the_pages_define(folder: Path) -> None:
    settings = {"typeCheckingMode": "strict", "include": ["."], "extraPaths": [str(ROOT), str(ROOT / "sidecar"), "."], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(list(folder.glob("*.py")))
    found = [(Path(item["file"]), item["range"]["start"]["line"] + 1, item["message"]) for item in report["generalDiagnostics"]]
    assert [f"{file.name}:{line}: {text}" for file, line, text in found if line in _defined(file)] == []


def test_mypy_finds_nothing_in_the_files_of_the_pages(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--config-file=", *sorted(files())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
