"""How `make docs` builds the site: Sphinx over the Markdown as it lies here, and the reference from the docstrings.

The source folder is the repository's root, so that a link to a sample works here, in an editor and on the site alike.
"""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "sidecar")]

project = "Ankka for Python"
html_title = project
author = "the authors of Ankka"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
include_patterns = ["docs/**.md", "samples/*/README.md"]
exclude_patterns = [".venv", "site", "**/.*", "**/node_modules"]
root_doc = "docs/index"
html_theme = "furo"
html_theme_options = {"sidebar_hide_name": False}
html_extra_path = ["_site"]
html_static_path = ["_static"]
html_css_files = ["ankka.css"]
html_copy_source = False
html_show_copyright = False

myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]
myst_links_external_new_tab = False

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 100

# The navigation: what is on the left of every page. The pages themselves stay plain Markdown.
NAVIGATION = {
    "Start": ["tutorial"],
    "Guide": ["workflows", "entities", "types", "client", "testing"],
    "How to": [
        "how-to/compensate",
        "how-to/wait-for-a-person",
        "how-to/call-a-slow-model",
        "how-to/do-things-once",
        "how-to/change-running-code",
        "how-to/test-a-workflow",
        "fastapi",
    ],
    "Operating": ["running", "http", "command-line", "errors"],
    "Reference": ["reference/index"],
    "More": ["/samples/checkout/README", "/samples/transfer/README", "glossary", "decisions/README"],
}
REFERENCE = ["workflow", "event-sourced-entity", "key-value-entity", "effects", "codec", "context", "client", "service", "testkit", "fastapi", "logs"]


def _toctree(caption: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def _with_navigation(app: Any, page: str, content: list[str]) -> None:
    """Add the navigation to the pages it hangs on."""
    if page == root_doc:
        content[0] += "".join(_toctree(caption, pages) for caption, pages in NAVIGATION.items())
    elif page == "docs/reference/index":
        content[0] += _toctree("Modules", REFERENCE)
    elif page == "docs/decisions/README":
        content[0] += _toctree("Decisions", [path.stem for path in sorted((ROOT / "docs" / "decisions").glob("0*.md"))])


def _as_restructured_text(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Indent the code that follows a line which ends with `::` where a docstring has it at its own margin."""
    code = False
    for index, line in enumerate(lines):
        if code and line and not line.startswith(" "):
            lines[index] = f"    {line}"
        elif code and line:
            code = False
        if line.endswith("::") and not line.startswith((" ", "..")) and index + 2 < len(lines) and not lines[index + 1]:
            code = not lines[index + 2].startswith(" ")


def _with_short_types(app: Any, what: str, name: str, value: object, options: Any, signature: str | None, returns: str | None) -> Any:
    """Leave the modules out of a signature's types."""
    short = [
        None if text is None else re.sub(r"\b(?:ankka|collections|datetime|typing)(?:\.\w+)*\.(?=\w)", "", text) for text in (signature, returns)
    ]
    return tuple(short)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _with_navigation)
    app.connect("autodoc-process-docstring", _as_restructured_text)
    app.connect("autodoc-process-signature", _with_short_types)
