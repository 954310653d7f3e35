"""Which process is on the other side: a lost connection is not a dead process (DESIGN §4).

A pid alone does not name a process, because pids are used again; a pid with the instant it started does, among those
who see the same pids (`pid_space`). `boot` is random per start and names it beyond that.
"""

import os
import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """This start of this process: `boot` is random, `pid_started` is what `pid_started(pid)` says in the pid space `host`."""

    boot: str
    host: str
    pid: int
    pid_started: str


def this_process() -> ProcessIdentity:
    """The identity of the calling process, with a new `boot`; take it once per session object, not per connection."""
    pid = os.getpid()
    return ProcessIdentity(boot=secrets.token_hex(8), host=pid_space(), pid=pid, pid_started=pid_started(pid) or "")


def pid_space() -> str:
    """A name for all who see the same pids: the host, and on Linux its present boot and the pid namespace.

    Containers of one pod share the host's name and not its pids: what one calls pid 1 is another's in the next, and
    taking them for each other would declare a living process dead.
    """
    parts = [socket.gethostname()]
    if sys.platform == "linux":
        with suppress(OSError):  # /proc is not there: the name has to do
            parts += [Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(), str(Path("/proc/self/ns/pid").readlink())]
    return " ".join(parts)


def pid_started(pid: int) -> str | None:
    """When the process `pid` of this host started, as text to compare, or `None` if it is gone.

    A process that has ended and was not waited for yet (a zombie) is gone. On a system where the start cannot be
    read, the answer is an empty text while the pid exists.

    >>> pid_started(os.getpid()) == pid_started(os.getpid())
    True
    """
    if sys.platform == "linux":
        return _started_by_proc(pid)
    if sys.platform == "win32":
        return _started_by_signal(pid)
    return _started_by_ps(pid)


def _started_by_proc(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except PermissionError:  # mounted with hidepid: it exists, more cannot be said
        return _started_by_signal(pid)
    # The name in parentheses may hold spaces and parentheses; the fields after the last one are state, ppid, … and
    # as the 20th of them the start in clock ticks since the host's boot.
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in ("Z", "X") else fields[19]


def _started_by_ps(pid: int) -> str | None:
    listing = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
    ).stdout.strip()
    state, _, started = listing.partition(" ")
    return None if not listing or state.startswith("Z") else started.strip()


def _started_by_signal(pid: int) -> str | None:
    if sys.platform == "win32":  # signal 0 would end the process there
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    return ""
