"""`ankka call`: one call of a handler, its input as it was typed, its reply on stdout."""

import shlex
import sys
from typing import Any

import msgspec
import typer

from ankka.cli.api import Answer, Api, Body
from ankka.cli.failure import CommandFailed, Refused
from ankka.cli.finding import find
from ankka.cli.instance import Instance, check_name
from ankka.cli.shown import on_terminal, say, shown, write_json
from ankka.protocol.ids import RESERVED_PREFIX
from ankka.protocol.keys import InvalidKey, of_caller
from ankka.protocol.payload import BYTES, JSON, TEXT

NOT_TAKEN = 415
STDIN = "-"


def call(component: str, instance_id: str, handler: str, given: str | None, sidecar: str | None, *, as_json: bool, key: str | None = None) -> None:
    """Call a handler and print its reply; `key` is the command's idempotency key."""
    instance = Instance.named(component, instance_id)
    path = instance.path(check_name(handler, "HANDLER"))
    bodies = _bodies(given)
    _check_key(key)
    with Api(find(sidecar), key) as api:
        if handler.startswith(RESERVED_PREFIX) and given is None:
            answer = api.get(path)  # the engine's own queries
        else:
            answer = _posted(api, instance, handler, bodies)
    print_reply(answer, as_json=as_json)


def _check_key(key: str | None) -> None:
    if key is None:
        return
    try:
        of_caller("", "", key)
    except InvalidKey as error:
        raise typer.BadParameter(f"{error}; leave the option out to call without a key", param_hint="--idempotency-key") from None


def print_reply(answer: Answer, *, as_json: bool) -> None:
    """Print a reply: as it came for programs, readable for people; `Done` and `None` are nothing, `null` as JSON."""
    if answer.data:
        write_json(answer.data, raw=as_json)
    elif as_json:
        write_json(b"null", raw=True)
    elif on_terminal():
        say("done")


def _posted(api: Api, instance: Instance, handler: str, bodies: tuple[Body | None, ...]) -> Answer:
    try:
        return _post(api, instance.path(handler), bodies, handler)
    except Refused as refused:
        command = shlex.join(["ankka", "call", instance.component, instance.id, handler])
        match refused.details.get("input"):  # what the sidecar says of it is about a request's body
            case "missing":
                what = f"'{handler}' takes an input ({refused.details.get('name')}); write it behind the handler: {command} INPUT"
            case "unwanted":
                what = f"'{handler}' takes no input; write nothing behind the handler: {command}"
            case _:
                raise
        raise Refused(refused.status, refused.code, what) from None


def _post(api: Api, path: str, bodies: tuple[Body | None, ...], handler: str) -> Answer:
    """Post the first of `bodies` whose content type the handler takes: a 415 has certainly done nothing."""
    for body in bodies[:-1]:
        try:
            return api.post(path, body)
        except Refused as refused:
            if refused.status != NOT_TAKEN:
                raise
    last = bodies[-1]
    try:
        return api.post(path, last)
    except Refused as refused:
        if refused.status != NOT_TAKEN or last is None or last.content_type != TEXT:
            raise
        raise CommandFailed(_not_json(last.data.decode(), handler)) from None


def _bodies(given: str | None) -> tuple[Body | None, ...]:
    if given is None:
        return (None,)
    if given == STDIN:
        return bodies_of(sys.stdin.buffer.read())
    try:
        return bodies_of(given.encode())
    except UnicodeEncodeError:
        raise typer.BadParameter(f"{given!r} is not valid Unicode text", param_hint="JSON") from None


def bodies_of(data: bytes) -> tuple[Body, ...]:
    r"""What an input can be sent as, the first one that the handler takes: JSON, plain text, bytes.

    A number or `true` is JSON and may as well be the text of a string, for which text comes first: for an `int`
    both mean the same.

    >>> bodies_of(b'{"a": 1}')
    (Body(data=b'{"a": 1}', content_type='application/json'),)
    >>> [body.content_type for body in bodies_of(b"17")]
    ['text/plain', 'application/json']
    >>> bodies_of(b"two words\n")
    (Body(data=b'two words', content_type='text/plain'),)
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return (Body(data, BYTES),)
    try:
        value: Any = msgspec.json.decode(data)
    except msgspec.MsgspecError:
        return (Body(text.removesuffix("\n").removesuffix("\r").encode(), TEXT),)  # the line end is the pipe's, not the input's
    if isinstance(value, int | float):
        return (Body(text.strip().encode(), TEXT), Body(data, JSON))
    return (Body(data, JSON),)


def _not_json(text: str, handler: str) -> str:
    reason = "it is empty"
    if text:
        try:
            msgspec.json.decode(text.encode())
        except msgspec.MsgspecError as error:
            reason = str(error)
    part = text if len(text) <= 80 else f"{text[:80]}…"
    example = '{"name": "value"}'
    return f"BAD_REQUEST (415): '{shown(handler)}' takes JSON, and '{shown(part)}' is not JSON: {shown(reason)}; write for example '{example}'"
