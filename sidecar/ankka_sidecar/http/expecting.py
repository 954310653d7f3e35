"""`Expect: 100-continue`: an answer given before the body was asked for ends the connection.

A client that waits for `100 Continue` may or may not send its body after another answer, so only the end of the
connection tells where the next request begins. From clients that do not ask, the server reads the rest of the body
away: they see the answer, and their connection goes on.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ankka_sidecar.http.problems import Receive, Scope, Send


def minding_expect(scope: Scope, receive: Receive, send: Send) -> tuple[Receive, Send]:
    """`receive` and `send` of a request, minding its `Expect` header if it has one."""
    if not any(name == b"expect" for name, _ in scope["headers"]):
        return receive, send
    asked = False

    async def asking() -> MutableMapping[str, Any]:
        nonlocal asked
        asked = True
        return await receive()

    async def answering(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start" and not asked:
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await send(message)

    return asking, answering
