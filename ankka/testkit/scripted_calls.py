"""Answers a test gives for calls to other components."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from ankka.codec import Codec, Done, EncodingError, default_codec_for
from ankka.command_error import CommandError
from ankka.definition.build import definition_of
from ankka.definition.marks import marks_of
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import Payload

Answer = Payload | CommandError


class UnscriptedCall(AssertionError):
    """Tested code called something the test has no answer for."""


class Script:
    """The answers of one kit: by component and handler."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], Answer] = {}

    def answer(self, component: str, handler: str, answer: Answer) -> None:
        """Answer every call of `handler` from now on, instead of what was said before."""
        self._answers[component, handler] = answer

    def find(self, call: Call) -> Answer:
        """The answer to a call; `UnscriptedCall` if there is none."""
        found = self._answers.get((call.component, call.handler))
        if found is None:
            where = f"kit.when({call.component!r}, {call.handler!r})"
            called = f"{call.component}/{call.instance} was called with {call.handler!r}"
            raise UnscriptedCall(f"{called}, and the kit has no answer: say {where}.reply(…) or {where}.refuse(…) first")
        return found


class When:
    """What `kit.when(component, handler)` gives: say how the call is answered."""

    def __init__(self, script: Script, component: "str | type[Any]", handler: "str | Callable[..., Any]") -> None:
        self._script = script
        self._component = component if isinstance(component, str) else definition_of(component).component_id
        self._handler = handler if isinstance(handler, str) else next(mark.name for mark in marks_of(handler))

    def reply(self, value: Any = None) -> None:
        """Answer with a value; without one, with `Done`."""
        self._script.answer(self._component, self._handler, _encoded(Done() if value is None else value))

    def refuse(self, code: ErrorCode, message: str = "refused by the test") -> None:
        """Answer with a refusal: the caller gets a `CommandError`."""
        self._script.answer(self._component, self._handler, CommandError(message, code))


class ScriptedLink:
    """Stands in for the process's connection: the component client asks it, the script answers."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._loop = asyncio.get_running_loop()
        self.problem: UnscriptedCall | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop the kit runs the handler on."""
        return self._loop

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Answer a call as the script says."""
        try:
            answer = self._script.find(call)
        except UnscriptedCall as problem:
            self.problem = self.problem or problem
            raise
        if isinstance(answer, CommandError):
            raise CommandError(answer.error)
        return answer


def codec_for(kind: Any) -> Codec[Any]:
    """The codec of a value whose type is known only when it is there."""
    return default_codec_for(kind)


def _encoded(value: Any) -> Payload:
    try:
        return codec_for(type(value)).encode_payload(value)
    except (EncodingError, ValueError, TypeError):  # a container: what it holds is known by its values only
        return Payload(msgspec.json.encode(value))
