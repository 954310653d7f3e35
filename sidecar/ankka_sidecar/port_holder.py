"""Who has a port: what is said when a sidecar finds its own taken."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
from pathlib import Path

ANSWER_TIMEOUT = 1.0
LISTENING = "0A"
"""The state of a listening socket in `/proc/net/tcp`."""


class PortTaken(Exception):
    """The address is in use; the message says by whom."""


def describe_holder(host: str, port: int) -> str:
    """The holder of `host:port` by its pid, and the line that uses it if it is a sidecar."""
    pid = _pid_listening(port)
    who = f"pid {pid}" if pid is not None else "a process of another user"
    named = f"[{host}]" if ":" in host else host
    if _is_sidecar(host, port):
        url = f"http://{named}:{port}"
        return f"another sidecar has it ({who}, {url}); to use that one set ANKKA_SIDECAR={url}, else stop it or take another --http"
    return f"another program has it ({who}); stop it or take another address, for example --http {named}:{port + 1 if port < 65_535 else 0}"


def _is_sidecar(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_TIMEOUT)
    try:
        connection.request("GET", "/healthz")
        answer = json.loads(connection.getresponse().read(10_000))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(answer, dict) and "incarnation" in answer


def _pid_listening(port: int) -> int | None:
    """The process that listens on a port of this machine, as far as this user may see it."""
    if sys.platform == "linux":
        return _pid_by_proc(port)
    lsof = shutil.which("lsof")
    if lsof is None:
        return None
    found = subprocess.run([lsof, "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-t"], capture_output=True, text=True, check=False).stdout.split()
    return int(found[0]) if found and found[0].isdigit() else None


def _pid_by_proc(port: int) -> int | None:
    sockets: set[str] = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                sockets.add(f"socket:[{fields[9]}]")
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and sockets and _has_open(process, sockets):
            return int(process.name)
    return None


def _has_open(process: Path, sockets: set[str]) -> bool:
    try:
        return any(_target(descriptor) in sockets for descriptor in (process / "fd").iterdir())
    except OSError:  # it has gone, or is another user's
        return False


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""
