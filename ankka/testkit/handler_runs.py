"""Runs a handler for a test, to its end, whether or not an event loop is running."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any

from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.codec import DONE
from ankka.definition.definitions import ComponentDefinition, HandlerDefinition
from ankka.definition.hints import takes_none
from ankka.definition.marks import marks_of
from ankka.protocol.payload import NOTHING, Payload
from ankka.testkit.scripted_calls import Script, ScriptedLink, codec_for


def run_scripted(script: Script, origin: Origin, run: Callable[[ComponentClient], Any]) -> Any:
    """What `run` comes to with a client the script answers; an unscripted call fails even if the handler caught it."""

    async def main() -> Any:
        link = ScriptedLink(script)
        try:
            result = run(ComponentClient.inside(link, origin))
            return await result if inspect.isawaitable(result) else result
        finally:
            if link.problem is not None:
                raise link.problem

    return _run(main)


def _run(main: Callable[[], Any]) -> Any:
    """Run in a loop of its own; where one runs already, in a thread with the caller's context variables."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def in_thread() -> None:
        try:
            outcome.append((True, asyncio.run(main())))
        except BaseException as error:
            outcome.append((False, error))

    thread = threading.Thread(target=context.run, args=(in_thread,), name="ankka-test-kit")
    thread.start()
    thread.join()
    returned, value = outcome[0]
    if returned:
        return value
    raise value


def handler_name(handler: "str | Callable[..., Any]") -> str:
    """The wire name of a handler given by name or by method."""
    if isinstance(handler, str):
        return handler
    for mark in marks_of(handler):
        return mark.name
    raise ValueError(f"{handler!r} is no handler; give its wire name or the method")


def encoded_input(definition: ComponentDefinition, name: str, value: Any) -> Payload | None:
    """A handler's input as a caller would send it; `EncodingError` if it is not of the handler's type."""
    handler = definition.handlers.get(name)
    taken = None if handler is None else handler.input
    if value is None:
        return None
    codec = codec_for(type(value)) if taken is None else taken.codec
    return codec.encode_payload(value)


def decoded_reply(handler: HandlerDefinition, payload: Payload) -> Any:
    """A reply as the caller gets it; what is answered like `Done` is `Done`."""
    if payload.content_type == NOTHING and not payload.data and not takes_none(handler.reply):
        return DONE
    return handler.reply_codec.decode_payload(payload)
