"""`import ankka` is light: what a user's program does not use is not loaded (DESIGN: nothing heavier than msgspec)."""

import subprocess
import sys

import pytest

HEAVY = (
    "alembic",
    "ankka_sidecar",
    "fastapi",
    "httpx",
    "opentelemetry",
    "prometheus_client",
    "psycopg",
    "pydantic",
    "pytest",
    "rich",
    "sqlalchemy",
    "starlette",
    "typer",
    "uvicorn",
)
LIGHT = ("ankka", "ankka.workflow", "ankka.event_sourced_entity", "ankka.codec", "ankka.client", "ankka.service")


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{statement} failed:\n{ran.stderr}"
    return set(ran.stdout.split())


@pytest.mark.parametrize("module", LIGHT)
def test_import_loads_nothing_heavy(module: str) -> None:
    heavy = _loaded_by(f"import {module}").intersection(HEAVY)
    assert not heavy, f"import {module} loads {', '.join(sorted(heavy))}: import it where it is used, or through ankka's lazy names"


@pytest.mark.parametrize("module", LIGHT)
def test_import_needs_no_typing_extensions(module: str) -> None:
    # it is installed here, and what we import uses it if it is there; a user's environment may not have it
    assert _loaded_by(f"import sys; sys.modules['typing_extensions'] = None; import {module}")


def test_the_core_loads_no_loop_and_no_driver() -> None:
    # threading and logging come with the interpreter's own start on some systems, so they are left to the import rules
    heavy = _loaded_by("import ankka_sidecar.core").intersection(("asyncio", "sqlite3", "socket", *HEAVY)) - {"ankka_sidecar"}
    assert not heavy, f"the core loads {', '.join(sorted(heavy))}"
