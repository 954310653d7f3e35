"""`MODULE[:SERVICE]`: what is to be run, looked up without importing it, because importing runs it."""

import difflib
import importlib
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

import typer

HINT = "MODULE"


@dataclass(frozen=True, slots=True)
class Target:
    """A module that is run as a program, or the service of that name in it."""

    module: str
    service: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Target":
        """The target as it is typed; else it is bad usage.

        >>> Target.parse("shop.main:service")
        Target(module='shop.main', service='service')
        """
        module, colon, service = text.partition(":")
        if module.endswith(".py") or "/" in module or "\\" in module:
            named = ".".join(part for part in Path(module).with_suffix("").parts if part not in (".", "/"))
            raise typer.BadParameter(f"{text!r} is a file; name it as a module: ankka dev {named}{colon}{service}", param_hint=HINT)
        if not all(part.isidentifier() for part in module.split(".")):
            raise typer.BadParameter(f"{module!r} is not the name of a module, such as shop.main", param_hint=HINT)
        if colon and not all(part.isidentifier() for part in service.split(".")):
            raise typer.BadParameter(f"{service!r} is not the name of a service in {module}, such as {module}:service", param_hint=HINT)
        return cls(module, service or None)

    def command(self) -> list[str]:
        """The program that runs it."""
        if self.service is None:
            return [sys.executable, "-m", self.module]
        return [sys.executable, "-m", "ankka.cli.dev.serve", self.module, self.service]


def check_exists(target: Target, folder: Path) -> None:
    """Bad usage, if there is no such module as seen from `folder`, or no program in it."""
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        locations: list[str] | None = None
        name = ""
        for part in target.module.split("."):
            name = f"{name}.{part}" if name else part
            if locations == []:
                raise typer.BadParameter(f"there is no module {name!r}: {name.rpartition('.')[0]!r} is no package", param_hint=HINT)
            try:
                spec = _find(name, locations)
            except KeyError:
                return  # within a namespace package only an import can tell; Python then says it itself
            if spec is None:
                raise typer.BadParameter(_missing(name, folder), param_hint=HINT)
            locations = list(spec.submodule_search_locations or [])
        if target.service is None and locations and _find(f"{target.module}.__main__", locations) is None:
            raise typer.BadParameter(
                f"{target.module!r} is a package without __main__.py, so there is nothing to run; name a module in it, "
                f"or its service: {target.module}:service",
                param_hint=HINT,
            )
    finally:
        sys.path.remove(str(folder))


def _find(name: str, locations: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, locations)
        if spec is not None:
            return spec
    return None


def _missing(name: str, folder: Path) -> str:
    parent = folder.joinpath(*name.split(".")[:-1])
    there = [path.stem for path in parent.iterdir() if path.suffix == ".py" or path.is_dir()] if parent.is_dir() else []
    near = difflib.get_close_matches(name.rpartition(".")[2], there, 1)
    prefix = name.rpartition(".")[0]
    suggestion = f"; did you mean {f'{prefix}.' if prefix else ''}{near[0]}?" if near else ""
    return f"there is no module {name!r}, neither in {folder} nor installed in {sys.prefix}{suggestion}"
