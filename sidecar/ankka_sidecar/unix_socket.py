"""Listening on a Unix socket: only its owner may connect, and what a killed sidecar left is taken over."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from ankka_sidecar.port_holder import PortTaken

BACKLOG = 2_048


def is_unix(host: str) -> bool:
    """Whether a configured host is `unix:///path`."""
    return host.startswith("unix://")


def path_of(host: str) -> Path:
    """The path in `unix:///path`.

    >>> path_of("unix:///run/ankka.sock")
    PosixPath('/run/ankka.sock')
    """
    return Path(host.removeprefix("unix://"))


def bind_unix(host: str) -> socket.socket:
    """A listening socket at the path, mode 0600; `PortTaken` if somebody listens there, or something else is there."""
    path = path_of(host)
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise PortTaken(f"cannot listen on {host}: there is a file that is no socket; give another path")
        if _answers(path):
            raise PortTaken(f"cannot listen on {host}: another program listens there; ANKKA_SIDECAR={host} would use it, if it is a sidecar")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # never, not even for a moment, can others connect
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise PortTaken(f"cannot listen on {host}: {error.strerror}") from error
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True
