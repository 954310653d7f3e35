"""One sidecar and one process with the vault, for the tests that damage nothing."""

from collections.abc import Iterator

import pytest

from tests.integration.support.fixtures import started
from tests.integration.support.programs import Sidecar

VAULT = "tests.integration.payloads.vault"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A sidecar to which the vault is attached."""
    for programs in started(tmp_path_factory.mktemp("vault")):
        sidecar = programs.sidecar()
        programs.process(VAULT, sidecar)
        yield sidecar
