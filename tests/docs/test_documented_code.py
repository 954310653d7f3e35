"""What the documentation shows works: its Python, its commands with their output, its links and its settings table."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ankka_sidecar.config import OPTIONS

from tests.docs.markdown import DOCS, PAGES, ROOT, blocks_of, files, page_name, pages_with
from tests.docs.python_page import PythonPage
from tests.docs.terminal import Terminal

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files that the pages tell their readers to save; the test stands in it, without our settings."""
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for variable in [name for name in os.environ if name.startswith("ANKKA_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("ANKKA_HTTP", "127.0.0.1:0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in files():
        sys.modules.pop(name.removesuffix(".py"), None)


@pytest.mark.parametrize("page", pages_with("python"), ids=page_name)
@pytest.mark.usefixtures("folder")
def test_the_python_of(page: Path) -> None:
    with PythonPage(f"documented_{page.stem.replace('-', '_').lower()}") as python:
        for block in blocks_of(page, "python"):
            if block.note in ("", "live"):
                python.run(block)
            else:
                assert block.file or re.fullmatch(r"notest: \w.{8,}", block.note), f"{block.where}: '{block.note}' is no note that is known"


@pytest.mark.slow
@pytest.mark.timeout(120)  # dozens of programs are started one after the other; a busy machine needs its time
@pytest.mark.parametrize("page", [page for page in pages_with("console") if page != TUTORIAL], ids=page_name)
def test_the_commands_of(page: Path, folder: Path) -> None:
    with Terminal(folder) as terminal:
        for block in blocks_of(page, "console"):
            if block.note != "skip":
                terminal.run(block)
        terminal.end()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_tutorial_in_an_empty_folder(tmp_path: Path) -> None:
    """Followed word for word: each file is saved, and each command typed, where it stands."""
    folder = tmp_path / "shop"
    folder.mkdir()
    with Terminal(folder) as terminal:
        for block in blocks_of(TUTORIAL, "python", "console"):
            if block.file is not None:
                (folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.note != "skip":
                terminal.run(block)
        terminal.end()


def test_the_tutorial_has_nothing_but_files_and_commands() -> None:
    assert {block.note.partition("=")[0] for block in blocks_of(TUTORIAL, "python", "console")} == {"", "file", "skip"}


def test_the_readme_shows_the_workflow_of_the_tutorial() -> None:
    assert blocks_of(ROOT / "README.md", "python")[0].text == files()["order.py"]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_of(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), f"{target} leads nowhere"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings], f"{target}: no such heading"


def test_every_page_is_in_the_index() -> None:
    linked = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in DOCS} - {"index.md"}
    assert {page for page in pages if f"({page})" not in linked} == set()


def test_the_settings_table_is_that_of_the_sidecar() -> None:
    rows = re.findall(r"^\| `--([\w-]+)` \| `(\w+)` \| (\S+) \| (.+) \|$", (ROOT / "docs" / "running.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows[2:] == [(option.name, option.variable, option.default, option.help) for option in OPTIONS]


def test_the_sql_of_running_answers(folder: Path) -> None:
    with Terminal(folder) as terminal:
        for block in blocks_of(ROOT / "docs" / "http.md", "console")[:2]:
            terminal.run(block)
        connection = sqlite3.connect(f"file:{folder / '.ankka' / 'journal.db'}?mode=ro", uri=True)
        try:
            (block,) = blocks_of(ROOT / "docs" / "running.md", "sql")
            statements = [part for part in block.text.split(";") if part.strip()]
            counts, timeline, state, due = [connection.execute(statement).fetchall() for statement in statements]
        finally:
            connection.close()
        terminal.end()
    assert counts == [("order", "Completed", 1)]
    assert [(sequence, type_) for sequence, _, type_ in timeline] == [(1, "started"), (2, "transitioned"), (3, "ended")]
    assert state == [('{"item":"book","status":"charged"}',)]
    assert due == []
