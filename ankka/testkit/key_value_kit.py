"""A kit that runs a key value entity without a sidecar, on the engine's own rules and a simulated clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from ankka.key_value_entity import KeyValueEntity
from ankka.protocol.errors import Error
from ankka.protocol.spec import ComponentKind
from ankka.testkit.entity_kit import EntityKit
from ankka.testkit.tested import Tested

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeyValueCall(Generic[S]):
    """What a command or a query came to. `changed`: it set the state or deleted the entity; `new_state` is then the state after it."""

    reply: Any = None
    error: Error | None = None
    changed: bool = False
    new_state: S | None = None


class KeyValueTestKit(EntityKit[S], Generic[S]):
    """One entity, on the engine's own rules: values are encoded, decoded and checked, and it expires when `advance` says so::

    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    assert kit.call("rename", "Aino").changed
    assert kit.state == Profile("Aino")
    """

    def __init__(
        self, entity: type[KeyValueEntity[S]], entity_id: str, create: Callable[[], Any] | None, resources: Any, now: datetime | None = None
    ) -> None:
        super().__init__(Tested.of(entity, ComponentKind.KEY_VALUE_ENTITY, create, resources), entity_id, now)

    @staticmethod
    def of(
        entity: type[KeyValueEntity[T]],
        entity_id: str = "test",
        *,
        create: Callable[[], Any] | None = None,
        resources: Any = None,
        now: datetime | None = None,
    ) -> "KeyValueTestKit[T]":
        """A kit for a new entity; `create` makes the entity's objects, `resources` is `context.resources`.

        `now` is when simulated time begins, an aware datetime (default: the first instant of 2026, UTC). `TypeError` if
        the class is of another kind.
        """
        return KeyValueTestKit(entity, entity_id, create, resources, now)

    def call(
        self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None, idempotency_key: str | None = None
    ) -> KeyValueCall[S]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        called = self._called(name, input, metadata, idempotency_key)
        if isinstance(called, Error):
            return KeyValueCall(error=called)
        reply, done = called
        return KeyValueCall(reply) if done.row is None else KeyValueCall(reply, None, True, self.state)
