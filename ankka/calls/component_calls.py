"""What can be called on one instance: `Calls` by names, and its subclasses typed by the component's class."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

import msgspec

from ankka.calls.caller import Caller, Target
from ankka.calls.ending import LIFECYCLE, Ended, EndWait, Failed, Heartbeat, TimedOut
from ankka.calls.invocation import Invocation, TypedInvocation, WorkflowInvocation
from ankka.codec import default_codec_for
from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from ankka.definition.component import Component
    from ankka.definition.definitions import HandlerDefinition
    from ankka.effects.event_sourced import EventSourcedEffect
    from ankka.effects.key_value import KeyValueEffect
    from ankka.effects.workflow import WorkflowEffect

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
C = TypeVar("C", bound="Component[Any]")

END_TIMEOUT = timedelta(seconds=30)

_decode_lifecycle = msgspec.json.Decoder(WorkflowLifecycle).decode


@dataclass(frozen=True, slots=True)
class Calls:
    """The handlers of one instance, called by their wire names::

    cart = client.for_event_sourced_entity("shopping-cart", "k1")
    total = await cart.call("total-quantity").invoke(reply=int)
    """

    _caller: Caller
    _target: Target

    def call(self, handler: str) -> Invocation:
        """The command or query of that wire name, to be invoked."""
        return _by_name(self._caller, self._target, handler)

    def with_timeout(self, timeout: timedelta) -> Self:
        """A copy whose calls wait at most `timeout`."""
        return replace(self, _caller=self._caller.with_timeout(timeout))

    def with_metadata(self, metadata: Mapping[str, str]) -> Self:
        """A copy whose calls send `metadata` along."""
        return replace(self, _caller=self._caller.with_metadata(metadata))

    def with_idempotency_key(self, key: str | None) -> Self:
        """A copy whose commands carry `key`: see `Invocation.with_idempotency_key`. Give each command a key of its own."""
        return replace(self, _caller=self._caller.with_idempotency_key(self._target, key))

    def named(self, name: str) -> Self:
        """A copy whose commands are told apart by `name` instead of by their input: see `Invocation.named`."""
        return replace(self, _caller=self._caller.named(name))

    async def lifecycle(self) -> WorkflowLifecycle:
        """The engine's own view of the workflow: its status, pending step, retries, failure. Needs no process; `TypeError` for an entity::

        if (await client.for_workflow("checkout", "c1").lifecycle()).is_terminal: ...
        """
        if self._target.kind is not ComponentKind.WORKFLOW:
            raise TypeError(f"{self._target.component!r} is an entity: only a workflow has a lifecycle")
        payload = await self._caller.ask(self._target, LIFECYCLE, None, repeatable=True)
        return _decode_lifecycle(payload.data)

    def lifecycle_sync(self) -> WorkflowLifecycle:
        """`lifecycle` for sync steps and other threads."""
        return self._caller.wait_for(self.lifecycle(), "lifecycle")

    @overload
    async def await_end(self, timeout: timedelta = END_TIMEOUT) -> None: ...
    @overload
    async def await_end(self, timeout: timedelta = END_TIMEOUT, *, reply: "TypeForm[T]") -> T: ...
    async def await_end(self, timeout: timedelta = END_TIMEOUT, *, reply: Any = None) -> Any:
        """Wait until the workflow's run has ended, and return its end state as a `reply`.

        `CommandError` with `WORKFLOW_FAILED` if it failed, with `TIMEOUT` if it has not ended within `timeout`
        (default 30 s; in a step at most what is left of it). The workflow goes on in any case. It is one run that is awaited:
        the present one, or the first if none has begun. Restarts of the sidecar are waited out; if the run is then another,
        that is a `CONFLICT`, and `NOT_FOUND` if the instance was deleted::

            end = await client.for_workflow("checkout", "c1").await_end(timedelta(seconds=30), reply=Checkout)
        """
        payload = await EndWait(self._caller, self._target, timeout).end()
        return None if reply is None else default_codec_for(reply).decode_payload(payload)

    @overload
    def await_end_sync(self, timeout: timedelta = END_TIMEOUT) -> None: ...
    @overload
    def await_end_sync(self, timeout: timedelta = END_TIMEOUT, *, reply: "TypeForm[T]") -> T: ...
    def await_end_sync(self, timeout: timedelta = END_TIMEOUT, *, reply: Any = None) -> Any:
        """`await_end` for sync steps and other threads."""
        return self._caller.wait_for(self.await_end(timeout, reply=reply), "await_end")

    @overload
    def await_end_parts(self, timeout: timedelta = END_TIMEOUT) -> AsyncGenerator[Heartbeat | Ended[None] | Failed | TimedOut]: ...
    @overload
    def await_end_parts(
        self, timeout: timedelta = END_TIMEOUT, *, reply: "TypeForm[T]"
    ) -> AsyncGenerator[Heartbeat | Ended[T] | Failed | TimedOut]: ...
    def await_end_parts(self, timeout: timedelta = END_TIMEOUT, *, reply: Any = None) -> AsyncGenerator[Any]:
        """`await_end` as an async iterator: a `Heartbeat` about every second, last one of `Ended`, `Failed` and `TimedOut`::

            async for part in client.for_workflow("checkout", "c1").await_end_parts(timedelta(minutes=5), reply=Checkout):
                match part:
                    case Heartbeat(lifecycle): print("still", lifecycle and lifecycle.step)
                    case Ended(state): print("ended as", state)
                    case Failed(message, code): print("failed:", message)
                    case TimedOut(): print("it goes on")

        The first heartbeat comes at once if the run has not ended. Other errors are raised as by `await_end`.
        """
        decode = _nothing if reply is None else default_codec_for(reply).decode_payload
        return EndWait(self._caller, self._target, timeout).parts(decode)


@dataclass(frozen=True, slots=True)
class WorkflowCalls(Calls, Generic[C]):
    """The handlers of a workflow, by name or by method: `.call(CheckoutWorkflow.start)`."""

    _component: type[C]

    @overload
    def call(self, handler: str) -> Invocation: ...
    @overload
    def call(
        self, handler: "Callable[Concatenate[C, P], WorkflowEffect[S, R] | Coroutine[Any, Any, WorkflowEffect[S, R]]]"
    ) -> WorkflowInvocation[P, R, S]: ...
    def call(self, handler: Any) -> Any:
        """The command or query of that wire name, or of that method."""
        if isinstance(handler, str):
            return Invocation(self._caller, self._target, handler)
        definition = _handler_of(self._component, handler)
        invocation: WorkflowInvocation[..., Any, Any] = WorkflowInvocation(
            self._caller, self._target, definition.name, definition, self._component.state_codec.decode_payload
        )
        return invocation


@dataclass(frozen=True, slots=True)
class EventSourcedCalls(Calls, Generic[C]):
    """The handlers of an event sourced entity, by name or by method."""

    _component: type[C]

    @overload
    def call(self, handler: str) -> Invocation: ...
    @overload
    def call(
        self, handler: "Callable[Concatenate[C, P], EventSourcedEffect[Any, Any, R] | Coroutine[Any, Any, EventSourcedEffect[Any, Any, R]]]"
    ) -> TypedInvocation[P, R]: ...
    def call(self, handler: Any) -> Any:
        """The command or query of that wire name, or of that method."""
        return _call(self._caller, self._target, self._component, handler)


@dataclass(frozen=True, slots=True)
class KeyValueCalls(Calls, Generic[C]):
    """The handlers of a key value entity, by name or by method."""

    _component: type[C]

    @overload
    def call(self, handler: str) -> Invocation: ...
    @overload
    def call(
        self, handler: "Callable[Concatenate[C, P], KeyValueEffect[Any, R] | Coroutine[Any, Any, KeyValueEffect[Any, R]]]"
    ) -> TypedInvocation[P, R]: ...
    def call(self, handler: Any) -> Any:
        """The command or query of that wire name, or of that method."""
        return _call(self._caller, self._target, self._component, handler)


def _by_name(caller: Caller, target: Target, handler: object) -> Invocation:
    if isinstance(handler, str):
        return Invocation(caller, target, handler)
    raise TypeError(
        f"{target.component!r} is named by its id, so its handlers are called by wire name, not by {getattr(handler, '__qualname__', handler)!s}; "
        f'write .call("wire-name"), or give the class: client.for_{target.kind.replace("-", "_")}(TheClass, {target.instance!r})'
    )


def _call(caller: Caller, target: Target, component: "type[Component[Any]]", handler: Any) -> Any:
    if isinstance(handler, str):
        return Invocation(caller, target, handler)
    definition = _handler_of(component, handler)
    invocation: TypedInvocation[..., Any] = TypedInvocation(caller, target, definition.name, definition)
    return invocation


def _handler_of(component: "type[Component[Any]]", method: object) -> "HandlerDefinition":
    """The definition behind `CheckoutWorkflow.start`; `TypeError` if the method is no command or query of the class."""
    from ankka.definition.build import definition_of

    name = getattr(method, "__name__", None)
    for handler in definition_of(component).handlers.values():
        if handler.method == name and handler.function in (method, getattr(component, handler.method, None)):
            return handler
    raise TypeError(
        f"{getattr(method, '__qualname__', method)!s} is no command or query of {component.__name__}; "
        "give its wire name, or the method as the class has it, for example .call(CheckoutWorkflow.start)"
    )


def _nothing(payload: Payload) -> None:
    """An end state that nobody asked for."""
