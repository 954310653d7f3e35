"""Whether a process that shares this one's pids still lives, by pid and start time."""

from __future__ import annotations

from ankka.protocol.process_identity import pid_space, pid_started
from ankka_sidecar.ports.leases import AttachedProcess


class HostLiveness:
    """Looks at the pids that it sees; of another host, or another container, it knows nothing."""

    def __init__(self) -> None:
        self._host = pid_space()

    def is_dead(self, process: AttachedProcess) -> bool:
        """See `runtime.processes.Liveness`."""
        return process.host == self._host and pid_started(process.pid) != process.pid_started
