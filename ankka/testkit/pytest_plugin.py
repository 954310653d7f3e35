"""The pytest plugin: the fixtures `workflow_kit`, `event_sourced_kit`, `key_value_kit` and `integration_kit`, all factories.

    def test_charge(workflow_kit):
        kit = workflow_kit(CheckoutWorkflow, "c1")

    async def test_checkout(integration_kit):
        async with integration_kit(service) as kit:
            await kit.client.for_workflow("checkout", "c1").call("start").invoke("ok")

pytest loads it wherever Ankka is installed (`-p no:ankka` leaves it out), so it imports nothing but pytest before a fixture is
used. The fixtures are plain functions: they work under anyio's plugin, under pytest-asyncio, and without either.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ankka.testkit.fixtures import EventSourcedKits, IntegrationKits, KeyValueKits, WorkflowKits
    from ankka.testkit.integration_kit import IntegrationTestKit


@pytest.fixture(scope="session")
def workflow_kit() -> "WorkflowKits":
    """Makes kits that run a workflow, without a sidecar: `workflow_kit(CheckoutWorkflow, "c1")`."""
    from ankka.testkit.workflow_kit import WorkflowTestKit

    return WorkflowTestKit.of


@pytest.fixture(scope="session")
def event_sourced_kit() -> "EventSourcedKits":
    """Makes kits that run an event sourced entity, without a sidecar: `event_sourced_kit(ShoppingCartEntity, "k1")`."""
    from ankka.testkit.event_sourced_kit import EventSourcedTestKit

    return EventSourcedTestKit.of


@pytest.fixture(scope="session")
def key_value_kit() -> "KeyValueKits":
    """Makes kits that run a key value entity, without a sidecar: `key_value_kit(PreferencesEntity, "p1")`."""
    from ankka.testkit.key_value_kit import KeyValueTestKit

    return KeyValueTestKit.of


@pytest.fixture
def integration_kit() -> "Iterator[IntegrationKits]":
    """Starts services with a real sidecar of their own: `async with integration_kit(service) as kit:`.

    Each is closed where its `async with` ends. One that a test opened by hand and did not close is an error at the end of
    the test; its sidecar is killed then.
    """
    from ankka.testkit.integration_kit import IntegrationTestKit

    made: list[IntegrationTestKit] = []

    def start(*args: Any, **options: Any) -> "IntegrationTestKit":
        kit = IntegrationTestKit.start(*args, **options)
        made.append(kit)
        return kit

    yield start
    left_open = [kit for kit in made if kit.is_open]
    for kit in left_open:
        kit.discard()
    if left_open:
        pytest.fail("integration_kit: a kit was opened and not closed; write `async with integration_kit(service) as kit:`", pytrace=False)
