"""What every test may use: the loop that async tests run on."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as the sidecar and the SDK do; the pytest plugin of anyio asks for this name."""
    return "asyncio"
