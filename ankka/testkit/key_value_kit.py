"""A kit that runs a key value entity without a sidecar, on the engine's own rules and a simulated clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast

from ankka_sidecar.core.events import Deleted

from ankka.codec import EncodingError
from ankka.key_value_entity import KeyValueEntity
from ankka.process.dispatch_values import new_object
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.spec import ComponentKind
from ankka.testkit.entity_simulation import EntitySimulation
from ankka.testkit.handler_runs import decoded_reply, definition_for, encoded_input, handler_name, instant_of, key_of
from ankka.testkit.process_work import Hosted
from ankka.testkit.scripted_calls import Script
from ankka.testkit.simulated_kit import SimulatedKit

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeyValueCall(Generic[S]):
    """What a command or a query came to. `changed`: it set the state or deleted the entity; `new_state` is then the state after it."""

    reply: Any = None
    error: Error | None = None
    changed: bool = False
    new_state: S | None = None


class KeyValueTestKit(SimulatedKit, Generic[S]):
    """One entity, on the engine's own rules: values are encoded, decoded and checked, and it expires when `advance` says so.

    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    assert kit.call("rename", "Aino").changed
    assert kit.state == Profile("Aino")
    """

    def __init__(
        self, entity: type[KeyValueEntity[S]], entity_id: str, create: Callable[[], Any] | None, resources: Any, now: datetime | None = None
    ) -> None:
        self._definition = definition_for(entity, ComponentKind.KEY_VALUE_ENTITY)
        self._entity_id = entity_id
        self._create = create
        script = Script()
        self._sim = EntitySimulation(Hosted(self._definition, create, resources, script), entity_id, instant_of(now))
        super().__init__(script, self._sim)

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

    @property
    def state(self) -> S:
        """The state as it was last set, else the empty one."""
        encoded = self._sim.state
        if encoded is None:
            return cast("S", new_object(self._definition, self._entity_id, self._create).empty_state())
        return cast("S", self._definition.state_codec.decode_payload(encoded))

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
    ) -> KeyValueCall[S]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        handler = handler_name(name)
        try:
            payload = encoded_input(self._definition, handler, input)
        except EncodingError as error:
            return KeyValueCall(error=Error(ErrorCode.BAD_REQUEST, f"the input of {handler!r} cannot be sent: {error.path}: {error.reason}"))
        called = self._sim.call(handler, payload, metadata or {}, key_of(self._definition, self._entity_id, idempotency_key))
        if isinstance(called.result, Error):
            return KeyValueCall(error=called.result)
        reply = decoded_reply(self._definition.handlers[handler], called.result)
        return KeyValueCall(reply) if called.row is None else KeyValueCall(reply, None, True, self.state)

    def advance(self, duration: timedelta) -> None:
        """Let exactly this much simulated time pass; an entity whose expiry comes in it is deleted then."""
        self._sim.advance(self._later(duration))
