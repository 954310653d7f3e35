"""A TCP proxy between a process and its sidecar that can cut, delay, and drop what comes after so many bytes.

with Proxy(sidecar.port) as proxy:       the process connects to proxy.url
    proxy.drop_after(0)                  what the sidecar sends from now on is lost; the process is heard
    proxy.delay(0.05)                    every chunk, in both directions, comes that much later
    with proxy.cut(): ...                all connections end, and new ones are refused inside
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

CHUNK: Final = 65_536


class Proxy:
    """See the module. Its threads end with it."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._delay = 0.0
        self._left: int | None = None
        self._is_cut = False
        self.connections = 0
        """Connections that were let through so far."""

    @property
    def url(self) -> str:
        """Where a process finds it."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_cut = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._close_all()
        for thread in self._threads:
            thread.join(10)

    # --- faults ----------------------------------------------------------------------------------------------------

    def delay(self, seconds: float) -> None:
        """Deliver every chunk that much later."""
        self._delay = seconds

    def drop_after(self, count: int) -> None:
        """Lose what the sidecar sends, from `count` bytes from now on, until the next cut ends."""
        self._left = count

    @contextmanager
    def cut(self) -> Generator[None]:
        """All connections end; new ones are refused until the block is left, where nothing is dropped any more."""
        self._is_cut = True
        self._close_all()
        try:
            yield
        finally:
            self._left = None
            self._is_cut = False

    # --- at work ---------------------------------------------------------------------------------------------------

    def _start(self, run: object, *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                inner, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                inner.close()
                continue
            try:
                outer = socket.create_connection(self._target)
            except OSError:
                inner.close()
                continue
            for end in (inner, outer):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {inner, outer}
                self.connections += 1
            self._start(self._pump, inner, outer, False)
            self._start(self._pump, outer, inner, True)

    def _pump(self, source: socket.socket, sink: socket.socket, is_from_sidecar: bool) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if self._delay:
                    time.sleep(self._delay)
                sink.sendall(self._passed(data) if is_from_sidecar else data)
        self._close(source, sink)

    def _passed(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        passed = data[: self._left]
        self._left -= len(passed)
        return passed

    def _close_all(self) -> None:
        with self._lock:
            ends = list(self._open)
        self._close(*ends)

    def _close(self, *ends: socket.socket) -> None:
        for end in ends:
            with self._lock:
                if end not in self._open:
                    continue
                self._open.remove(end)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
