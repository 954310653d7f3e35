"""Stopping a node: take nothing new, let what runs finish, say what is given back."""

from __future__ import annotations

import asyncio
import logging

from ankka_sidecar.runtime.attachments import Attachments
from ankka_sidecar.runtime.node import Node

log = logging.getLogger("ankka.sidecar")

LOOK = 0.02


async def drain(node: Node, attachments: Attachments) -> None:
    """Refuse new calls, dispatch nothing, and wait for what processes run, at most the drain time.

    What still runs then is given back: its process keeps running it, and brings it to the next sidecar.
    """
    node.stopping = True
    attachments.say_drain("the sidecar stops")
    until = node.clock.now() + node.settings.drain
    # Attempts end in many places; looking a few times a second is cheaper than telling this one each time.
    while (running := node.dispatcher.running()) and node.clock.now() < until:  # noqa: ASYNC110  # see above
        await asyncio.sleep(LOOK)
    await node.writer.drain()
    if running:
        log.warning("%d step attempts and calls did not end within the drain time; the attempts are given back", running)
