"""A kit that runs an event sourced entity's commands and queries by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from ankka.calls.caller import Origin
from ankka.codec import EncodingError
from ankka.definition.build import definition_of
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.process.dispatch import CommandAnswer, fold, run_command
from ankka.process.dispatch_values import new_object
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Fold, Refused, RunCommand
from ankka.protocol.payload import Payload
from ankka.testkit.handler_runs import decoded_reply, encoded_input, handler_name, run_scripted
from ankka.testkit.scripted_calls import Script, When

S = TypeVar("S")
E = TypeVar("E")
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class EntityCall(Generic[S, E]):
    """What a command or a query came to. `persisted`: it left something in the journal; `new_state` is then the state after it."""

    reply: Any = None
    error: Error | None = None
    events: list[E] = field(default_factory=list[E])
    persisted: bool = False
    new_state: S | None = None


class EventSourcedTestKit(Generic[S, E]):
    """One entity, by hand, on the code that runs it in production: values are encoded, decoded and checked.

    kit = EventSourcedTestKit.of(ShoppingCartEntity, "k1")
    assert kit.call("add-item", Item("pen", 2)).events == [ItemAdded("pen", 2)]
    assert kit.call("total-quantity").reply == 2
    """

    def __init__(self, entity: type[EventSourcedEntity[S, E]], entity_id: str, create: Callable[[], Any] | None, resources: Any) -> None:
        self._definition = definition_of(entity)
        self._entity_id = entity_id
        self._create = create
        self._resources = resources
        self._script = Script()
        self._encoded: Payload | None = None
        self.all_events: list[E] = []
        """Every event so far; none after a deletion."""
        self.sequence = 0
        """How many effects are in the journal."""
        self.deleted = False
        """Whether the last effect deleted the entity."""

    @staticmethod
    def of(
        entity: type[EventSourcedEntity[T, U]], entity_id: str = "test", *, create: Callable[[], Any] | None = None, resources: Any = None
    ) -> "EventSourcedTestKit[T, U]":
        """A kit for a new entity; `create` makes the entity's objects, `resources` is `context.resources`."""
        return EventSourcedTestKit(entity, entity_id, create, resources)

    @property
    def state(self) -> S:
        """The state after all events."""
        if self._encoded is None:
            return cast("S", new_object(self._definition, self._entity_id, self._create).empty_state())
        return cast("S", self._definition.state_codec.decode_payload(self._encoded))

    def when(self, component: str | type[Any], handler: str | Callable[..., Any]) -> When:
        """Say how calls to another component are answered: `kit.when("prices", "of").reply(3)`."""
        return When(self._script, component, handler)

    def call(self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None) -> EntityCall[S, E]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        handler = handler_name(name)
        try:
            payload = encoded_input(self._definition, handler, input)
        except EncodingError as error:
            return EntityCall(error=Error(ErrorCode.BAD_REQUEST, f"the input of {handler!r} cannot be sent: {error.path}: {error.reason}"))
        frame = RunCommand(
            1, self._definition.component_id, self._entity_id, handler, payload, self._encoded, self.sequence, 10_000_000, dict(metadata or {})
        )
        origin = Origin(chain=(f"{self._definition.component_id}/{self._entity_id}",))
        answer: CommandAnswer = run_scripted(
            self._script, origin, lambda client: run_command(self._definition, frame, client, self._resources, self._create)
        )
        if isinstance(answer, Refused):
            return EntityCall(error=answer.error)
        reply = decoded_reply(self._definition.handlers[handler], answer.reply)
        return self._persisted(reply, answer) if isinstance(answer, EntityCommandDone) else EntityCall(reply)

    def replay(self, *events: E) -> S:
        """Put events into the journal, each as an effect of its own, as if commands had; the state after them."""
        codec = self._definition.event_codec
        assert codec is not None
        encoded = tuple(codec.encode_payload(event) for event in events)
        answer = fold(self._definition, Fold(1, self._definition.component_id, self._entity_id, self._encoded, encoded), self._create)
        if isinstance(answer, Refused):
            raise ValueError(answer.error.message)
        if events:
            self._encoded = answer.state
            self.sequence += len(events)
            self.all_events.extend(events)
            self.deleted = False
        return self.state

    def _persisted(self, reply: Any, answer: EntityCommandDone) -> EntityCall[S, E]:
        codec = self._definition.event_codec
        assert codec is not None
        events = [cast("E", codec.decode_payload(payload)) for payload in answer.events]
        self.sequence += 1
        self.deleted = answer.delete
        if answer.delete:
            self.all_events.clear()
            self._encoded = None
        else:
            self.all_events.extend(events)
            self._encoded = answer.state or self._encoded
        return EntityCall(reply, None, events, True, self.state)
