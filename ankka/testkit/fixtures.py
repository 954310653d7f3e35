"""What the pytest plugin's fixtures are, for annotations: `def test_charge(workflow_kit: WorkflowKits) -> None:`.

Each is called as the kit's own `of` or `start` is; pytest itself needs no annotation.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from ankka.event_sourced_entity import EventSourcedEntity
    from ankka.key_value_entity import KeyValueEntity
    from ankka.testkit.event_sourced_kit import EventSourcedTestKit
    from ankka.testkit.integration_kit import IntegrationTestKit, Service
    from ankka.testkit.key_value_kit import KeyValueTestKit
    from ankka.testkit.workflow_kit import WorkflowTestKit
    from ankka.workflow import Workflow

__all__ = ["EventSourcedKits", "IntegrationKits", "KeyValueKits", "WorkflowKits"]

S = TypeVar("S")
E = TypeVar("E")


class WorkflowKits(Protocol):
    """The fixture `workflow_kit`: `workflow_kit(CheckoutWorkflow, "c1")`."""

    def __call__(
        self,
        workflow: "type[Workflow[S]]",
        entity_id: str = "test",
        *,
        create: Callable[[], Any] | None = None,
        resources: Any = None,
        now: datetime | None = None,
    ) -> "WorkflowTestKit[S]":
        """`WorkflowTestKit.of`."""
        ...


class EventSourcedKits(Protocol):
    """The fixture `event_sourced_kit`: `event_sourced_kit(ShoppingCartEntity, "k1")`."""

    def __call__(
        self,
        entity: "type[EventSourcedEntity[S, E]]",
        entity_id: str = "test",
        *,
        create: Callable[[], Any] | None = None,
        resources: Any = None,
        now: datetime | None = None,
    ) -> "EventSourcedTestKit[S, E]":
        """`EventSourcedTestKit.of`."""
        ...


class KeyValueKits(Protocol):
    """The fixture `key_value_kit`: `key_value_kit(PreferencesEntity, "p1")`."""

    def __call__(
        self,
        entity: "type[KeyValueEntity[S]]",
        entity_id: str = "test",
        *,
        create: Callable[[], Any] | None = None,
        resources: Any = None,
        now: datetime | None = None,
    ) -> "KeyValueTestKit[S]":
        """`KeyValueTestKit.of`."""
        ...


class IntegrationKits(Protocol):
    """The fixture `integration_kit`: `async with integration_kit(service) as kit:`."""

    def __call__(
        self,
        service: "Service",
        journal: str = "sqlite",
        *,
        settings: Mapping[str, str | int | timedelta] | None = None,
        drain: timedelta = timedelta(0),
    ) -> "IntegrationTestKit":
        """`IntegrationTestKit.start`."""
        ...
