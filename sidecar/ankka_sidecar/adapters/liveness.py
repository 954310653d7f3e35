"""Whether a process of this host still lives, by pid and start time."""

from __future__ import annotations

import socket

from ankka.protocol.process_identity import pid_started
from ankka_sidecar.ports.leases import AttachedProcess


class HostLiveness:
    """Looks at the pids of this host; of another host it knows nothing."""

    def __init__(self) -> None:
        self._host = socket.gethostname()

    def is_dead(self, process: AttachedProcess) -> bool:
        """See `runtime.processes.Liveness`."""
        return process.host == self._host and pid_started(process.pid) != process.pid_started
