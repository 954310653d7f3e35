"""`make docs` builds: without a warning, with every public name once, and no link that leads nowhere."""

import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.arch.test_public_names import ALL
from tests.docs.markdown import PAGES, ROOT, blocks_of

REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))


class _Page(HTMLParser):
    """What a page links to, and what can be linked to on it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)
                if tag != "a":
                    self.loads.append(value)


def _build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` runs."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env"]
    folders = ["-c", str(ROOT / "docs"), "-d", str(out.parent / "doctrees"), str(source), str(out)]
    return subprocess.run([*command, *folders], cwd=out.parent, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs") / "site"
    done = _build(ROOT, out)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    return out


@pytest.mark.slow
@pytest.mark.timeout(180)  # it reads every page and every docstring; a busy machine needs its time
def test_the_reference_has_every_public_name_once(site: Path) -> None:
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    entries = [line.split(" ")[0] for line in inventory.splitlines() if " py:" in line]
    public = [f"{module}.{name}" for module, name in ALL]
    assert {name: entries.count(name) for name in public} == dict.fromkeys(public, 1)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_no_link_of_the_site_leads_nowhere(site: Path) -> None:
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    assert site / "docs" / "index.html" in pages
    broken: list[str] = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            ids = pages[target].ids if target in pages else set[str]()
            if not target.is_file() or (parts.fragment and target in pages and unquote(parts.fragment) not in ids):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_page_loads_nothing_from_another_host(site: Path) -> None:
    loads = {load for page in site.rglob("*.html") for load in _Page(page).loads}
    assert loads, "no page has a style sheet"
    assert {load for load in loads if urlsplit(load).netloc} == set()
    assert "@import" not in "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[gone](gone.md)", "gone.md"),
        ("[gone](#gone)", "gone"),
        ("```{eval-rst}\n.. autoclass:: ankka.workflow.Gone\n```", "Gone"),
    ],
    ids=["page", "heading", "name"],
)
def test_what_is_missing_fails_the_build(wrong: str, said: str, tmp_path: Path) -> None:
    """A broken link, or a name that the code does not have."""
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    (source / "docs" / "index.md").write_text(f"# Docs\n\n{wrong}\n", encoding="utf-8")
    done = _build(source, tmp_path / "site")
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize(("module", "name"), ALL)
def test_a_page_of_the_reference_names(module: str, name: str) -> None:
    """The fast half of the test above: the name stands on a page, below its module."""
    found: list[str] = []
    for page in REFERENCE:
        for block in blocks_of(page, ""):
            current = ""
            for words in (line.split() for line in block.text.splitlines()):
                if words[:2] == ["..", "currentmodule::"]:
                    current = words[2]
                elif words[:1] == [".."]:
                    found.append(f"{current}.{words[2].removesuffix('()')}")
    assert found.count(f"{module}.{name}") == 1


def test_every_page_is_part_of_the_docs() -> None:
    """What the tests run are the pages that the site shows, and the README."""
    shown = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "samples").glob("*/README.md")]
    hidden = {page for page in shown if "decisions" in page.parts or "reference" in page.parts}
    assert {*shown} - hidden == {*PAGES} - {ROOT / "README.md"}
