"""Which sidecar a command speaks to: `--sidecar`, else `ANKKA_SIDECAR`, else the one of this folder."""

import os
from dataclasses import dataclass
from pathlib import Path

import typer

from ankka.cli.failure import CommandFailed
from ankka.embedded.folder import Folder, FolderUnusable
from ankka.process.address import Address
from ankka.protocol.process_identity import pid_started

HOW_TO_START = (
    "start one with `ankka dev MODULE` (or `python -m MODULE`) in this folder,\n"
    "or with `ankka sidecar --journal sqlite:///journal.db` and set ANKKA_SIDECAR=http://127.0.0.1:9000"
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a sidecar should be, and who says so; `incarnation` and `pid` are known of the folder's own."""

    address: Address
    source: str
    incarnation: str | None = None
    pid: int | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the process that wrote the folder's file is certainly gone."""
        return self.pid is not None and pid_started(self.pid) is None

    def __str__(self) -> str:
        return f"{self.address.url} ({self.source})"


def find(option: str | None) -> Found:
    """The sidecar to speak to; `CommandFailed` says how to start one if none is named anywhere."""
    if option is not None:
        return Found(_parsed(option, "--sidecar"), "--sidecar")
    variable = os.environ.get("ANKKA_SIDECAR", "").strip()
    if variable:
        return Found(_parsed(variable, "ANKKA_SIDECAR"), "ANKKA_SIDECAR")
    folder = Folder.of(Path.cwd())
    try:
        written = folder.read_sidecar_file()
    except FolderUnusable as error:
        raise CommandFailed(f"ankka: {error}") from None
    if written is None:
        raise CommandFailed(
            f"ankka: no sidecar: neither --sidecar nor ANKKA_SIDECAR is given, and none runs in {folder.path.parent};\n{HOW_TO_START}"
        )
    return Found(_parsed(written.url, str(folder.sidecar_file)), "./.ankka/sidecar.json", written.incarnation, written.pid)


def _parsed(url: str, source: str) -> Address:
    try:
        return Address.parse(url.strip())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=source) from None
