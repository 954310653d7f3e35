"""A sidecar program of a test's own: in a temporary folder, killed and started again as the test asks, gone with it.

    start ──► running ──stop, kill──► ended ──start──► running (same journal, same port) ──discard──► folder and program gone

It is discarded at the latest when its object or the interpreter goes; if even that does not come about (kill -9 of the
tests), it leaves by itself, as a folder's own sidecar does, five seconds after its last process.
"""

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ankka.embedded.folder import Folder, SidecarFile
from ankka.embedded.program import SidecarProgram

STOPPED_WITHIN = 10.0
"""Seconds to end after SIGTERM; then it is killed."""
FIRST_PORT, PORTS = 20_000, 10_000
"""Ports tried first: below those that systems give to outgoing connections, so that the port is free again at a restart."""
SUPPORTED = 'journal="sqlite" (a new file, removed with the kit) or journal="sqlite:///PATH" (your file, which stays)'
OWN_OPTIONS = ("journal", "http", "embedded", "port-fallback")


@dataclass(slots=True)
class _Remains:
    """What must not outlive the object."""

    owner: int
    folder: Folder
    program: SidecarProgram | None = None

    def clear(self) -> None:
        if os.getpid() != self.owner:
            return  # a fork of the tests: what is here is its parent's
        if self.program is not None:
            self.program.kill()
        shutil.rmtree(self.folder.path.parent, ignore_errors=True)


class ThrowawaySidecar:
    """See the module. `journal` and `options` are as `journal_address` and `command_line` make them."""

    def __init__(self, journal: str | None, options: Sequence[str]) -> None:
        folder = Folder.of(Path(tempfile.mkdtemp(prefix="ankka-kit-")))
        folder.make()
        self._journal = journal
        self._options = options
        self._written: SidecarFile | None = None
        self._remains = _Remains(os.getpid(), folder)
        self._finalizer = weakref.finalize(self, self._remains.clear)

    @property
    def url(self) -> str:
        """Where it listens, the same after every start."""
        return self._known().url

    @property
    def pid(self) -> int:
        """The process id of its last start."""
        return self._known().pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._remains.program is not None and not self._remains.program.ended

    @property
    def log(self) -> str:
        """The end of what it has logged, all starts together."""
        return self._remains.folder.log_since(0)

    async def start(self) -> None:
        """Start it, on the port it had, and wait until it listens; `SidecarNotStarted` with its last words if it does not."""
        first = self._written is None
        program = SidecarProgram.start(
            self._remains.folder,
            f"127.0.0.1:{FIRST_PORT + secrets.randbelow(PORTS)}" if first else self.url.partition("://")[2],
            journal=self._journal,
            options=self._options,
            environment={name: value for name, value in os.environ.items() if not name.startswith("ANKKA_")},
            any_port=first,
        )
        self._remains.program = program
        self._written = await program.ready()

    async def stop(self) -> None:
        """SIGTERM, and wait for the end; kill -9 if that takes too long."""
        program = self._remains.program
        if program is not None and not await program.stop(STOPPED_WITHIN):
            program.kill()

    def kill(self) -> None:
        """kill -9, and wait for the end."""
        if self._remains.program is not None:
            self._remains.program.kill()

    def discard(self) -> None:
        """End it whatever it does, and remove its folder; nothing the second time."""
        self._finalizer()

    def _known(self) -> SidecarFile:
        assert self._written is not None, "the sidecar was not started yet"
        return self._written


def journal_address(journal: str) -> str | None:
    """The address of a kit's journal, `None` for a throw-away one; `ValueError` says what is supported.

    >>> journal_address("sqlite") is None
    True
    >>> journal_address("sqlite:////srv/journal.db")
    'sqlite:////srv/journal.db'
    >>> journal_address("mysql://host/shop")
    Traceback (most recent call last):
    ValueError: unknown kind of journal 'mysql'; supported are journal="sqlite" (...) or journal="sqlite:///PATH" (...)
    """
    if journal == "sqlite":
        return None
    kind = journal.partition(":")[0]  # no more of it is shown: there may be a password behind it
    if kind.startswith("postgres"):
        raise ValueError(f"journal={kind!r}: PostgreSQL journals are not available in this version; supported are {SUPPORTED}")
    if kind != "sqlite":
        raise ValueError(f"unknown kind of journal {kind!r}; supported are {SUPPORTED}")
    path = journal.removeprefix("sqlite:///")
    if path == journal or not path.strip():
        raise ValueError(f"journal={journal!r} names no file; supported are {SUPPORTED}")
    return f"sqlite:///{Path(path).absolute()}"


def command_line(settings: Mapping[str, str | int | timedelta]) -> list[str]:
    """The options of a sidecar with these settings, named as on its command line; what is wrong with them it says itself.

    >>> command_line({"attach-wait": timedelta(milliseconds=500), "max_mailbox": 10})
    ['--attach-wait=0.5s', '--max-mailbox=10']
    """
    options: list[str] = []
    for given, value in settings.items():
        name = given.replace("_", "-")
        if name in OWN_OPTIONS:
            raise ValueError(f"settings: {given!r} is up to the kit; for the journal there is `journal=`")
        options.append(f"--{name}={_seconds(value) if isinstance(value, timedelta) else value}")
    return options


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"
