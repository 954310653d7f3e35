"""The service with a sidecar of the test's own, and the application before it."""

from collections.abc import AsyncGenerator

import httpx
import pytest

from ankka.fastapi import component_client
from ankka.testkit import IntegrationTestKit
from samples.transfer.app import app
from samples.transfer.service import service


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture
async def kit() -> AsyncGenerator[IntegrationTestKit]:
    """A real sidecar on a free port, its journal in a temporary folder, with the service attached."""
    async with IntegrationTestKit.start(service) as kit:
        yield kit


@pytest.fixture
async def http(kit: IntegrationTestKit) -> AsyncGenerator[httpx.AsyncClient]:
    """The application's routes, which call the kit's service; its lifespan, which would attach one more, is not run."""
    app.dependency_overrides[component_client] = lambda: kit.client
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        yield client
    app.dependency_overrides.clear()
