"""The sidecar as a child program: what starts it, and what is said when it does not come up."""

import asyncio
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ankka.embedded.folder import Folder, SidecarFile

STARTED_WITHIN = 60.0
POLL = 0.01
NEEDED = ("ankka_sidecar", "alembic", "fastapi", "httptools", "prometheus_client", "sqlalchemy", "uvicorn")
DEFAULT_HTTP = "127.0.0.1:9000"
"""Where it listens if `ANKKA_HTTP` does not say otherwise; the next free port if that one is taken."""


class SidecarNotStarted(OSError):
    """The folder's own sidecar could not be started; the message says why and what to do."""


def check_installed() -> None:
    """`SidecarNotStarted` if the runtime is not installed, naming the extra that brings it."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not missing:
        return
    checkout = Path(__file__).parents[2]
    how = "pip install 'ankka-engine[sidecar]'"
    if (checkout / "Makefile").exists() and (checkout / "pyproject.toml").exists():
        how += f", or `make setup` in {checkout}"
    raise SidecarNotStarted(
        f"the sidecar is not installed in {sys.prefix} (missing: {', '.join(missing)}): {how}; "
        "or set ANKKA_SIDECAR to the address of a running sidecar"
    )


def first_choice() -> str:
    """The HOST:PORT a new sidecar of a folder tries first."""
    return os.environ.get("ANKKA_HTTP", "").strip() or DEFAULT_HTTP


class SidecarProgram:
    """One start of `python -m ankka_sidecar` by this process."""

    def __init__(self, folder: Folder, process: "subprocess.Popen[bytes]", log_size: int) -> None:
        self._folder = folder
        self._process = process
        self._log_size = log_size

    @classmethod
    def start(
        cls,
        folder: Folder,
        http: str,
        *,
        journal: str | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        any_port: bool = True,
    ) -> "SidecarProgram":
        """Start it for `folder`, on `http` if that is free, else (with `any_port`) on the next free port.

        `journal` is an address, by default the folder's `journal.db`; `environment` is all of it, by default this process's.
        """
        check_installed()
        size = folder.log_size()
        # -P: what lies in the user's folder (an `alembic` directory, say) must not stand in for a module of ours.
        command = [sys.executable, "-P", "-m", "ankka_sidecar", "--journal", journal or f"sqlite:///{folder.journal}", "--http", http]
        command += ["--embedded", str(folder.sidecar_file), *(["--port-fallback"] if any_port else []), *options]
        descriptor = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                cwd=folder.path.parent,
                env=environment,
                start_new_session=True,  # a terminal's Ctrl-C must not reach it: it stops when its last process has left
            )
        except OSError as error:
            raise SidecarNotStarted(f"{sys.executable} could not be started: {error}") from error
        finally:
            os.close(descriptor)
        return cls(folder, process, size)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended; the system then forgets it."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """kill -9, and wait for the end; nothing if it has ended."""
        self._process.kill()
        self._process.wait()

    async def stop(self, within: float) -> bool:
        """SIGTERM, and wait for the end; false if it still runs after `within` seconds."""
        self._process.terminate()
        try:
            async with asyncio.timeout(within):
                while not self.ended:  # noqa: ASYNC110  # a child's end is no event of the loop's without a watcher of its own
                    await asyncio.sleep(POLL)
        except TimeoutError:
            return False
        return True

    async def ready(self) -> SidecarFile:
        """Wait until it listens and has written its file; `SidecarNotStarted` with its last words if it ends before."""
        try:
            async with asyncio.timeout(STARTED_WITHIN):
                while True:
                    ended = self.ended
                    written = self._folder.read_sidecar_file()
                    if written is not None and written.pid == self.pid:
                        return written
                    if ended:
                        raise SidecarNotStarted(self._last_words(f"ended with code {self._process.returncode} before it was ready"))
                    await asyncio.sleep(POLL)
        except TimeoutError:
            self._process.kill()
            self._process.wait()
            raise SidecarNotStarted(self._last_words(f"was not ready within {STARTED_WITHIN:.0f} s")) from None
        except asyncio.CancelledError:
            self._process.terminate()
            raise

    def forget(self) -> None:
        """Leave it running for the other processes of the folder: this one will not wait for it."""
        if not self.ended:
            self._process.returncode = 0

    def _last_words(self, what: str) -> str:
        log = self._folder.log_since(self._log_size)
        said = "".join(f"\n  | {line}" for line in log.splitlines()) if log else " (it printed nothing)"
        return f"the sidecar of {self._folder.path} {what}; from {self._folder.log}:{said}"
