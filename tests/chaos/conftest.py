"""Fixtures of the chaos tests: real programs that end with their test, and whose output a failed one shows."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.integration.support.programs import Programs

_alive: list[Programs] = []


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """Starts programs for one test, in its folder."""
    made = Programs(tmp_path)
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
