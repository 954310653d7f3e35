"""A kit that runs an event sourced entity without a sidecar, on the engine's own rules and a simulated clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast

from ankka_sidecar.core.events import Deleted, Persisted

from ankka.codec import DONE, EncodingError, default_codec_for
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.process.dispatch import fold
from ankka.process.dispatch_values import new_object
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Fold, Refused
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind
from ankka.testkit.entity_simulation import EntitySimulation
from ankka.testkit.handler_runs import decoded_reply, definition_for, encoded_input, handler_name, instant_of, key_of
from ankka.testkit.process_work import Hosted
from ankka.testkit.scripted_calls import Script
from ankka.testkit.simulated_kit import SimulatedKit

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


class EventSourcedTestKit(SimulatedKit, Generic[S, E]):
    """One entity, on the engine's own rules: values are encoded, decoded and checked, and it expires when `advance` says so.

    kit = EventSourcedTestKit.of(ShoppingCartEntity, "k1")
    assert kit.call("add-item", Item("pen", 2)).events == [ItemAdded("pen", 2)]
    assert kit.call("total-quantity").reply == 2
    """

    def __init__(
        self, entity: type[EventSourcedEntity[S, E]], entity_id: str, create: Callable[[], Any] | None, resources: Any, now: datetime | None = None
    ) -> None:
        self._definition = definition_for(entity, ComponentKind.EVENT_SOURCED_ENTITY)
        self._entity_id = entity_id
        self._create = create
        script = Script()
        self._sim = EntitySimulation(Hosted(self._definition, create, resources, script), entity_id, instant_of(now))
        super().__init__(script, self._sim)

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
    def state(self) -> S:
        """The state after all events."""
        return self._decoded(self._sim.state)

    @property
    def all_events(self) -> list[E]:
        """Every event so far; none after a deletion."""
        live = [row.event for row in self._sim.rows if row.generation == self._sim.record.generation] if self.sequence else []
        return [event for effect in live if isinstance(effect, Persisted) for event in self._events(effect.events)]

    @property
    def sequence(self) -> int:
        """How many effects are in the journal; none after a deletion."""
        return self._sim.record.sequence

    @property
    def deleted(self) -> bool:
        """Whether the last effect deleted the entity, or its time was over."""
        return bool(self._sim.rows) and isinstance(self._sim.rows[-1].event, Deleted)

    def call(
        self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None, idempotency_key: str | None = None
    ) -> EntityCall[S, E]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        handler = handler_name(name)
        try:
            payload = encoded_input(self._definition, handler, input)
        except EncodingError as error:
            return EntityCall(error=Error(ErrorCode.BAD_REQUEST, f"the input of {handler!r} cannot be sent: {error.path}: {error.reason}"))
        called = self._sim.call(handler, payload, metadata or {}, key_of(self._definition, self._entity_id, idempotency_key))
        if isinstance(called.result, Error):
            return EntityCall(error=called.result)
        reply = decoded_reply(self._definition.handlers[handler], called.result)
        if not isinstance(called.effect, EntityCommandDone) or called.row is None:
            return EntityCall(reply)
        return EntityCall(reply, None, self._events(called.effect.events), True, self.state)

    def advance(self, duration: timedelta) -> None:
        """Let exactly this much simulated time pass; an entity whose expiry comes in it is deleted then."""
        self._sim.advance(self._later(duration))

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
        answer = fold(self._definition, Fold(1, self._definition.component_id, self._entity_id, self._sim.state, events), self._create)
        if isinstance(answer, Refused):
            raise ValueError(answer.error.message)
        return answer.state

    def _events(self, encoded: tuple[Payload, ...]) -> list[E]:
        codec = self._definition.event_codec
        assert codec is not None
        return [cast("E", codec.decode_payload(payload)) for payload in encoded]

    def _decoded(self, encoded: Payload | None) -> S:
        if encoded is None:
            return cast("S", new_object(self._definition, self._entity_id, self._create).empty_state())
        return cast("S", self._definition.state_codec.decode_payload(encoded))
