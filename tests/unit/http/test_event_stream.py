"""A stream of events in its quiet and its bad moments: on a node without a network, the ASGI side played by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from ankka_sidecar.adapters.clock import SystemClock
from ankka_sidecar.adapters.faults import NoFaults
from ankka_sidecar.adapters.journal.memory import MemoryJournal
from ankka_sidecar.adapters.leases.memory import MemoryLeases
from ankka_sidecar.core.events import Persisted, decode_event
from ankka_sidecar.core.records import EntityRecord
from ankka_sidecar.core.settings import Settings
from ankka_sidecar.http import events as module
from ankka_sidecar.http.timeline import Timeline
from ankka_sidecar.ports.journal import Item, JournalUnavailable, Outcome, Row
from ankka_sidecar.runtime.node import Node

from ankka.protocol.payload import Payload
from ankka.protocol.wire import encode_value

QUIET = b":\n\n"


class Shaky(MemoryJournal):
    """Cannot be read as often as it is told."""

    failures = 0

    async def read(self, component: str, instance: str, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[Row]:
        if self.failures:
            self.failures -= 1
            raise JournalUnavailable("the disk is away")
        return await super().read(component, instance, after, limit)


class Client:
    """Reads a stream as the server's other side; `leave` closes the connection."""

    def __init__(self) -> None:
        self.got: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.is_reading = asyncio.Event()
        self.is_reading.set()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.is_reading.wait()
        self.got.put_nowait(message)

    async def body(self) -> bytes:
        """The next bytes."""
        async with asyncio.timeout(5):
            message = await self.got.get()
        return bytes(message["body"])


async def append(node: Node, sequence: int, *payloads: bytes, generation: int = 100) -> None:
    event = Persisted(sequence, "put", tuple(Payload(data, "text/plain", "put") for data in payloads))
    record = EntityRecord(generation, sequence)
    row = Row("cart", "c1", generation, sequence, sequence, sequence, 0, 1, "persisted", encode_value(event), encode_value(record))
    assert decode_event(row.event) == event
    assert await node.journal.append([Item(row)]) == [Outcome.STORED]
    node.followers.wake("cart", "c1")


async def unchecked() -> None:
    """The component is known."""


async def node_over(journal: MemoryJournal) -> Node:
    await MemoryLeases(journal).take()
    return Node(journal, SystemClock(), NoFaults(), Settings())


@asynccontextmanager
async def streaming(journal: MemoryJournal, **headers: str) -> AsyncGenerator[tuple[Node, Client, asyncio.Task[None]]]:
    node = await node_over(journal)
    client = Client()
    scope = {"query_string": b"", "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}
    stream = asyncio.create_task(module.events(node, scope, client.receive, client.send, "cart", "c1", unchecked))
    yield node, client, stream
    stream.cancel()


async def begun(client: Client) -> None:
    async with asyncio.timeout(5):
        head = await client.got.get()
    assert (head["type"], head["status"]) == ("http.response.start", 200)
    assert await client.body() == QUIET


async def ended(stream: asyncio.Task[None], node: Node) -> None:
    async with asyncio.timeout(5):
        await stream
    with node.followers.following("cart", "c1"):
        assert len(node.followers) == 1, "nobody else follows"
    assert len(node.followers) == 0


async def test_silence_is_filled_with_comments_until_the_client_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.01)
    async with streaming(MemoryJournal()) as (node, client, stream):
        await begun(client)
        for _ in range(3):
            assert await client.body() == QUIET
        await append(node, 1, b"x")
        while (body := await client.body()) == QUIET:
            pass
        assert body.startswith(b'id: 100:1\nevent: put\ndata: {"generation":100,"sequence":1,')
        client.gone.set()
        await ended(stream, node)


async def test_a_journal_that_cannot_be_read_for_a_while_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_AGAIN", 0.01)
    journal = Shaky()
    async with streaming(journal) as (node, client, _):
        await begun(client)
        journal.failures = 3
        await append(node, 1, b"x")
        assert (await client.body()).startswith(b"id: 100:1\n")
        assert journal.failures == 0


async def test_the_end_of_the_node_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    async with streaming(MemoryJournal()) as (node, client, stream):
        await begun(client)
        node.followers.end()
        assert client.got.empty()
        async with asyncio.timeout(5):
            assert await client.got.get() == {"type": "http.response.body", "body": b""}
        await ended(stream, node)


async def test_what_is_not_taken_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[tuple[int, int]] = []

    class Watched(MemoryJournal):
        async def read(self, component: str, instance: str, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[Row]:
            reads.append(after)
            return await super().read(component, instance, after, limit)

    async with streaming(Watched()) as (node, client, stream):
        await begun(client)
        client.is_reading.clear()
        before = len(reads)
        for sequence in range(1, 200):
            await append(node, sequence, b"x" * 100)
        assert len(reads) <= before + 1
        client.is_reading.set()
        seen = b""
        while b"id: 100:199\n" not in seen:
            seen += await client.body()
        assert seen.count(b"\ndata: ") == 199
        client.is_reading.clear()
        client.gone.set()  # even while it does not read
        await ended(stream, node)


async def test_a_name_in_an_entitys_data_breaks_no_event() -> None:
    journal = MemoryJournal()
    async with streaming(journal) as (node, client, _):
        await begun(client)
        event = Persisted(1, "put", (Payload(b'{"type":"a\\nid: 9:9\\r\\ndata: no"}'),))
        row = Row("cart", "c1", 100, 1, 1, 1, 0, 1, "persisted", encode_value(event), encode_value(EntityRecord(100, 1)))
        assert await journal.append([Item(row)]) == [Outcome.STORED]
        node.followers.wake("cart", "c1")
        lines = (await client.body()).decode().splitlines()
        assert lines[:2] == ["id: 100:1", "event: a id: 9:9 data: no"]
        assert [line.partition(":")[0] for line in lines] == ["id", "event", "data", ""]


@pytest.mark.parametrize("sizes", [[10] * 250, [3_000_000] * 5, [3_000_000, *[10] * 300, 3_000_000], [0]])
async def test_a_timeline_is_whole_whatever_the_size_of_its_rows(sizes: Sequence[int]) -> None:
    node = await node_over(MemoryJournal())
    for sequence, size in enumerate(sizes, 1):
        await append(node, sequence, b"x" * size, b"y")
    timeline = Timeline(node.journal, "cart", "c1", "")
    places: list[str] = []
    while not timeline.is_at_end:
        places += [place for place, _ in await timeline.more() or ()]
    assert places == [place for sequence in range(1, len(sizes) + 1) for place in (f"100:{sequence}:1", f"100:{sequence}")]
    assert await timeline.more() is None
    behind = Timeline(node.journal, "cart", "c1", "100:1:1")
    assert next(place for place, _ in await behind.more() or ()) == "100:1"


async def test_a_place_in_a_row_that_was_pruned_is_followed_by_the_next_one() -> None:
    node = await node_over(MemoryJournal())
    await append(node, 1, b"x", b"y", generation=200)
    timeline = Timeline(node.journal, "cart", "c1", "100:7:1")
    assert [place for place, _ in await timeline.more() or ()] == ["200:1:1", "200:1"]
