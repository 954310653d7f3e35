"""Fixtures of the tests with real programs: all of them end with their test, and a failed one shows what they printed."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.integration.support.programs import Programs

Kept = TypeVar("Kept", bound=Programs)

_alive: list[Programs] = []


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """Starts programs for one test, in its folder; see `programs.py`."""
    yield from started(tmp_path)


def started(folder: Path) -> Iterator[Programs]:
    """Programs of a fixture of any scope: `yield from started(folder)`."""
    yield from kept(Programs(folder))


def kept(made: Kept) -> Iterator[Kept]:
    """The same for programs that know more: `yield from kept(FolderPrograms(folder))`."""
    _alive.append(made)
    try:
        yield made
    finally:
        _alive.remove(made)
        made.clean_up()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the programs printed below a failed test."""
    report = yield
    if report.failed:
        report.sections += [(f"output of {name}", text) for made in _alive for name, text in made.logs()]
    return report
