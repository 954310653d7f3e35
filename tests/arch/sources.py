"""The project's own files, as the arch tests look at them."""

import ast
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("ankka", "sidecar", "samples", "tests")


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the top of the project, its text, its syntax tree."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")

    def at(self, node: ast.AST, message: str) -> str:
        """A finding, as an editor can jump to it."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}: {message}"


def python_files(*folders: str) -> list[Source]:
    """Every Python file below these folders of the project, in order."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]


def project_files() -> list[str]:
    """Every file that is, or with the next commit may be, part of the project."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        return sorted(name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file())
    # not a clone (an unpacked archive): everything but what setup and the tools leave
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if not any(part.startswith(".") or part == "__pycache__" for part in path.parts[:-1]))
