"""Service programs in one folder, which start, join and leave the sidecar of that folder."""

import os
import signal
import socket
from pathlib import Path

from ankka.embedded.folder import Folder, SidecarFile
from ankka.protocol.process_identity import pid_started
from tests.integration.support.programs import Program, Programs, Sidecar, wait_for

MODULE = "tests.integration.service.parcels"
WITHIN = 30.0


class FolderPrograms(Programs):
    """The programs of one test; the folder's sidecars end with them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.own = Folder.of(folder)
        self.environment = {"ANKKA_HTTP": f"127.0.0.1:{_free_port()}"}
        """What the programs are started with from now on."""
        self._sidecars: set[int] = set()

    def launch(self, *components: str) -> Program:
        """Start one, without waiting for anything."""
        return self.run("-m", MODULE, *components, environment={**self.environment})

    def start(self, *components: str) -> Program:
        """Start one and wait until it is attached."""
        program = self.launch(*components)
        attached_line(program)
        return program

    def outer_sidecar(self) -> Sidecar:
        """A sidecar that belongs to no folder, where the programs look for theirs."""
        return self.sidecar("--http", self.environment["ANKKA_HTTP"])

    def own_sidecar(self) -> SidecarFile | None:
        """What the folder's sidecar says of itself."""
        written = self.own.read_sidecar_file()
        if written is not None:
            self._sidecars.add(written.pid)
        return written

    def running_sidecar(self) -> SidecarFile:
        """The same of one that must be there."""
        written = self.own_sidecar()
        assert written is not None, f"{self.own.sidecar_file} is missing"
        return written

    def sidecar_after(self, before: SidecarFile) -> SidecarFile:
        """The sidecar that follows `before`."""

        def look() -> SidecarFile | None:
            written = self.own_sidecar()
            return written if written is not None and written.incarnation != before.incarnation else None

        return wait_for(look, "another sidecar of the folder", WITHIN)

    def ledger(self) -> list[str]:
        """What the steps have written."""
        path = self.folder / "ledger"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def noted(self, line: str) -> None:
        """Wait until a step has written that line."""
        wait_for(lambda: line in self.ledger(), f"{line!r} in the ledger")

    def open_gate(self) -> None:
        """Let steps that hold go on."""
        (self.folder / "gate").touch()

    def clean_up(self) -> None:
        """End them all, and the folder's sidecars."""
        self.own_sidecar()
        super().clean_up()
        for pid in self._sidecars:
            if pid_started(pid) is not None:
                os.kill(pid, signal.SIGKILL)


def attached_line(program: Program) -> str:
    """What a program says when it is attached."""
    return program.wait_for_output(r"(?m)^ankka  http.*$", WITHIN)[0]


def url_of(program: Program) -> str:
    """The sidecar that a program is attached to."""
    return attached_line(program).split()[1]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
