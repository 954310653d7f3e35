"""A sidecar and a process that the commands speak to, started once for a worker."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.integration.cli import programs

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a sidecar that the lab's process is attached to."""
    folder = tmp_path_factory.mktemp("lab")
    sidecar, url = programs.started_sidecar(folder, "--journal", f"sqlite:///{folder}/journal.db")
    with sidecar:
        command = [sys.executable, "-m", "tests.integration.cli.lab"]
        with programs.Program(command, cwd=programs.ROOT, env=programs.environment(ANKKA_SIDECAR=url)) as process:
            process.until("components lab, checkout, shopping-cart")
            yield url


@pytest.fixture
def run(lab: str, tmp_path: Path) -> Run:
    """Runs a command against the lab, by `ANKKA_SIDECAR`."""

    def run(*arguments: str, stdin: bytes = b"", **changes: str) -> "CompletedProcess[str]":
        return programs.ankka(*arguments, cwd=tmp_path, stdin=stdin, ANKKA_SIDECAR=lab, **changes)

    return run
