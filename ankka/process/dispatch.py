"""One command, query or fold to one handler, and its effect back as a frame.

A sync handler is answered at once, without a task; an async one gives a coroutine. Everything is encoded before it is
answered (rule W2), so what is sent to the sidecar can be journalled as it is. Whatever user code raises is `INTERNAL` to the
caller, with the traceback in the log of `ankka` only; a raised `CommandError` is the refusal it carries.

    frame ──► decode ──► handler ──► effect ──► encode ──► frame
                 └──────────┴──────────┴───────────┴─────► Refused
"""

import asyncio
import inspect
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

from ankka.codec import EncodingError
from ankka.command_error import CommandError
from ankka.context import CommandContext, StepContext
from ankka.definition.component import Component
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition
from ankka.definition.settings import microseconds
from ankka.effects.common import ABSENT
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.key_value import KeyValueEffect
from ankka.effects.workflow import WorkflowEffect
from ankka.process.dispatch_fingerprint import fingerprint_of
from ankka.process.dispatch_values import (
    Create,
    Unusable,
    decode_input,
    decode_state,
    encode,
    encode_reply,
    encode_target,
    expect_effect,
    handler_of,
    new_object,
    scope_of,
    sendable,
)
from ankka.process.fault_log import log_failure
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import EntityCommandDone, Fold, Folded, Refused, Replied, RunCommand, RunQuery, WorkflowCommandDone
from ankka.protocol.spec import ComponentKind

if TYPE_CHECKING:
    from ankka.client import ComponentClient

CommandAnswer = WorkflowCommandDone | EntityCommandDone | Replied | Refused
QueryAnswer = Replied | Refused


def run_command(
    definition: ComponentDefinition, frame: RunCommand, client: "ComponentClient | None" = None, resources: Any = None, create: Create | None = None
) -> "CommandAnswer | Coroutine[Any, Any, CommandAnswer]":
    """Run a command; the answer itself if its handler is sync, else a coroutine of it."""
    return _Request(definition, frame, client, resources, create).answer()


def run_query(
    definition: ComponentDefinition, frame: RunQuery, client: "ComponentClient | None" = None, resources: Any = None, create: Create | None = None
) -> "QueryAnswer | Coroutine[Any, Any, QueryAnswer]":
    """Run a query; the answer itself if its handler is sync, else a coroutine of it."""
    return cast("QueryAnswer | Coroutine[Any, Any, QueryAnswer]", _Request(definition, frame, client, resources, create).answer())


def fold(definition: ComponentDefinition, frame: Fold, create: Create | None = None) -> Folded | Refused:
    """Apply events to a state, as an entity is loaded."""
    where = f"{definition.component_id}/{frame.instance}"
    try:
        component = new_object(definition, frame.instance, create)
        state = decode_state(definition, component, frame.state)
        for number, payload in enumerate(frame.events):
            at = f"the event at sequence {frame.sequences[number]}" if frame.sequences else f"event {number + 1} of {len(frame.events)}"
            state = _apply(definition, component, state, _decode_event(definition, payload, f"{at} of {where}"))
        return Folded(frame.request, encode(definition.state_codec, state, f"the state of {where} after its events"))
    except Unusable as problem:
        log_failure(logging.ERROR, f"{where} cannot be folded: {problem}", problem)
        return Refused(frame.request, problem.error)
    except BaseException as error:
        log_failure(logging.ERROR, f"apply_event of {where} failed", error)
        message = f"apply_event or empty_state of {where} failed; the log of its process has the reason"
        return Refused(frame.request, Error(ErrorCode.INTERNAL, message))


def _decode_event(definition: ComponentDefinition, payload: Any, what: str) -> Any:
    assert definition.event_codec is not None
    try:
        return definition.event_codec.decode_payload(payload)
    except EncodingError as error:
        raise Unusable(f"{what} cannot be read: {error.path}: {error.reason}") from error


def _apply(definition: ComponentDefinition, component: Any, state: Any, event: Any) -> Any:
    after = component.apply_event(state, event)
    if inspect.iscoroutine(after):
        after.close()
        raise Unusable(f"apply_event of {definition.component_id!r} returned a coroutine for {type(event).__name__}, expected the state after it")
    if after is None and state is not None:
        raise Unusable(f"apply_event of {definition.component_id!r} returned None for {type(event).__name__}, expected the state after it")
    return after


class _Request:
    """One command or query on its way through its handler."""

    __slots__ = ("_client", "_component", "_create", "_definition", "_fingerprint", "_frame", "_handler", "_resources", "_state")

    def __init__(
        self, definition: ComponentDefinition, frame: RunCommand | RunQuery, client: "ComponentClient | None", resources: Any, create: Create | None
    ) -> None:
        self._definition = definition
        self._frame = frame
        self._client = client
        self._resources = resources
        self._create = create
        self._handler: HandlerDefinition
        self._fingerprint = b""
        self._component: Component[Any] | None = None
        self._state: Any = None

    @property
    def _where(self) -> str:
        frame = self._frame
        return f"{frame.handler!r} of {self._definition.component_id}/{frame.instance}"

    def answer(self) -> "CommandAnswer | Coroutine[Any, Any, CommandAnswer]":
        """Run it. An async handler's rest is a coroutine."""
        try:
            arguments = self._prepare()
            effect = self._handler.function(self._component, *arguments)
            if self._handler.is_async or inspect.isawaitable(effect):
                return self._finish_later(effect)
            return self._finish(effect)
        except BaseException as error:
            return self._refused(error)

    def _prepare(self) -> tuple[Any, ...]:
        definition, frame = self._definition, self._frame
        self._handler = handler = handler_of(definition, frame.handler, query=isinstance(frame, RunQuery))
        arguments = decode_input(handler.input, frame.input, self._where)
        if isinstance(frame, RunCommand) and frame.key is not None and not handler.read_only:
            self._fingerprint = fingerprint_of(handler, arguments, frame.input)
        self._component = component = new_object(definition, frame.instance, self._create)
        self._state = decode_state(definition, component, frame.state)
        context_type = StepContext if definition.kind is ComponentKind.WORKFLOW else CommandContext
        scope = scope_of(component)
        scope.state = self._state
        scope.context = context_type(definition.component_id, frame.instance, frame.sequence, self._client, self._resources, frame.metadata)
        return arguments

    async def _finish_later(self, effect: Any) -> CommandAnswer:
        try:
            return self._finish(await effect)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise  # nobody waits for the answer any more
            return self._refused(error)
        except BaseException as error:
            return self._refused(error)

    def _finish(self, effect: Any) -> CommandAnswer:
        definition = self._definition
        kinds = definition.cls.__ankka_effects__
        expect_effect(effect, kinds.query if self._handler.read_only else kinds.command, self._where)
        if effect.error is not None:
            answer: CommandAnswer = Refused(self._frame.request, sendable(effect.error))
        elif definition.kind is ComponentKind.WORKFLOW:
            answer = self._workflow_answer(effect)
        elif definition.kind is ComponentKind.KEY_VALUE_ENTITY:
            answer = self._key_value_answer(effect)
        else:
            answer = self._event_sourced_answer(effect)
        self._close()
        return answer

    def _workflow_answer(self, effect: WorkflowEffect[Any, Any]) -> CommandAnswer:
        definition, where, request = self._definition, self._where, self._frame.request
        changed = effect.state is not ABSENT
        state = effect.state if changed else self._state
        encoded = encode(definition.state_codec, state, f"the state {where} sets") if changed else None
        if effect.delete:
            state, encoded = self._empty_state(), None
        target = None if effect.transition is None else encode_target(definition, effect.transition, where)
        reply = encode_reply(effect.reply, self._handler.reply_codec, state, where)
        if encoded is None and target is None and not effect.delete:
            return Replied(request, reply)
        if encoded is None and self._frame.state is None and not effect.delete:
            # The first effect records the state it began with: a later change of `empty_state` is not to change it.
            encoded = encode(definition.state_codec, state, f"the empty state of {where}")
        return WorkflowCommandDone(request, reply, encoded, target, effect.delete, self._fingerprint)

    def _event_sourced_answer(self, effect: EventSourcedEffect[Any, Any, Any]) -> CommandAnswer:
        definition, where, request = self._definition, self._where, self._frame.request
        assert definition.event_codec is not None
        expiry = None if effect.expire_after is None else microseconds(effect.expire_after.after)
        events = tuple(encode(definition.event_codec, event, f"event {number} of {where}") for number, event in enumerate(effect.events, 1))
        state, encoded = self._state, None
        if events:
            folder = new_object(definition, self._frame.instance, self._create)
            for event in effect.events:
                state = _apply(definition, folder, state, event)
            encoded = encode(
                definition.state_codec, state, f"the state of {definition.component_id}/{self._frame.instance} after the events of {where}"
            )
        if effect.delete:
            state, encoded = self._empty_state(), None
        reply = encode_reply(effect.reply, self._handler.reply_codec, state, where)
        if not events and not effect.delete and expiry is None:
            return Replied(request, reply)
        return EntityCommandDone(request, reply, events, encoded, effect.delete, expiry, self._fingerprint)

    def _key_value_answer(self, effect: KeyValueEffect[Any, Any]) -> CommandAnswer:
        definition, where, request = self._definition, self._where, self._frame.request
        expiry = None if effect.expire_after is None else microseconds(effect.expire_after.after)
        changed = effect.state is not ABSENT
        state = effect.state if changed else self._state
        encoded = encode(definition.state_codec, state, f"the state {where} sets") if changed else None
        if effect.delete:
            state, encoded = self._empty_state(), None
        reply = encode_reply(effect.reply, self._handler.reply_codec, state, where)
        if not changed and not effect.delete:
            return Replied(request, reply)
        return EntityCommandDone(request, reply, (), encoded, effect.delete, None if effect.delete else expiry, self._fingerprint)

    def _empty_state(self) -> Any:
        return new_object(self._definition, self._frame.instance, self._create).empty_state()

    def _refused(self, error: BaseException) -> Refused:
        """What the caller gets for an exception: a refusal as it is, else `INTERNAL` without its text."""
        self._close()
        request = self._frame.request
        if isinstance(error, CommandError):
            return Refused(request, sendable(error.error))
        if isinstance(error, Unusable):
            if error.error.code is ErrorCode.INTERNAL:
                log_failure(logging.ERROR, str(error), error)
            return Refused(request, error.error)
        log_failure(logging.ERROR, f"{self._where} failed", error)
        return Refused(request, Error(ErrorCode.INTERNAL, f"{self._where} failed; the log of its process has the reason"))

    def _close(self) -> None:
        if self._component is not None:
            scope_of(self._component).close()


def _is_cancelled() -> bool:
    """Whether the task that runs this was asked to stop, as against code that raised `CancelledError` by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
