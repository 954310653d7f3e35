"""`ankka:events`: the timeline of an instance as server-sent events, first what is there, then what becomes durable.

    reading ──all read──► waiting ──woken──► reading           (nothing for `HEARTBEAT` seconds: a comment)
       └───────────────────┴── the client goes, the node stops ──► over

Nothing is buffered: what there is to send is in the journal, read a chunk at a time, the next one when the connection
has taken the last. An event's `id` is its place, so a client that comes back with it as `Last-Event-ID` misses nothing
and gets nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from ankka_sidecar.http.paths import query_of
from ankka_sidecar.http.problems import Receive, Scope, Send, bad_request
from ankka_sidecar.http.timeline import Item, Timeline
from ankka_sidecar.http.waiting import disconnected
from ankka_sidecar.ports.journal import JournalUnavailable
from ankka_sidecar.runtime.node import Node

log = logging.getLogger("ankka.sidecar.http")

HEARTBEAT = 15.0
"""Seconds of silence after which a comment is sent: it keeps proxies from closing, and shows who has gone."""
READ_AGAIN = 1.0
"""Seconds until a journal that could not be read is read again."""
BATCH = 32 * 1024
"""Bytes that are collected before they are sent: one event alone makes a small packet."""
HEADERS = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))


async def events(
    node: Node, scope: Scope, receive: Receive, send: Send, component: str, instance: str, check: Callable[[], Awaitable[object]]
) -> None:
    """Stream an instance's timeline; `check` raises the `Problem` of a component that cannot be asked."""
    timeline = _timeline_of(node, scope, component, instance)
    with node.followers.following(component, instance) as changed:
        first = await timeline.more()
        if first is None:
            await check()
        await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
        loop = asyncio.get_running_loop()
        streaming = loop.create_task(_stream(node, timeline, first or (), changed, send))
        gone = loop.create_task(disconnected(receive))
        try:
            await asyncio.wait((streaming, gone), return_when=asyncio.FIRST_COMPLETED)
            if streaming.done():
                await streaming
        except asyncio.CancelledError:
            log.info("a reader of the events of %s/%s was too slow to be told of the end", component, instance)
        except Exception:  # no problem can be answered any more: the connection ends in the middle, and the client comes back
            log.exception("the events of %s/%s ended early", component, instance)
        finally:
            streaming.cancel()
            gone.cancel()


def _timeline_of(node: Node, scope: Scope, component: str, instance: str) -> Timeline:
    """From the header, which a browser sends when it comes back to the same URL, or else from the query."""
    query = query_of(scope, ("after",))
    given = [value for name, value in scope["headers"] if name == b"last-event-id"]
    if len(given) > 1:
        raise bad_request("there are two Last-Event-ID headers; send one")
    if given and given[0]:
        return Timeline(node.journal, component, instance, given[0].decode("latin-1"), "Last-Event-ID")
    return Timeline(node.journal, component, instance, query.get("after", ""))


async def _stream(node: Node, timeline: Timeline, items: Iterable[tuple[str, Item]], changed: asyncio.Event, send: Send) -> None:
    """Send items for as long as the node serves."""
    await _send(send, b":\n\n")  # some clients take a response for begun with its first byte
    while not node.followers.has_ended:
        batch = b""
        for place, item in items:
            batch += _event(place, item)
            if len(batch) >= BATCH:
                await _send(send, batch)
                batch = b""
        if batch:
            await _send(send, batch)
        if timeline.is_at_end and not await _woken(changed, HEARTBEAT):
            await _send(send, b":\n\n")
        changed.clear()
        try:
            items = await timeline.more() or ()
        except JournalUnavailable as error:
            log.warning("events cannot be read now, they are read again: %s", error)
            items = ()
            changed.set()
            await asyncio.sleep(READ_AGAIN)
    await send({"type": "http.response.body", "body": b""})


async def _woken(changed: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


async def _send(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


def _event(place: str, item: Item) -> bytes:
    name = " ".join(str(item["type"]).splitlines())  # an entity's event may be named by a user's data: one line, whatever it is
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (place.encode(), name.encode(), msgspec.json.encode(item))
