"""Takes the code blocks out of a Markdown page.

```python                    runs, with the blocks before it on the page
```python live               the same in an event loop, while the page's `service` runs with a sidecar
```python file=order.py      is that file, for all pages, and is a program or a test of its own
```python notest: reason     does not run; the reason is for readers of the source
```console                   `$ ` lines run in a terminal, the lines below each are its output; `skip` is not run
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")])
PAGES = [ROOT / "README.md", *sorted((ROOT / "samples").glob("*/README.md")), *DOCS]


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is the number of its first line of code."""

    page: Path
    language: str
    note: str
    line: int
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file it is."""
        found = re.fullmatch(r"file=(\S+)", self.note)
        return found[1] if found else None

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path, *languages: str) -> list[Block]:
    """The page's blocks in these languages, in order."""
    found: list[Block] = []
    fence: re.Match[str] | None = None
    start = 0
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        opening = re.match(r"^```(\w*)[ ]*(.*)$", line)
        if fence is None:
            if opening is not None:
                fence, start, lines = opening, number + 1, []
        elif line == "```":
            found.append(Block(page, fence[1], fence[2].strip(), start, "\n".join(lines) + "\n"))
            fence = None
        else:
            lines.append(line)
    assert fence is None, f"{page}:{start - 1}: a block is not closed"
    return [block for block in found if block.language in languages]


def files() -> dict[str, str]:
    """The files that the pages tell their readers to save."""
    found: dict[str, str] = {}
    for page in PAGES:
        for block in blocks_of(page, "python"):
            if block.file is not None:
                assert block.file not in found, f"{block.where}: {block.file} is on two pages"
                found[block.file] = block.text
    return found


def pages_with(*languages: str) -> list[Path]:
    """The pages that have such blocks which run."""
    return [page for page in PAGES if any(not block.note.startswith(("notest", "skip")) for block in blocks_of(page, *languages))]


def page_name(page: Path) -> str:
    """A page's name in test ids."""
    return page.relative_to(ROOT).as_posix()
