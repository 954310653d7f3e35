"""A call on behalf of an HTTP request: until its result, its timeout, or until the client has gone."""

from __future__ import annotations

import asyncio

from ankka.protocol.errors import Error, ErrorCode
from ankka_sidecar.http.problems import ClientGone, Receive
from ankka_sidecar.runtime.callers import Request, Result
from ankka_sidecar.runtime.node import Node

WATCH_AFTER = 0.25
"""Seconds after which a waiting request looks whether its client is still there; most have their answer by then."""

_GONE = Error(ErrorCode.UNAVAILABLE, "the client has gone")


async def invoke(node: Node, request: Request, receive: Receive, late: Error | None = None, watch_after: float = WATCH_AFTER) -> Result:
    """Make a call and wait for its result, at most the request's timeout: then it is `late`.

    Raises `ClientGone` when the client leaves first; what has not begun by then is not begun.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def answer(result: Result) -> None:
        if not future.done():
            future.set_result(result)

    call = node.call(request, answer)
    if future.done():
        return future.result()
    seconds = request.timeout / 1_000_000
    timed_out = late or Error(ErrorCode.TIMEOUT, f"no reply within {seconds:g} s", {"outcome": "unknown"})
    timers: list[asyncio.TimerHandle] = []
    watchers: list[asyncio.Task[None]] = []

    def watch() -> None:
        timers.append(loop.call_later(seconds - watch_after, answer, timed_out))
        watchers.append(loop.create_task(disconnected(receive)))
        watchers[0].add_done_callback(lambda _: answer(_GONE))

    timers.append(loop.call_later(watch_after, watch) if seconds > watch_after else loop.call_later(seconds, answer, timed_out))
    result: Result = _GONE
    try:
        result = await future
    finally:
        for timer in timers:
            timer.cancel()
        for watcher in watchers:
            watcher.cancel()
        if result is _GONE or result is timed_out:
            node.drop(call)
    if result is _GONE:
        raise ClientGone
    return result


async def disconnected(receive: Receive) -> None:
    """Wait until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
