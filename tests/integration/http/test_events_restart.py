"""Streams of events over the end of a sidecar, and to a reader that does not read."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.integration.http.conftest import HANDLERS, is_problem
from tests.integration.http.streams import Event, stream_of
from tests.integration.http.wire import Wire
from tests.integration.support.programs import Programs, Sidecar, wait_for

PATH = "/v1/counter/c1"
EFFECTS, TIMES = 60, 1_000


def count(http: httpx.Client, until: threading.Event) -> None:
    """Count one by one, over restarts too."""
    while not until.is_set():
        try:
            http.post(f"{PATH}/count", json=1)
        except httpx.TransportError:
            until.wait(0.05)


def ended_with(http: httpx.Client, seen: list[Event]) -> str:
    """Read on behind what was seen, until the stream ends."""
    with stream_of(http, PATH, last=seen[-1].id if seen else None) as stream:
        try:
            while True:
                seen.append(stream.next())
        except StopIteration:
            return "cleanly"
        except httpx.TransportError:
            return "in the middle"


def has(seen: list[Event], count: int) -> bool:
    """Whether so many events have come."""
    return len(seen) >= count


@pytest.mark.parametrize("kill", [True, False])
def test_a_client_that_comes_back_misses_nothing_and_gets_nothing_twice(programs: Programs, kill: bool) -> None:
    sidecar = programs.sidecar()
    programs.process(HANDLERS, sidecar)
    enough = threading.Event()
    seen: list[Event] = []
    with httpx.Client(base_url=sidecar.url, timeout=30, trust_env=False) as http:
        counting = threading.Thread(target=count, args=(http, enough))
        counting.start()
        with ThreadPoolExecutor(1) as readers:
            for enough_events in (20, 60):
                ending = readers.submit(ended_with, http, seen)
                wait_for(partial(has, seen, enough_events), "events come")
                assert (sidecar.kill() if kill else sidecar.stop()) == (-9 if kill else 0)
                assert ending.result() == ("in the middle" if kill else "cleanly")
                sidecar = programs.again(sidecar)
                sidecar.wait_until_ready()
        enough.set()
        counting.join()
        total = sidecar.http.get(f"{PATH}/value").json()
        with stream_of(http, PATH, last=seen[-1].id) as stream:
            seen += stream.take(total - len(seen))
    assert [event.item["sequence"] for event in seen] == list(range(1, total + 1))
    journal = [item["sequence"] for item in sidecar.http.get(f"{PATH}/ankka:journal?limit=1000").json()["items"]]
    assert journal == list(range(1, min(total, 1_000) + 1))


def test_a_stream_needs_no_process_but_an_unknown_component_does(programs: Programs) -> None:
    sidecar = programs.sidecar()
    process = programs.process(HANDLERS, sidecar)
    sidecar.http.post(f"{PATH}/count", json=1)
    process.kill()
    sidecar.stop()
    sidecar = programs.again(sidecar)
    with stream_of(sidecar.http, PATH) as stream, stream_of(sidecar.http, "/v1/counter/new") as new:
        assert stream.next().at == (1, "counted")
        is_problem(sidecar.http.get("/v1/nothing/c1/ankka:events"), 503, "UNAVAILABLE", "nothing")
        programs.process(HANDLERS, sidecar)
        sidecar.http.post("/v1/counter/new/count", json=1)
        assert new.next().at == (1, "counted")


def memory_of(sidecar: Sidecar) -> int:
    """KiB that it holds."""
    status = Path(f"/proc/{sidecar.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks /proc what a process holds")
def test_a_reader_that_does_not_read_holds_little_and_gets_all_in_the_end(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(HANDLERS, sidecar)
    http = sidecar.http
    for _ in range(EFFECTS):
        http.post(f"{PATH}/count", json=TIMES)
    with stream_of(http, PATH) as stream:  # what a reader who reads costs is there from now on
        stream.take(EFFECTS * TIMES)
    before = memory_of(sidecar)
    wires: list[Wire] = []
    for _ in range(8):
        plug = socket.socket()
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        plug.connect(("127.0.0.1", sidecar.port))
        plug.settimeout(20)
        wires.append(Wire(plug, f"127.0.0.1:{sidecar.port}"))
        wires[-1].request(f"GET {PATH}/ankka:events")
        assert b"HTTP/1.1 200" in plug.recv(100)
    http.post(f"{PATH}/count", json=TIMES)
    with stream_of(http, PATH) as stream:  # others are served meanwhile
        assert stream.take(EFFECTS * TIMES + TIMES)[-1].at == (EFFECTS + 1, "counted")
    assert memory_of(sidecar) - before < 40 * 1024, "8 readers that do not read, each of a stream of 14 MB"
    last, end = b"", f'"sequence":{EFFECTS + 1},'.encode()
    while end not in last:
        last = last[-len(end) :] + wires[0].plug.recv(1 << 20)
    assert sidecar.stop() == 0  # it does not wait for those who never read
    assert "Traceback" not in sidecar.output
    for wire in wires:
        wire.close()
