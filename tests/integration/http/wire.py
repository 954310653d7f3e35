"""Requests byte for byte, past what a client library would mend: on a socket of their own."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager

import httpx


class Wire:
    """A connection to a sidecar."""

    def __init__(self, plug: socket.socket, host: str) -> None:
        self.plug = plug
        self.host = host
        self._read = plug.makefile("rb")

    def send(self, data: bytes) -> None:
        """Send these bytes."""
        self.plug.sendall(data)

    def request(self, line: str, body: bytes = b"", headers: str = "", *, host: str | None = None) -> None:
        """Send a request: its line without the version, its headers each ended by `\\r\\n`."""
        named = f"Host: {host or self.host}\r\n" if host != "" else ""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.send(f"{line} HTTP/1.1\r\n{named}{length}{headers}\r\n".encode("utf-8", "surrogateescape") + body)

    def answer(self, *, of_head: bool = False) -> httpx.Response:
        """The next answer."""
        line = self._read.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers: list[tuple[str, str]] = []
        while (header := self._read.readline()) not in (b"\r\n", b""):
            name, _, value = header.decode("latin-1").partition(":")
            headers.append((name.strip().lower(), value.strip()))
        status, fields = int(line.split()[1]), dict(headers)
        assert len(fields) == len(headers), headers
        body = b"" if of_head or status in (100, 204) else self._read.read(int(fields["content-length"]))
        return httpx.Response(status, headers=headers, content=body)

    def close(self) -> None:
        """Leave, without a goodbye."""
        self._read.close()  # it holds the socket open
        self.plug.close()

    def is_closed(self) -> bool:
        """Whether the other side closes the connection; waits for it."""
        return self._read.read() == b""


@contextmanager
def connected(http: httpx.Client) -> Generator[Wire]:
    """A connection to where the client goes."""
    url = http.base_url
    assert url.port is not None
    with socket.create_connection((url.host, url.port), timeout=20) as plug:
        wire = Wire(plug, f"{url.host}:{url.port}")
        try:
            yield wire
        finally:
            wire.close()


def exchange(http: httpx.Client, line: str, body: bytes = b"", headers: str = "", *, host: str | None = None) -> httpx.Response:
    """One request, one answer, on a connection of their own. `host=""` leaves the header out."""
    with connected(http) as wire:
        wire.request(line, body, headers, host=host)
        return wire.answer(of_head=line.startswith("HEAD"))
