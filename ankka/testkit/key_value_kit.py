"""A kit that runs a key value entity's commands and queries by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from ankka.calls.caller import Origin
from ankka.codec import EncodingError
from ankka.definition.build import definition_of
from ankka.key_value_entity import KeyValueEntity
from ankka.process.dispatch import CommandAnswer, run_command
from ankka.process.dispatch_values import new_object
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Refused, RunCommand
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind
from ankka.testkit.handler_runs import decoded_reply, encoded_input, handler_name, run_scripted
from ankka.testkit.scripted_calls import Script, When

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeyValueCall(Generic[S]):
    """What a command or a query came to. `changed`: it set the state or deleted the entity; `new_state` is then the state after it."""

    reply: Any = None
    error: Error | None = None
    changed: bool = False
    new_state: S | None = None


class KeyValueTestKit(Generic[S]):
    """One entity, by hand, on the code that runs it in production: values are encoded, decoded and checked.

    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    assert kit.call("rename", "Aino").changed
    assert kit.state == Profile("Aino")
    """

    def __init__(self, entity: type[KeyValueEntity[S]], entity_id: str, create: Callable[[], Any] | None, resources: Any) -> None:
        self._definition = definition_of(entity)
        if self._definition.kind is not ComponentKind.KEY_VALUE_ENTITY:
            other = "EventSourcedTestKit" if self._definition.kind is ComponentKind.EVENT_SOURCED_ENTITY else "WorkflowTestKit"
            raise TypeError(f"{entity.__name__} is no key value entity; use {other}")
        self._entity_id = entity_id
        self._create = create
        self._resources = resources
        self._script = Script()
        self._encoded: Payload | None = None
        self.sequence = 0
        """How many effects are in the journal; none after a deletion."""
        self.deleted = False
        """Whether the last effect deleted the entity."""

    @staticmethod
    def of(
        entity: type[KeyValueEntity[T]], entity_id: str = "test", *, create: Callable[[], Any] | None = None, resources: Any = None
    ) -> "KeyValueTestKit[T]":
        """A kit for a new entity; `create` makes the entity's objects, `resources` is `context.resources`."""
        return KeyValueTestKit(entity, entity_id, create, resources)

    @property
    def state(self) -> S:
        """The state as it was last set, else the empty one."""
        if self._encoded is None:
            return cast("S", new_object(self._definition, self._entity_id, self._create).empty_state())
        return cast("S", self._definition.state_codec.decode_payload(self._encoded))

    def when(self, component: str | type[Any], handler: str | Callable[..., Any]) -> When:
        """Say how calls to another component are answered: `kit.when("prices", "of").reply(3)`."""
        return When(self._script, component, handler)

    def call(self, name: str | Callable[..., Any], input: Any = None, *, metadata: Mapping[str, str] | None = None) -> KeyValueCall[S]:
        """Call a command or a query, by wire name or method. A refusal is in `.error`, as its caller would get it."""
        handler = handler_name(name)
        try:
            payload = encoded_input(self._definition, handler, input)
        except EncodingError as error:
            return KeyValueCall(error=Error(ErrorCode.BAD_REQUEST, f"the input of {handler!r} cannot be sent: {error.path}: {error.reason}"))
        frame = RunCommand(
            1, self._definition.component_id, self._entity_id, handler, payload, self._encoded, self.sequence, 10_000_000, dict(metadata or {})
        )
        origin = Origin(chain=(f"{self._definition.component_id}/{self._entity_id}",))
        answer: CommandAnswer = run_scripted(
            self._script, origin, lambda client: run_command(self._definition, frame, client, self._resources, self._create)
        )
        if isinstance(answer, Refused):
            return KeyValueCall(error=answer.error)
        reply = decoded_reply(self._definition.handlers[handler], answer.reply)
        return self._changed(reply, answer) if isinstance(answer, EntityCommandDone) else KeyValueCall(reply)

    def _changed(self, reply: Any, answer: EntityCommandDone) -> KeyValueCall[S]:
        if answer.delete:
            self.deleted = self.deleted or self.sequence > 0
            changed = self.sequence > 0
            self.sequence, self._encoded = 0, None
            return KeyValueCall(reply, None, changed, self.state if changed else None)
        self.deleted = False
        self.sequence += 1
        self._encoded = answer.state
        return KeyValueCall(reply, None, True, self.state)
