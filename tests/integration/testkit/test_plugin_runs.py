"""The pytest plugin in runs of pytest by themselves: out of the way, without extras, under anyio and under pytest-asyncio."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.integration.support.programs import ROOT

LOADED = """
def pytest_unconfigure(config):
    import sys
    names = sorted(name for name in sys.modules if name.partition(".")[0] in ("ankka", "ankka_sidecar", "msgspec", "httpx", "websockets"))
    print("LOADED", *names)
"""


WITHOUT_ASYNCIO = "addopts = -p no:asyncio"


def run(folder: Path, test: str, *options: str, conftest: str = "", ini: str = WITHOUT_ASYNCIO, program: str | None = None, code: int = 0) -> str:
    """What a run of pytest says, by itself in a folder, without our suite's settings; it must end with `code`."""
    (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\nstrict_markers = true\nstrict_config = true\n{ini}\n")
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_it.py").write_text(test)
    start = ["-m", "pytest"] if program is None else ["-c", program]
    command = [sys.executable, *start, "-q", "-p", "no:cacheprovider", *options]
    ran = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=50, check=False
    )  # fmt: skip
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout


def test_a_run_that_uses_no_fixture_loads_nothing_of_ours_but_the_plugin(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_nothing(): pass", conftest=LOADED)
    (line,) = [line for line in said.splitlines() if line.startswith("LOADED")]
    assert line.split()[1:] == ["ankka", "ankka.testkit", "ankka.testkit.pytest_plugin", "ankka.version"]


def test_fixtures_are_listed_with_what_they_do(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_nothing(): pass", "--fixtures")
    for name, does in [
        ("workflow_kit", "Makes kits that run a workflow, without a sidecar"),
        ("event_sourced_kit", "Makes kits that run an event sourced entity"),
        ("key_value_kit", "Makes kits that run a key value entity"),
        ("integration_kit", "Starts services with a real sidecar of their own"),
    ]:
        assert f"{name} " in said
        assert does in said


def test_without_the_plugin(tmp_path: Path) -> None:
    test = (
        "import pytest\ndef test_none(request):\n    with pytest.raises(pytest.FixtureLookupError):\n        request.getfixturevalue('workflow_kit')"
    )
    assert "1 passed" in run(tmp_path, test, "-p", "no:ankka")


WITHOUT_EXTRAS = """
import sys
for name in ("httpx", "alembic", "fastapi", "sqlalchemy", "uvicorn", "prometheus_client"):
    sys.modules[name] = None  # not installed, as far as an import can tell
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
BARE = """
import asyncio
import sys
import pytest
from ankka import Ankka
from ankka.embedded.program import SidecarNotStarted
from tests.unit.seed_checkout import CheckoutWorkflow

service = Ankka.service().register(CheckoutWorkflow)

def test_unit(workflow_kit):
    assert workflow_kit(CheckoutWorkflow).call("start", "ok").error is None

def test_integration(integration_kit):
    with pytest.raises(ModuleNotFoundError, match=r"needs httpx: pip install 'ankka-engine\\[test\\]'"):
        asyncio.run(integration_kit(service).__aenter__())
    sys.modules["httpx"] = sys  # now there is one
    with pytest.raises(SidecarNotStarted, match=r"missing: alembic.*ankka-engine\\[sidecar\\]"):
        asyncio.run(integration_kit(service).__aenter__())
"""


def test_without_the_extras(tmp_path: Path) -> None:
    assert "2 passed" in run(tmp_path, BARE, "-p", "no:anyio", program=WITHOUT_EXTRAS)


def test_under_xdist(tmp_path: Path) -> None:
    test = "def test_a(integration_kit): assert integration_kit\ndef test_b(request): assert request.config.pluginmanager.has_plugin('ankka')\n"
    assert "2 passed" in run(tmp_path, test, "-n2")


REAL = """
import pytest
from tests.integration.testkit.bakery import Oven, SignEntity, bakery

{mark}
async def test_restart(integration_kit):
    async with integration_kit(bakery(Oven()), settings={{"attach-wait": "1s"}}) as kit:
        assert (await kit.http.post("/v1/sign/door/write", json="open")).json() == "open"
        await kit.restart()
        assert await kit.client.for_key_value_entity("sign", "door").call("read").invoke(reply=str) == "open"
        assert [entry.type for entry in await kit.journal_of(SignEntity, "door")] == ["updated"]

{mark}
async def test_fixture(door):
    assert (await door.http.get("/v1/sign/door/read")).json() == "closed"
"""
ASYNCIO = "addopts = -p no:anyio\nasyncio_default_fixture_loop_scope = function\nasyncio_mode = "
MODES = {
    "anyio": (f"{WITHOUT_ASYNCIO}\nanyio_mode = auto", "", "pytest"),
    "anyio by marks": (WITHOUT_ASYNCIO, "@pytest.mark.anyio", "pytest"),
    "pytest-asyncio": (f"{ASYNCIO}auto", "", "pytest"),
    "pytest-asyncio by marks": (f"{ASYNCIO}strict", "@pytest.mark.asyncio", "pytest_asyncio"),
}
CONFTEST = """
import {plugin}
import pytest
from tests.integration.testkit.bakery import Oven, bakery

@pytest.fixture
def anyio_backend():
    return "asyncio"

@{plugin}.fixture
async def door(integration_kit):
    async with integration_kit(bakery(Oven())) as kit:
        yield kit
"""


@pytest.mark.parametrize("mode", MODES)
def test_the_real_thing_under(mode: str, tmp_path: Path) -> None:
    ini, mark, plugin = MODES[mode]
    said = run(tmp_path, REAL.format(mark=mark), conftest=CONFTEST.format(plugin=plugin), ini=ini)
    assert "2 passed" in said


FAILING = """
from tests.integration.testkit.bakery import Oven, bakery

async def test_fails(integration_kit):
    async with integration_kit(bakery(Oven())) as kit:
        assert (await kit.http.get("/v1/sign/door/read")).json() == "open"

async def test_forgets(integration_kit):
    kit = integration_kit(bakery(Oven()))
    await kit.__aenter__()
    print("PID", kit.sidecar_pid)

async def test_never_entered(integration_kit):
    integration_kit(bakery(Oven()))
"""


def test_what_a_failing_and_a_forgetful_test_are_told(tmp_path: Path) -> None:
    said = run(tmp_path, FAILING, "-rA", conftest=CONFTEST.format(plugin="pytest"), ini=MODES["anyio"][0], code=1)
    assert "AssertionError: assert 'closed' == 'open'" in said
    assert "The end of the sidecar's log:" in said
    assert "attached: larder, order, sign" in said
    assert "integration_kit: a kit was opened and not closed; write `async with integration_kit(service) as kit:`" in said
    assert "1 failed, 2 passed, 1 error" in said
    (pid,) = {int(line.split()[1]) for line in said.splitlines() if line.startswith("PID ")}
    assert not psutil.pid_exists(pid)
