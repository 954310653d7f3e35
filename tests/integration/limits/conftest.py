"""One sidecar and one process for the tests that need no settings of their own; each test uses ids of its own."""

import itertools
from collections.abc import Iterator

import httpx
import pytest

from tests.integration.support.fixtures import started
from tests.integration.support.programs import Program, Programs, Sidecar

SERVICE = "tests.integration.limits.crowd"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Programs, Sidecar, Program]]:
    """The shared programs, sidecar and process."""
    for programs in started(tmp_path_factory.mktemp("limits")):
        sidecar = programs.sidecar("--handler-timeout", "5s")
        yield programs, sidecar, programs.process(SERVICE, sidecar)


@pytest.fixture
def http(crowd: tuple[Programs, Sidecar, Program]) -> httpx.Client:
    """A client of the shared sidecar."""
    return crowd[1].http


@pytest.fixture
def one() -> str:
    """An id that no test has used."""
    return f"i{next(_numbers)}"
