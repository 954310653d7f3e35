"""A kit that runs an event sourced entity without a sidecar, on the engine's own rules and a simulated clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from ankka_sidecar.core.events import Persisted

from ankka.codec import DONE, default_codec_for
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.process.dispatch import fold
from ankka.protocol.errors import Error
from ankka.protocol.frames import EntityCommandDone, Fold, Refused
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind
from ankka.testkit.entity_kit import EntityKit
from ankka.testkit.tested import Tested

S = TypeVar("S")
E = TypeVar("E")
T = TypeVar("T")
U = TypeVar("U")

REPLAY = "ankka:replay"
"""What the journal says gave a replayed event."""
_REPLAYED = default_codec_for(type(DONE)).encode_payload(DONE)


@dataclass(frozen=True, slots=True)
class EntityCall(Generic[S, E]):
    """What a command or a query came to. `persisted`: it left something in the journal; `new_state` is then the state after it."""

    reply: Any = None
    error: Error | None = None
    events: list[E] = field(default_factory=list[E])
    persisted: bool = False
    new_state: S | None = None


class EventSourcedTestKit(EntityKit[S], Generic[S, E]):
    """One entity, on the engine's own rules: values are encoded, decoded and checked, and it expires when `advance` says so::

    kit = EventSourcedTestKit.of(ShoppingCartEntity, "k1")
    assert kit.call("add-item", Item("pen", 2)).events == [ItemAdded("pen", 2)]
    assert kit.call("total-quantity").reply == 2
    """

    def __init__(
        self, entity: type[EventSourcedEntity[S, E]], entity_id: str, create: Callable[[], Any] | None, resources: Any, now: datetime | None = None
    ) -> None:
        super().__init__(Tested.of(entity, ComponentKind.EVENT_SOURCED_ENTITY, create, resources), entity_id, now)

    @staticmethod
    def of(
        entity: type[EventSourcedEntity[T, U]],
        entity_id: str = "test",
        *,
        create: Callable[[], Any] | None = None,
        resources: Any = None,
        now: datetime | None = None,
    ) -> "EventSourcedTestKit[T, U]":
        """A kit for a new entity; `create` makes the entity's objects, `resources` is `context.resources`.

        `now` is when simulated time begins, an aware datetime (default: the first instant of 2026, UTC). `TypeError` if
        the class is of another kind.
        """
        return EventSourcedTestKit(entity, entity_id, create, resources, now)

    @property
    def all_events(self) -> list[E]:
        """Every event so far; none after a deletion."""
        live = [row.event for row in self._sim.rows if row.generation == self._sim.record.generation] if self.sequence else []
        return [event for effect in live if isinstance(effect, Persisted) for event in self._events(effect.events)]

    def call(
        self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None, idempotency_key: str | None = None
    ) -> EntityCall[S, E]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        called = self._called(name, input, metadata, idempotency_key)
        if isinstance(called, Error):
            return EntityCall(error=called)
        reply, done = called
        if not isinstance(done.effect, EntityCommandDone) or done.row is None:
            return EntityCall(reply)
        return EntityCall(reply, None, self._events(done.effect.events), True, self.state)

    def replay(self, *events: E) -> S:
        """Put events into the journal, each as an effect of its own, as if commands had; the state after them."""
        codec = self._definition.event_codec
        assert codec is not None
        encoded = tuple(codec.encode_payload(event) for event in events)
        self._folded(encoded)  # all or none
        for event in encoded:
            self._sim.give(REPLAY, EntityCommandDone(0, _REPLAYED, (event,), self._folded((event,))))
        return self.state

    def _folded(self, events: tuple[Payload, ...]) -> Payload | None:
        answer = fold(self._definition, Fold(1, self._definition.component_id, self._entity_id, self._sim.state, events), self._tested.create)
        if isinstance(answer, Refused):
            raise ValueError(answer.error.message)
        return answer.state

    def _events(self, encoded: tuple[Payload, ...]) -> list[E]:
        codec = self._definition.event_codec
        assert codec is not None
        return [cast("E", codec.decode_payload(payload)) for payload in encoded]
