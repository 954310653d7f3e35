"""Which files were saved: the Python files of the folder, without what is not the project's own."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from types import TracebackType
from typing import Self

from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType]  # its signature names trio, which is not installed

IGNORED = {
    ".ankka",
    ".git",
    ".hg",
    ".idea",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
    "venv",
}
SUFFIXES = (".py", ".pyi", ".pyx", ".pyd", ".so")
SETTLED = 50
"""ms without a further change, after which what changed counts as one save."""


class Watching:
    """The changes of a folder, from the moment it is entered; a context manager."""

    def __init__(self, folder: Path) -> None:
        # Resolved, because the system reports real paths.
        self._folder = folder.resolve()
        self._ignored = IGNORED | {path.parent.name for path in self._folder.glob("*/pyvenv.cfg")}
        self._stop = asyncio.Event()
        self._changes: AsyncGenerator[set[tuple[Change, str]], None] | None = None
        self._next: asyncio.Task[set[tuple[Change, str]]] | None = None

    async def __aenter__(self) -> Self:
        self._changes = awatch(self._folder, watch_filter=self.is_ours, step=SETTLED, stop_event=self._stop, ignore_permission_denied=True)
        self._arm()
        await asyncio.sleep(0)  # so far that it watches: what is saved from now on is seen
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
        if self._changes is not None:
            await self._changes.aclose()

    def changed(self) -> "asyncio.Task[set[tuple[Change, str]]]":
        """Is done when files were saved; to be waited for with `asyncio.wait`, and given back by `take`."""
        assert self._next is not None
        return self._next

    def take(self) -> list[str]:
        """The files that were saved, relative to the folder; the next ones are waited for."""
        changes = self.changed().result()
        self._arm()
        return sorted({Path(path).relative_to(self._folder).as_posix() for _, path in changes})

    def is_ours(self, change: Change, path: str) -> bool:
        """Whether a change of that file makes the process start anew."""
        del change
        try:
            relative = Path(path).relative_to(self._folder)
        except ValueError:
            return False
        if self._ignored.intersection(relative.parts[:-1]) or not relative.name.endswith(SUFFIXES):
            return False
        return not relative.name.startswith((".#", "flycheck_"))  # what editors put beside a file while it is edited

    def _arm(self) -> None:
        assert self._changes is not None
        self._next = asyncio.create_task(_following(self._changes), name="ankka dev watches")


async def _following(changes: "AsyncGenerator[set[tuple[Change, str]], None]") -> set[tuple[Change, str]]:
    return await anext(changes)
