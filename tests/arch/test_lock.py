"""requirements.lock works on every machine: no index, no path, every line hashed, everything the project names in it."""

import re
import sys
import tomllib
from collections.abc import Iterator

from tests.arch.sources import ROOT

LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PINNED = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ \\]+)", re.MULTILINE)


def _named() -> Iterator[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    groups = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    for requirement in (requirement for group in groups for requirement in group):
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        assert name is not None, requirement
        yield re.sub(r"[-_.]+", "-", name[0]).lower()


def test_everything_the_project_names_is_locked() -> None:
    locked = {match["name"] for match in PINNED.finditer(LOCK)}
    missing = set(_named()) - locked - {"ankka-engine"}
    assert not missing, "pyproject.toml names what requirements.lock does not have: run `make lock`"


def test_every_line_is_a_pin_a_hash_or_a_comment() -> None:
    line_kinds = re.compile(r"[a-z0-9-]+(\[[a-z,]+\])?==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|    # .*")
    odd = [line for line in LOCK.splitlines() if not line_kinds.fullmatch(line)]
    assert not odd, "an option, an address or a path in requirements.lock would hold on one machine only"


def test_no_pin_is_without_a_hash() -> None:
    lines = LOCK.splitlines()
    bare = [line for line, following in zip(lines, [*lines[1:], ""], strict=True) if PINNED.match(line) and "--hash=sha256:" not in following]
    assert not bare


def test_this_interpreter_is_one_the_project_is_for() -> None:
    assert sys.version_info >= (3, 11)
