"""Who may import whom: the contracts of pyproject.toml hold, and the contract type of ours finds what it should."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from grimp import ImportGraph
from importlinter.domain.contract import InvalidContractOptions

from tests.arch.may_import import MayImport

ROOT = Path(__file__).parents[2]


def test_every_import_is_in_its_packages_list() -> None:
    linted = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-logo", "--no-cache", "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert linted.returncode == 0, f"\n{linted.stdout}\n{linted.stderr}"


def test_every_package_of_the_sidecar_has_a_row() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    rows = {contract["package"] for contract in contracts if contract["type"] == "may_import"}
    packages = {f"ankka_sidecar.{init.parent.name}" for init in (ROOT / "sidecar/ankka_sidecar").glob("*/__init__.py")}
    assert packages - rows == set(), "a new package needs a row in [tool.importlinter] of pyproject.toml: what may it import?"


GRAPH = {
    "ankka.protocol.frames": ["msgspec", "typing", "ankka.protocol.errors"],
    "ankka_sidecar.core.workflow": ["dataclasses", "ankka.protocol.errors", "ankka_sidecar.core.events"],
    "ankka_sidecar.core.clocked": ["time", "asyncio"],
    "ankka_sidecar.core.reaching": ["ankka_sidecar.runtime.node", "ankka.workflow", "sqlalchemy"],
}


@pytest.mark.parametrize(
    ("package", "apart", "found"),
    [
        ("ankka.protocol", [], set[str]()),
        ("ankka_sidecar.core.workflow", [], set[str]()),
        ("ankka_sidecar.core.clocked", [], {"time", "asyncio"}),
        ("ankka_sidecar.core.reaching", [], {"ankka_sidecar.runtime.node", "ankka.workflow", "sqlalchemy"}),
        ("ankka_sidecar", ["ankka_sidecar.core.reaching"], {"time", "asyncio"}),
        ("ankka_sidecar.not_there_yet", [], set[str]()),
    ],
)
def test_the_contract_finds_what_the_list_does_not_name(package: str, apart: list[str], found: set[str]) -> None:
    graph = ImportGraph()
    for importer, imports in GRAPH.items():
        for imported in imports:
            graph.add_import(importer=importer, imported=imported, line_number=1, line_contents="")
    options: dict[str, Any] = {
        "package": package,
        "apart": apart,
        "ours": ["ankka.protocol", "ankka_sidecar.core.events"],
        "others": ["msgspec"],
        "stdlib": ["dataclasses", "typing"],
    }
    check = MayImport("row", {}, options).check(graph, verbose=False)
    assert {item["imported"] for item in check.metadata["found"]} == found
    assert check.kept is (not found)


def test_a_row_with_an_unknown_word_is_refused() -> None:
    with pytest.raises(InvalidContractOptions):
        MayImport("row", {}, {"package": "ankka", "stdlib": "any", "owrs": []})
