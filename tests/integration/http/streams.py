"""Reads server-sent events as a client does: by the blank lines between them, comments apart."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx


class Event(NamedTuple):
    """One event as it came."""

    id: str
    type: str
    item: dict[str, Any]

    @property
    def at(self) -> tuple[int, str]:
        """Where it is in the journal of one life, and what it is."""
        return self.item["sequence"], self.type


class Stream:
    """An open stream; `comments` counts those that came so far."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments = 0
        self._events = self._read()

    def next(self) -> Event:
        """The next event; waits for it."""
        return next(self._events)

    def take(self, count: int) -> list[Event]:
        """The next so many."""
        return [self.next() for _ in range(count)]

    def rest(self) -> list[Event]:
        """All there is until the stream ends."""
        return list(self._events)

    def _read(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in self.response.iter_lines():
            name, colon, value = line.partition(": ")
            if line == ":":
                self.comments += 1
            elif line:
                assert colon, f"no field: {line!r}"
                assert name not in fields, f"twice in one event: {line!r}"
                fields[name] = value
            elif fields:
                assert list(fields) == ["id", "event", "data"]
                yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
                fields = {}
        assert not fields, f"the stream ended within an event: {fields}"


@contextmanager
def stream_of(http: httpx.Client, path: str, last: str | None = None, *, after: str | None = None) -> Generator[Stream]:
    """The events of the instance at that path; `last` is the `Last-Event-ID`."""
    headers = {} if last is None else {"Last-Event-ID": last}
    parameters = {} if after is None else {"after": after}
    with http.stream("GET", f"{path}/ankka:events", headers=headers, params=parameters) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream"
        yield Stream(response)
