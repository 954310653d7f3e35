"""Answers a test gives for calls to other components, and the link that gives them.

The last thing said of a handler counts; what was said with `times=` is used up first, in order. A call with an idempotency key
(every command that a step calls has one) is done once: an equal call of a later attempt gets the recorded reply (W16).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from ankka_sidecar.core.limits import Limits

from ankka.codec import Codec, Done, EncodingError, default_codec_for
from ankka.codecs.canonical import canonical
from ankka.command_error import CommandError
from ankka.definition.build import definition_of
from ankka.definition.marks import Role, marks_of
from ankka.protocol import keys
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import JSON, NOTHING, Payload

KEPT = Limits()
"""How long replies are kept: as by a sidecar that was told nothing else."""


class UnscriptedCall(AssertionError):
    """Tested code called something the test has no answer for."""


class Hang:
    """The answer that never comes."""


Answer = Payload | CommandError | Hang
Handler = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that reached the script: recorded replies, given again to a retry, are not among them."""

    component: str
    instance: str
    handler: str
    input: Any = None
    """What was sent, as plain data: what the JSON holds, bytes, or the text of anything simple (`"1"`); `None` without an input."""


@dataclass(slots=True)
class _Answers:
    """What is said of one handler: `always` after the `first` ones."""

    first: "deque[Answer]" = field(default_factory=deque["Answer"])
    always: Answer | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A keyed call that was done: what was asked, and its reply."""

    asked: bytes
    what: str
    reply: Payload
    until: int
    """The instant (µs) from which on it counts no more."""


class Script:
    """The answers of one kit: by component and handler."""

    def __init__(self) -> None:
        self._answers: dict[Handler, _Answers] = {}
        self._queries: set[Handler] = set()
        self.calls: list[ScriptedCall] = []
        self.recorded: dict[bytes, Recorded] = {}
        """By key, what keyed calls were answered."""

    def answer(self, handler: Handler, answer: Answer, times: int | None) -> None:
        """Answer the next `times` calls of `handler`; without a number every call that no such answer is left for."""
        answers = self._answers.setdefault(handler, _Answers())
        if times is None:
            answers.always = answer
        elif times < 1:
            raise ValueError(f"times={times}: an answer is given once at least; leave it out for every call")
        else:
            answers.first.extend([answer] * times)

    def is_query(self, handler: Handler) -> None:
        """Replies of `handler` are not recorded: a query is asked anew each time."""
        self._queries.add(handler)

    def recorded_for(self, call: Call, now: int) -> Payload | None:
        """The reply an equal call got before; `CommandError` if its key was used for another input."""
        found = None if call.key is None else self.recorded.get(call.key)
        if found is None or found.until <= now:
            return None
        if found.asked != canonical(call.input):
            text = f"the idempotency key of this call to '{call.handler}' was used for {call.component}/{call.instance} with another input before"
            raise CommandError(f"{text}; nothing was done: give another call another key", ErrorCode.CONFLICT)
        return found.reply

    def take(self, call: Call, now: int) -> Answer:
        """The answer to a call, which is noted; `UnscriptedCall` if there is none."""
        handler = (call.component, call.handler)
        answers = self._answers.get(handler, _Answers())
        answer = answers.first.popleft() if answers.first else answers.always
        if answer is None:
            where = f"kit.when({call.component!r}, {call.handler!r})"
            called = f"{call.component}/{call.instance} was called with {call.handler!r}"
            raise UnscriptedCall(f"{called}, and the kit has no answer: say {where}.reply(…) or {where}.refuse(…) first")
        self.calls.append(ScriptedCall(call.component, call.instance, call.handler, _plain(call.input)))
        if call.key is not None and isinstance(answer, Payload) and handler not in self._queries:
            kept = KEPT.step_call_retention if call.key.startswith(keys.STEP) else KEPT.idempotency_retention
            self.recorded[call.key] = Recorded(canonical(call.input), f"{call.component}/{call.instance} {call.handler}", answer, now + kept)
        return answer


class When:
    """What `kit.when(component, handler)` gives: say how the call is answered.

    By names the handler is taken for a command. By class and method it is known which are queries: those are asked anew by
    a retry, as in production.
    """

    def __init__(self, script: Script, component: "str | type[Any]", handler: "str | Callable[..., Any]") -> None:
        self._script = script
        name, read_only = _named(component, handler)
        self._handler = (component if isinstance(component, str) else definition_of(component).component_id, name)
        if read_only:
            script.is_query(self._handler)

    def reply(self, value: Any = None, *, times: int | None = None) -> None:
        """Answer with a value; without one, with `Done`. `times`: only that often, before what is said without it."""
        self._script.answer(self._handler, _encoded(Done() if value is None else value), times)

    def refuse(self, code: ErrorCode, message: str = "refused by the test", *, times: int | None = None) -> None:
        """Answer with a refusal: the caller gets a `CommandError`."""
        self._script.answer(self._handler, CommandError(message, code), times)

    def hang(self, *, times: int | None = None) -> None:
        """Never answer: the caller waits, on simulated time, until its own time is over.

        A step's call has what is left of the step, so that the step times out; a call with `.with_timeout(…)` gets
        `TIMEOUT` when that is over.
        """
        self._script.answer(self._handler, Hang(), times)


def codec_for(kind: Any) -> Codec[Any]:
    """The codec of a value whose type is known only when it is there."""
    return default_codec_for(kind)


def _named(component: "str | type[Any]", handler: "str | Callable[..., Any]") -> tuple[str, bool]:
    """A handler's wire name, and whether it is known to be a query."""
    if not isinstance(handler, str):
        for mark in marks_of(handler):
            return mark.name, mark.role is Role.QUERY
        raise ValueError(f"{handler!r} is no handler; give its wire name or the method")
    if isinstance(component, str):
        return handler, False
    definition = definition_of(component).handlers.get(handler)
    return handler, definition is not None and definition.read_only


def _encoded(value: Any) -> Payload:
    try:
        return codec_for(type(value)).encode_payload(value)
    except (EncodingError, ValueError, TypeError):  # a container: what it holds is known by its values only
        return Payload(msgspec.json.encode(value))


def _plain(payload: Payload | None) -> Any:
    if payload is None or payload.content_type == NOTHING:
        return None
    if payload.content_type == JSON:
        return msgspec.json.decode(payload.data)
    if payload.content_type.startswith("text/"):
        return payload.data.decode()
    return payload.data
