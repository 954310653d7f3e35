"""The `.ankka` folder and what lies in it."""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

LOG_TAIL_BYTES = 4_000


class FolderUnusable(OSError):
    """The folder cannot be made or written; the message says which and what to do."""


class SidecarFile(msgspec.Struct, frozen=True, rename="camel"):
    """What a running sidecar writes of itself; `http` is its address, `incarnation` is random per start."""

    http: str
    pid: int
    incarnation: str
    version: str = ""
    journal: str = ""
    started_at: str = ""

    @property
    def url(self) -> str:
        """`http` with its scheme."""
        return self.http if "://" in self.http else f"http://{self.http}"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder named `.ankka`, by its absolute path.

    >>> Folder.of(Path("/srv/shop")).journal.as_posix()
    '/srv/shop/.ankka/journal.db'
    """

    path: Path

    @classmethod
    def of(cls, directory: Path) -> "Folder":
        """The `.ankka` of a directory."""
        return cls(directory.absolute() / ".ankka")

    @property
    def sidecar_file(self) -> Path:
        return self.path / "sidecar.json"

    @property
    def lock(self) -> Path:
        return self.path / "start.lock"

    @property
    def log(self) -> Path:
        return self.path / "sidecar.log"

    @property
    def journal(self) -> Path:
        return self.path / "journal.db"

    def make(self) -> None:
        """Make the folder if it is not there, and see that it can be written."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise FolderUnusable(self._unusable(f"it cannot be made: {error.strerror}")) from None
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise FolderUnusable(self._unusable("it cannot be written"))

    def read_sidecar_file(self) -> SidecarFile | None:
        """What the running sidecar wrote, or `None`: not there, or not readable as such."""
        try:
            return msgspec.json.decode(self.sidecar_file.read_bytes(), type=SidecarFile)
        except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
            return None
        except OSError as error:
            raise FolderUnusable(self._unusable(f"sidecar.json cannot be read: {error.strerror}")) from None

    def log_size(self) -> int:
        """How long the log is, to show later what was added."""
        try:
            return self.log.stat().st_size
        except FileNotFoundError:
            return 0

    def log_since(self, size: int) -> str:
        """What the log got since it had `size` bytes: its last lines."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(size, self.log_size() - LOG_TAIL_BYTES))
                return log.read().decode("utf-8", "replace").strip()
        except FileNotFoundError:
            return ""

    def _unusable(self, reason: str) -> str:
        return (
            f"the folder {self.path} cannot hold the journal of this folder's own sidecar ({reason}); "
            "run in a folder you can write, or set ANKKA_SIDECAR to the address of a running sidecar"
        )
