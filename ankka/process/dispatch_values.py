"""Values between frames and handlers: decoded before a handler runs, encoded and checked before anything is answered.

`Unusable` is a refusal of ours, not of user code: what cannot be decoded, what is no effect, what cannot be encoded. Its
text is meant for the caller; it names component, instance and handler, never what an exception of user code said.
"""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from ankka.codec import Codec, Done, EncodingError, default_codec_for
from ankka.definition.component import Component, Scope
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition, InputDefinition
from ankka.definition.problems import suggestion
from ankka.effects.common import Reply, ReplyDone, ReplyFrom, ReplyState, ReplyValue
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.key_value import KeyValueEffect
from ankka.effects.workflow import StepRef, WorkflowEffect, WorkflowStepEffect
from ankka.protocol.errors import Error, ErrorCode, clean_text
from ankka.protocol.payload import NOTHING, Payload, StepTarget

Create = Callable[[], Any]

MESSAGE_LIMIT = 4_000
"""Characters of an error's text that are kept."""

_DONE: Codec[Any] = default_codec_for(Done)
_done_payload = _DONE.encode_payload(Done())


class Unusable(Exception):
    """Why a request cannot be done, or its effect cannot be used."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.INTERNAL) -> None:
        super().__init__(message)
        self.error: Error = Error(code, clean_text(message))


class Unreadable(Unusable):
    """A step's state or input is of another version of the code: nothing was run, and another version may run it."""


def sendable(error: Error) -> Error:
    r"""A refusal of user code as it can be sent: its text cleaned and bounded, details only if they are plain data.

    >>> sendable(Error(ErrorCode.CONFLICT, "no\x00stock", {"of": object()}))
    Error(code=<ErrorCode.CONFLICT: 'CONFLICT'>, message='no\\x00stock', details={'unsent': "details that are no plain data: ['of']"})
    """
    message = clean_text(error.message)
    if len(message) > MESSAGE_LIMIT:
        message = f"{message[:MESSAGE_LIMIT]}…"
    try:
        msgspec.msgpack.encode(error.details)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return Error(error.code, message, {"unsent": clean_text(f"details that are no plain data: {list(error.details)}")})
    return Error(error.code, message, error.details)


def new_object(definition: ComponentDefinition, entity_id: str, create: Create | None) -> Component[Any]:
    """A fresh object of the component, knowing only its id."""
    made: Any = definition.cls() if create is None else create()
    if definition.cls not in type(made).__mro__:
        raise Unusable(f"create= of {definition.component_id!r} made {type(made).__name__}, expected {definition.cls.__name__}")
    if made.__ankka_scope__ is not None:
        raise Unusable(f"create= of {definition.component_id!r} gave the same object twice; it must make a fresh one per call")
    made.__ankka_scope__ = Scope(entity_id)
    return cast("Component[Any]", made)


def scope_of(component: Component[Any]) -> Scope:
    """The scope `new_object` gave it."""
    scope = component.__ankka_scope__
    assert scope is not None
    return scope


def handler_of(definition: ComponentDefinition, name: str, *, query: bool = False) -> HandlerDefinition:
    """The handler of that wire name, which must be a query if one is asked for; `NOT_FOUND` with the nearest name."""
    handler = definition.handlers.get(name)
    if handler is None or (query and not handler.read_only):
        known = [one.name for one in definition.handlers.values() if one.read_only or not query]
        kind = "query" if query else "handler"
        raise Unusable(f"{definition.component_id!r} has no {kind} {name!r}{suggestion(name, known)}", ErrorCode.NOT_FOUND)
    return handler


def decode_state(definition: ComponentDefinition, component: Component[Any], payload: Payload | None) -> Any:
    """The state a handler sees: the journalled one, or the empty one."""
    if payload is None:
        return component.empty_state()
    try:
        return definition.state_codec.decode_payload(payload)
    except EncodingError as error:
        raise Unusable(f"the state of {definition.component_id}/{component.entity_id} cannot be read: {error.path}: {error.reason}") from error


def decode_input(taken: InputDefinition | None, payload: Payload | None, where: str) -> tuple[Any, ...]:
    """The arguments of a handler; an input that is missing, too much or of another type is a `BAD_REQUEST`."""
    if taken is None:
        if payload is not None and payload.data and payload.content_type != NOTHING:
            raise Unusable(f"{where} takes no input, but one was given", ErrorCode.BAD_REQUEST)
        return ()
    if payload is None or (payload.content_type == NOTHING and not payload.data):
        if taken.optional:
            return ()
        if taken.takes_none:
            return (None,)
        raise Unusable(f"{where} needs an input: {taken.name}, {taken.codec.type_name}", ErrorCode.BAD_REQUEST)
    try:
        return (taken.codec.decode_payload(payload),)
    except EncodingError as error:
        raise Unusable(f"the input of {where} cannot be read: {error.path}: {error.reason}", ErrorCode.BAD_REQUEST) from error


def encode(codec: Codec[Any], value: Any, what: str) -> Payload:
    """The encoded value, checked that it comes back equal; `what` names it where it does not."""
    try:
        return codec.encode_payload(value)
    except EncodingError as error:
        raise Unusable(f"{what} cannot be encoded: {error.path}: {error.reason}") from error


def encode_reply(reply: Reply, codec: Codec[Any], state: Any, where: str) -> Payload:
    """The reply to an effect, from the new state (rule W2)."""
    match reply:
        case ReplyValue(value):
            return encode(codec, value, f"the reply of {where}")
        case ReplyFrom(function):
            return encode(codec, function(state), f"the reply of {where}")
        case ReplyState():
            return encode(codec, state, f"the reply of {where}")
        case ReplyDone():
            return _done_payload


def encode_target(definition: ComponentDefinition, target: StepRef, where: str) -> StepTarget:
    """A transition's target, by the step's declared name, with its input checked."""
    step = definition.step(target.step)
    if step is None:
        known = [name for one in definition.steps.values() for name in (one.name, *one.aliases)]
        raise Unusable(
            f"{where} leads to the step {target.step!r}, which {definition.component_id!r} does not declare{suggestion(target.step, known)}"
        )
    taken = step.input
    if taken is None:
        if target.input is not None:
            raise Unusable(f"{where} gives the step {step.name!r} an input of type {type(target.input).__name__}, but the step takes none")
        return StepTarget(step.name)
    if target.input is None:
        if taken.optional or taken.takes_none:
            return StepTarget(step.name)
        raise Unusable(f"{where} gives the step {step.name!r} no input, but the step needs one: {taken.name}, {taken.codec.type_name}")
    return StepTarget(step.name, encode(taken.codec, target.input, f"the input {where} gives the step {step.name!r}"))


def expect_effect(effect: object, expected: type[Any], where: str) -> None:
    """Refuse what a handler returned unless it is the effect of its kind."""
    if isinstance(effect, expected):
        return
    step = expected is WorkflowStepEffect
    fix = f"return what self.{'step_effects' if step else 'effects'} builds"
    if effect is None:
        raise Unusable(f"{where} returned None, expected an effect ({expected.__name__}); {fix}")
    name = type(effect).__name__
    if name in ("Replying", "Updating", "Persisting"):
        raise Unusable(f"{where} returned an effect without a reply; end it with .then_reply(…), .then_reply_state() or .then_no_reply()")
    if name == "StepOutcome":
        ends = ".then_transition_to(…), .then_pause(), .then_end() or .then_fail(…)"
        raise Unusable(f"{where} returned an effect that does not say what is next; end it with {ends}")
    if not step and isinstance(effect, WorkflowEffect | EventSourcedEffect | KeyValueEffect):
        fix = "a query changes nothing: end it with self.effects.reply(…), or make it a @command"
    raise Unusable(f"{where} returned {name}, expected an effect ({expected.__name__}); {fix}")
