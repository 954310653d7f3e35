"""What the engine itself answers of an instance: the handlers named `ankka:…`."""

from __future__ import annotations

import msgspec

from ankka.protocol.errors import Error, ErrorCode, clean_text
from ankka.protocol.ids import InvalidId, check_instance_id
from ankka.protocol.lifecycle import LifecycleStatus, WorkflowLifecycle
from ankka.protocol.payload import Payload
from ankka_sidecar.http.bodies import read_body, respond_with
from ankka_sidecar.http.events import events
from ankka_sidecar.http.paths import query_of
from ankka_sidecar.http.problems import Problem, Receive, Scope, Send, bad_request, not_allowed, not_yet, respond_json
from ankka_sidecar.http.timeline import page_of
from ankka_sidecar.http.waiting import invoke
from ankka_sidecar.ports.journal import Query
from ankka_sidecar.runtime.admission import AWAIT, LIFECYCLE
from ankka_sidecar.runtime.callers import Request
from ankka_sidecar.runtime.node import Node

JOURNAL = "ankka:journal"
EVENTS = "ankka:events"
READ = (LIFECYCLE, AWAIT, JOURNAL, EVENTS)
LATER = tuple(f"ankka:{name}" for name in ("retry", "skip", "run-again"))
OPERATED = ("ankka:pause", "ankka:resume", "ankka:cancel")

IS_HEAD = "ankka.head"
"""Set in the scope of a HEAD request, which is answered as GET: what never ends has no head to answer with."""
OPERATE_TIMEOUT = 15_000_000
OPERATION_MOST = 16 * 1024
LIFECYCLE_TIMEOUT = 10_000_000
AWAIT_DEFAULT = 30.0
AWAIT_MOST = 3_600.0
PAGE_DEFAULT = 100
PAGE_MOST = 1_000


async def reserved(node: Node, scope: Scope, receive: Receive, send: Send, parts: list[str]) -> None:
    """Answer one of the engine's own handlers."""
    component, instance, name = parts
    if name in LATER:
        raise not_yet(f"'{name}'")
    if name in OPERATED:
        if scope["method"] != "POST":
            raise not_allowed(f"'{name}' changes the instance: use POST", "POST")
        await operate(node, scope, receive, send, component, instance, name)
        return
    if name not in READ:
        raise Problem(Error(ErrorCode.NOT_FOUND, f"there is no '{name[:80]}'; there are {', '.join((*READ, *OPERATED))}"))
    if scope["method"] != "GET":
        raise not_allowed(f"'{name}' is read with GET", "GET")
    if name == EVENTS and IS_HEAD in scope:
        raise Problem(Error(ErrorCode.BAD_REQUEST, f"'{name}' never ends: read it with GET"), 405, ((b"allow", b"GET"),))
    try:
        check_instance_id(instance)
    except InvalidId as error:
        raise bad_request(str(error)) from None
    await _learn_kind(node, component, instance)
    match name:
        case "ankka:journal":
            await _journal(node, scope, receive, send, component, instance)
        case "ankka:events":
            await events(node, scope, receive, send, component, instance, lambda: _lifecycle(node, receive, component, instance))
        case "ankka:await":
            await _await(node, scope, receive, send, component, instance)
        case _:
            query_of(scope, ())
            await respond_with(send, await _lifecycle(node, receive, component, instance), None, "")


class Operation(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an operator's request: both may be left out."""

    reason: str = ""
    by: str = "http"


async def operate(node: Node, scope: Scope, receive: Receive, send: Send, component: str, instance: str, name: str) -> None:
    """W18: an operator's action; it answers 204 when it is in the journal."""
    try:
        check_instance_id(instance)
    except InvalidId as error:
        raise bad_request(str(error)) from None
    query_of(scope, ())
    body = await read_body(scope, receive, OPERATION_MOST, "of an operator's reason")
    try:
        asked = msgspec.json.decode(body, type=Operation) if body else Operation()
    except msgspec.MsgspecError as error:
        raise bad_request(f'the body of {name!r} is an object with "reason" and "by", both optional texts: {error}') from None
    await _learn_kind(node, component, instance)
    metadata = {"by": clean_text(asked.by)[:200], "reason": clean_text(asked.reason)[:1_000]}
    result = await invoke(node, Request(component, instance, name, None, OPERATE_TIMEOUT, metadata=metadata), receive)
    if isinstance(result, Error):
        raise Problem(result)
    await respond_with(send, result, None, "")


async def _learn_kind(node: Node, component: str, instance: str) -> None:
    """Look up in the journal what a component is that no process has declared, by any of its instances."""
    if component in node.kinds:
        return
    await node.learn_kind(component, instance)
    if component not in node.kinds:
        page = await node.journal.find(Query(component=component, limit=1))
        if page.items:
            await node.learn_kind(component, page.items[0].instance)


async def _lifecycle(node: Node, receive: Receive, component: str, instance: str) -> Payload:
    result = await invoke(node, Request(component, instance, LIFECYCLE, None, LIFECYCLE_TIMEOUT), receive)
    if isinstance(result, Error):
        raise Problem(result)
    return result


async def _await(node: Node, scope: Scope, receive: Receive, send: Send, component: str, instance: str) -> None:
    seconds = _number(query_of(scope, ("timeout",)), "timeout", AWAIT_DEFAULT, 0.0, AWAIT_MOST)
    await _lifecycle(node, receive, component, instance)  # loads the instance: not even a timeout of 0 is too short for that
    late = Error(ErrorCode.TIMEOUT, "it has not ended")
    result = await invoke(node, Request(component, instance, AWAIT, None, int(seconds * 1_000_000)), receive, late)
    if isinstance(result, Error):
        raise Problem(await _not_ended(node, receive, component, instance, seconds) if result is late else result)
    await respond_with(send, result, None, "")


async def _not_ended(node: Node, receive: Receive, component: str, instance: str, seconds: float) -> Error:
    lifecycle = msgspec.json.decode((await _lifecycle(node, receive, component, instance)).data, type=WorkflowLifecycle)
    text = f"{component}/{instance} has not ended within {seconds:g} s; it goes on, ask again"
    if lifecycle.status is LifecycleStatus.NOT_STARTED:
        text = f"{component}/{instance} has not started within {seconds:g} s; a command starts it, then ask again"
    elif lifecycle.waiting_for is not None:
        text = f"{component}/{instance} has not ended within {seconds:g} s; it waits for {lifecycle.waiting_for}"
    return Error(ErrorCode.TIMEOUT, text)


async def _journal(node: Node, scope: Scope, receive: Receive, send: Send, component: str, instance: str) -> None:
    query = query_of(scope, ("after", "limit"))
    limit = int(_number(query, "limit", PAGE_DEFAULT, 1, PAGE_MOST))
    page = await page_of(node.journal, component, instance, query.get("after", ""), limit)
    if not page["items"]:
        await _lifecycle(node, receive, component, instance)  # an unknown component is a problem, an id without rows is none
    await respond_json(send, page)


def _number(query: dict[str, str], name: str, default: float, least: float, most: float) -> float:
    text = query.get(name) or None
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most or (isinstance(least, int) and value != int(value)):
        raise bad_request(f"{name}={text[:80]!r} is not a {'whole ' if isinstance(least, int) else ''}number from {least:g} to {most:g}")
    return value
