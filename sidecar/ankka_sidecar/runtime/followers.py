"""Who follows an instance's journal: woken when there may be more to read. What there is, they read themselves.

A follower that is slow, or was not woken for a while, misses nothing: the journal keeps it. Nobody looks at the journal
while nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

Key = tuple[str, str]


class Followers:
    """The followers of a node, by instance; `has_ended` once the node stops."""

    def __init__(self) -> None:
        self.has_ended = False
        self.instances: dict[Key, set[asyncio.Event]] = {}
        """Those that somebody follows."""

    def __len__(self) -> int:
        return sum(len(events) for events in self.instances.values())

    @contextmanager
    def following(self, component: str, instance: str) -> Generator[asyncio.Event]:
        """An event that is set whenever an effect of the instance may have become durable, and at the end."""
        key = (component, instance)
        event = asyncio.Event()
        if self.has_ended:
            event.set()
        events = self.instances.setdefault(key, set())
        events.add(event)
        try:
            yield event
        finally:
            events.discard(event)
            if not events and self.instances.get(key) is events:
                del self.instances[key]

    def wake(self, component: str, instance: str) -> None:
        """The instance's journal may have grown."""
        for event in self.instances.get((component, instance), ()):
            event.set()

    def end(self) -> None:
        """The node stops: they are to follow another."""
        self.has_ended = True
        for events in self.instances.values():
            for event in events:
                event.set()
