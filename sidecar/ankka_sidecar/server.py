"""The listening socket, and uvicorn as one part of the sidecar instead of its owner."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Generator
from typing import Any

import uvicorn

from ankka_sidecar.config import BadSetting
from ankka_sidecar.http.guard import is_loopback
from ankka_sidecar.http.protocol import Protocol
from ankka_sidecar.port_holder import PortTaken, describe_holder
from ankka_sidecar.unix_socket import bind_unix, is_unix, path_of

BACKLOG = 2_048
PORTS_TRIED = 100


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: the sidecar owns the signals and tells uvicorn to stop last."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals alone."""
        yield


def make_server(app: Any, message_limit: int) -> Server:
    """A server for the application; sessions have their own pings and no compression."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        http=Protocol,
        ws="websockets-sansio",
        ws_max_size=message_limit + 64 * 1024,
        ws_ping_interval=None,
        ws_per_message_deflate=False,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,  # longer than clients keep theirs: it is they who close an idle connection, never in the middle of a request
        timeout_graceful_shutdown=5,
    )
    return Server(config)


def check_loopback(host: str, port: int) -> None:
    """Refuse (`BadSetting`) an address that others than this machine can reach: there are no tokens yet."""
    if not is_unix(host) and not is_loopback(host):
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise BadSetting(f"--http {shown}: only loopback addresses can be served in this version; use 127.0.0.1:{port}")


def bind(host: str, port: int, *, fallback: bool) -> socket.socket:
    """A listening socket; with `fallback` the next free port when that one is taken."""
    if is_unix(host):
        return bind_unix(host)
    last: OSError | None = None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + (PORTS_TRIED if fallback and port else 1)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            last = error
            continue
        listener.setblocking(False)
        return listener
    if last is not None and last.errno == errno.EADDRINUSE:
        raise PortTaken(f"cannot listen on {host}:{port}: {describe_holder(host, port)}")
    raise PortTaken(f"cannot listen on {host}:{port}: {last.strerror if last is not None else 'no port was tried'}")


def url_of(listener: socket.socket) -> str:
    """The URL a listening socket is reached at."""
    if listener.family == socket.AF_UNIX:
        return f"unix://{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def remove_socket(host: str) -> None:
    """Take a Unix socket away when nobody listens on it any more."""
    if is_unix(host):
        path_of(host).unlink(missing_ok=True)
