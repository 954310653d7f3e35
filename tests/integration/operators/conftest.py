"""One sidecar and one process for the tests that kill neither; each test uses ids of its own."""

import itertools
from collections.abc import Iterator

import pytest

from tests.integration.cli.programs import ankka
from tests.integration.operators.acting import Acting
from tests.integration.support.fixtures import started
from tests.integration.support.programs import Programs

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def _attached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acting]:
    for programs in started(tmp_path_factory.mktemp("operators")):
        acting = Acting(programs)
        yield acting
        verified = ankka("journal", "verify", "--journal", f"sqlite:///{programs.folder / 'journal.db'}", cwd=programs.folder)
        assert verified.returncode == 0, verified.stdout


@pytest.fixture
def acting(_attached: Acting) -> Acting:
    """The shared sidecar and process, by what an operator does to them."""
    return _attached


@pytest.fixture
def one() -> str:
    """An id that no test has used."""
    return f"i{next(_numbers)}"


@pytest.fixture
def own(programs: Programs) -> Acting:
    """A sidecar and process of one test, which may kill them."""
    return Acting(programs)
