"""Answers a test gives for calls to other components; `scripted_link` gives them to the code that calls.

The last thing said of a handler counts; what was said with `times=` is used up first, in order. A call with an idempotency key
(every command that a step calls has one) is done once: an equal call of a later attempt gets the recorded reply (W16).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ankka.calls.caller import ENGINE
from ankka.codec import DONE
from ankka.codecs.by_value import payload_of
from ankka.codecs.canonical import canonical
from ankka.command_error import CommandError
from ankka.definition.build import definition_of
from ankka.definition.definitions import HandlerDefinition
from ankka.definition.hints import takes_none
from ankka.definition.marks import Role, marks_of
from ankka.definition.problems import suggestion
from ankka.effects.common import error_of
from ankka.protocol import keys
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import JSON, NOTHING, Payload
from ankka.testkit.limits import LIMITS


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
            where = f"{call.component}/{call.instance}"
            text = f"the idempotency key of this call to '{call.handler}' of {where} was used with another input, or for another handler, before"
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
            kept = LIMITS.step_call_retention if call.key.startswith(keys.STEP) else LIMITS.idempotency_retention
            self.recorded[call.key] = Recorded(canonical(call.input), f"{call.component}/{call.instance} {call.handler}", answer, now + kept)
        return answer


class When:
    """What `kit.when(component, handler)` gives: say how the call is answered.

    By names the handler is taken for a command, and replies are written by their own types: a member of a union lacks its tag.
    By class it is known which handlers are queries, which a retry asks anew, as in production, and what each replies: another
    type is refused at once.
    """

    def __init__(self, script: Script, component: "str | type[Any]", handler: "str | Callable[..., Any]") -> None:
        self._script = script
        name, read_only = _named(component, handler)
        self._known: HandlerDefinition | None = None
        if isinstance(component, str):
            self._handler: Handler = (component, name)
        else:
            definition = definition_of(component)
            self._handler = (definition.component_id, name)
            self._known = definition.handlers.get(name)
        if read_only:
            script.is_query(self._handler)

    def reply(self, value: Any = None, *, times: int | None = None) -> None:
        """Answer with a value; without one, with `Done`. `times`: only that often, before what is said without it.

        `EncodingError` for a value that the handler, given with its class, cannot reply.
        """
        known = self._known
        given = DONE if value is None and (known is None or not takes_none(known.reply)) else value
        payload = payload_of(given) if known is None else known.reply_codec.encode_payload(given, f"the reply of {known.name!r}")
        self._script.answer(self._handler, payload, times)

    def refuse(self, code: ErrorCode, message: str = "refused by the test", *, times: int | None = None) -> None:
        """Answer with a refusal: the caller gets a `CommandError`."""
        self._script.answer(self._handler, CommandError(error_of(message, code)), times)

    def hang(self, *, times: int | None = None) -> None:
        """Never answer: the caller waits, on simulated time, until its own time is over.

        A step's call has what is left of the step, so that the step times out; a call with `.with_timeout(…)` gets
        `TIMEOUT` when that is over.
        """
        self._script.answer(self._handler, Hang(), times)


def _named(component: "str | type[Any]", handler: "str | Callable[..., Any]") -> tuple[str, bool]:
    """A handler's wire name, and whether it is known to be a query; `ValueError` for one that the class does not have."""
    if isinstance(handler, str):
        name, read_only = handler, False
    elif marks := marks_of(handler):
        name, read_only = marks[0].name, marks[0].role is Role.QUERY
    else:
        raise ValueError(f"{handler!r} is no handler; give its wire name or the method")
    if isinstance(component, str):
        return name, read_only
    definition = definition_of(component)
    if name in definition.handlers:
        return name, definition.handlers[name].read_only
    if name.startswith(ENGINE):
        return name, False
    raise ValueError(f"{definition.component_id!r} has no handler {name!r}{suggestion(name, definition.handlers)}")


def _plain(payload: Payload | None) -> Any:
    if payload is None or payload.content_type == NOTHING:
        return None
    if payload.content_type == JSON:
        return msgspec.json.decode(payload.data)
    if payload.content_type.startswith("text/"):
        return payload.data.decode()
    return payload.data
