"""Runs the Python of one page in one namespace, and compares what it prints with what the page says it prints."""

import ast
import asyncio
import contextlib
import inspect
import io
import sys
from contextlib import AsyncExitStack
from types import ModuleType, TracebackType
from typing import Any, Self

from ankka.service import ServiceBuilder
from tests.docs.markdown import Block


class PythonPage:
    """The blocks of one page, in order. The first live one starts the page's `service`, which ends with the page."""

    def __init__(self, name: str) -> None:
        self._module = ModuleType(name)  # a module, so that types and sources are found as in a file
        self._runner = asyncio.Runner()
        self._running = AsyncExitStack()
        self._url: str | None = None

    def __enter__(self) -> Self:
        sys.modules[self._module.__name__] = self._module
        self._runner.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._runner.run(self._running.aclose())
            self._runner.__exit__(kind, error, trace)
        finally:
            del sys.modules[self._module.__name__]

    def run(self, block: Block) -> None:
        """Run a block and compare what it prints."""
        said = io.StringIO()
        names = self._module.__dict__
        with contextlib.redirect_stdout(said):
            if block.note == "live":
                self._runner.run(self._live(block))
            else:
                exec(_compiled(block, block.text, 0), names)
        assert said.getvalue().splitlines() == shown(block.text), f"{block.where} prints something else than its comments say"

    async def _live(self, block: Block) -> None:
        service = self._module.__dict__.get("service")
        if self._url is None and isinstance(service, ServiceBuilder):
            running = await self._running.enter_async_context(service.running())
            await running.attached()
            self._url = running.line.split()[1]
        text = block.text.replace("http://127.0.0.1:9000", self._url or "http://127.0.0.1:9000")
        result: Any = eval(_compiled(block, text, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), self._module.__dict__)
        if inspect.isawaitable(result):
            await result


def _compiled(block: Block, text: str, flags: int) -> Any:
    # Under the page's name and lines, so that tracebacks and `inspect.getsource` point into the page.
    return compile("\n" * (block.line - 1) + text, str(block.page), "exec", flags=flags, dont_inherit=True)


def shown(text: str) -> list[str]:
    """What a block says it prints: the comments at the beginning of a line, from its first `print` on.

    >>> shown("# why\\nprint(1)\\n# 1\\n")
    ['1']
    """
    _, _, behind = text.partition("print(")
    return [line.removeprefix("# ") for line in behind.splitlines() if line.startswith("# ")]
