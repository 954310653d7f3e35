"""One sidecar for each test; its processes come and go."""

import pytest

from tests.integration.support.programs import Programs
from tests.integration.versions.deploying import Deploying


@pytest.fixture
def deploying(programs: Programs) -> Deploying:
    """A sidecar without processes."""
    return Deploying(programs)
