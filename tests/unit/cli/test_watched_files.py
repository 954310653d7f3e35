"""Which saves start the process anew."""

from pathlib import Path

import pytest
from watchfiles import Change

from ankka.cli.dev.watching import Watching


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("app.py", True),
        ("shop/main.py", True),
        ("shop/fast.pyx", True),
        ("shop/notes.txt", False),
        ("journal.db-wal", False),
        (".ankka/x.py", False),
        (".venv/lib/x.py", False),
        (".git/hooks/x.py", False),
        ("shop/__pycache__/main.cpython-311.pyc", False),
        ("shop/__pycache__/x.py", False),
        ("node_modules/a/x.py", False),
        ("env311/lib/x.py", False),
        ("shop/.#main.py", False),
        ("shop/flycheck_main.py", False),
        ("shop/.main.py.swp", False),
    ],
)
def test_python_files_of_the_project_count(tmp_path: Path, path: str, ours: bool) -> None:
    project = tmp_path / ".venv" / "project"  # what lies above the folder says nothing
    (project / "env311").mkdir(parents=True)
    (project / "env311" / "pyvenv.cfg").touch()
    assert Watching(project).is_ours(Change.modified, str(project.resolve() / path)) is ours
    assert not Watching(project).is_ours(Change.modified, str(tmp_path / "other.py"))
