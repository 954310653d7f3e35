"""The component client: calls workflows and entities, from handlers and from outside.

Inside a handler it is `self.context.client` and shares the process's one connection; outside,
`async with ComponentClient("http://127.0.0.1:9000") as client` has a session of its own and reconnects.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

from ankka.calls.caller import Caller, CallLink, Origin, Target
from ankka.calls.component_calls import Calls, EventSourcedCalls, KeyValueCalls, WorkflowCalls
from ankka.calls.ending import Ended, Failed, Heartbeat, TimedOut
from ankka.command_error import CommandError
from ankka.process.client_session import ClientSession
from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.spec import ComponentKind

if TYPE_CHECKING:
    from ankka.event_sourced_entity import EventSourcedEntity
    from ankka.key_value_entity import KeyValueEntity
    from ankka.workflow import Workflow

__all__ = [
    "Calls",
    "CommandError",
    "ComponentClient",
    "Ended",
    "EventSourcedCalls",
    "Failed",
    "Heartbeat",
    "KeyValueCalls",
    "TimedOut",
    "WorkflowCalls",
    "WorkflowLifecycle",
]

W = TypeVar("W", bound="Workflow[Any]")
E = TypeVar("E", bound="EventSourcedEntity[Any, Any]")
K = TypeVar("K", bound="KeyValueEntity[Any]")


class ComponentClient:
    """Calls components by kind, id and handler; a refusal raises `CommandError`.

    From outside, with the sidecar's address as `start()` prints it and, if the sidecar asks for one, a token::

        async with ComponentClient("http://127.0.0.1:9000") as client:
            await client.for_workflow("checkout", "c1").call("start").invoke("ok")

    Entering does not wait for the sidecar: calls do, within their time (30 s unless `.with_timeout(…)` says otherwise),
    and raise `UNAVAILABLE` if they could not be sent until then. The connection comes back by itself.
    """

    __slots__ = ("_caller", "_session")

    def __init__(self, url: str, token: str | None = None) -> None:
        self._session: ClientSession | None = ClientSession(url, token)
        self._caller: Caller | None = None

    @classmethod
    def inside(cls, link: CallLink, origin: Origin) -> "ComponentClient":
        """The client of a handler: on the process's connection, within the time and chain of what it runs in."""
        client = object.__new__(cls)
        client._session = None
        client._caller = Caller(link, origin)
        return client

    async def __aenter__(self) -> Self:
        if self._session is None:
            raise RuntimeError("the client of a handler is open already; use it without `async with`")
        await self._session.open()
        self._caller = Caller(self._session)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._session is not None:
            self._caller = None
            await self._session.close()

    @overload
    def for_workflow(self, component: str, id: str) -> Calls: ...
    @overload
    def for_workflow(self, component: type[W], id: str) -> WorkflowCalls[W]: ...
    def for_workflow(self, component: Any, id: str) -> Calls:
        """The workflow instance `id` of a component: by its id, or by its class, which types the calls."""
        if isinstance(component, str):
            return Calls(self._open(), Target(ComponentKind.WORKFLOW, component, id))
        return WorkflowCalls(self._open(), _target(ComponentKind.WORKFLOW, component, id), component)

    @overload
    def for_event_sourced_entity(self, component: str, id: str) -> Calls: ...
    @overload
    def for_event_sourced_entity(self, component: type[E], id: str) -> EventSourcedCalls[E]: ...
    def for_event_sourced_entity(self, component: Any, id: str) -> Calls:
        """The event sourced entity `id` of a component: by its id, or by its class, which types the calls."""
        if isinstance(component, str):
            return Calls(self._open(), Target(ComponentKind.EVENT_SOURCED_ENTITY, component, id))
        return EventSourcedCalls(self._open(), _target(ComponentKind.EVENT_SOURCED_ENTITY, component, id), component)

    @overload
    def for_key_value_entity(self, component: str, id: str) -> Calls: ...
    @overload
    def for_key_value_entity(self, component: type[K], id: str) -> KeyValueCalls[K]: ...
    def for_key_value_entity(self, component: Any, id: str) -> Calls:
        """The key value entity `id` of a component: by its id, or by its class, which types the calls."""
        if isinstance(component, str):
            return Calls(self._open(), Target(ComponentKind.KEY_VALUE_ENTITY, component, id))
        return KeyValueCalls(self._open(), _target(ComponentKind.KEY_VALUE_ENTITY, component, id), component)

    def _open(self) -> Caller:
        if self._caller is None:
            raise RuntimeError("the client is not open; write `async with ComponentClient(…) as client:` and call within it")
        return self._caller


def _target(kind: ComponentKind, component: Any, instance: str) -> Target:
    declared = getattr(component, "__ankka_kind__", None)
    if declared is not kind:
        method = "for_" + str(declared).replace("-", "_") if isinstance(declared, ComponentKind) else "the component's id"
        raise TypeError(f"{component!r} is no {kind.value}; use {method}")
    return Target(kind, cast("str", component.component_id), instance)
