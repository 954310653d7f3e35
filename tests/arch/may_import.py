"""An import-linter contract that reads like the table it enforces: a package, and the closed list of what it may import.

The contracts import-linter brings forbid named modules; this one allows named modules, so a new dependency is a
decision and not an oversight. A package that is not there yet has no imports, so its row may stand before its code.
"""

import sys
from collections.abc import Iterator
from typing import ClassVar

from grimp import ImportGraph
from importlinter.application import output
from importlinter.domain import fields
from importlinter.domain.contract import Contract, ContractCheck
from typing_extensions import override

OURS = ("ankka", "ankka_sidecar")
ANY = "any"


def within(module: str, package: str) -> bool:
    """Whether `module` is `package` or lies in it.

    >>> within("ankka.cli.main", "ankka.cli"), within("ankka.client", "ankka.cli")
    (True, False)
    """
    return module == package or module.startswith(f"{package}.")


class MayImport(Contract):
    """`package` (without the parts named `apart`) may import itself, `ours`, `others` and `stdlib`, and nothing else.

    `ours` are modules or packages of this distribution, `others` top-level names of other distributions, `stdlib` is
    `any` or top-level names of the standard library. Only direct imports count: every package has its own row.
    """

    type_name: ClassVar[str] = "may_import"

    package = fields.StringField()
    apart = fields.ListField(subfield=fields.StringField(), required=False)
    ours = fields.ListField(subfield=fields.StringField(), required=False)
    others = fields.ListField(subfield=fields.StringField(), required=False)
    stdlib = fields.ListField(subfield=fields.StringField())

    @override
    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        found = [
            {"importer": importer, "imported": imported, "lines": _lines(graph, importer, imported)}
            for importer in self._modules(graph)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if not self._allowed(imported)
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    @override
    def render_broken_contract(self, check: ContractCheck) -> None:
        for found in check.metadata["found"]:
            output.print_error(f"{found['importer']} (line {found['lines']}) must not import {found['imported']}", bold=False)
        allowed = ", ".join([*self._list("ours"), *self._list("others")]) or "nothing of ours, nothing of others"
        output.print_error(
            f"{self._text('package')} may import: itself; {allowed}; of the standard library: {', '.join(self._list('stdlib'))}.", bold=False
        )
        output.print_error("Move the code to where the import is allowed, or reach it through a port. The rows are in pyproject.toml.", bold=False)
        output.new_line()

    def _modules(self, graph: ImportGraph) -> Iterator[str]:
        for module in sorted(graph.modules):
            if within(module, self._text("package")) and not any(within(module, part) for part in self._list("apart")):
                yield module

    def _allowed(self, imported: str) -> bool:
        top = imported.partition(".")[0]
        if top in OURS:
            return any(within(imported, package) for package in (self._text("package"), *self._list("ours")))
        if top in sys.stdlib_module_names:
            return ANY in self._list("stdlib") or top in self._list("stdlib")
        return top in self._list("others")

    def _text(self, field: str) -> str:
        return str(getattr(self, field))

    def _list(self, field: str) -> list[str]:
        return list(getattr(self, field) or ())


def _lines(graph: ImportGraph, importer: str, imported: str) -> str:
    return ", ".join(str(detail["line_number"]) for detail in graph.get_import_details(importer=importer, imported=imported))
