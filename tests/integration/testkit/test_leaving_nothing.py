"""However a kit ends, nothing of it is left: no program, no folder, no task, no listener. And what a failure shows."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import psutil
import pytest

import ankka.embedded.program
from ankka.embedded.program import SidecarNotStarted
from ankka.service import Ankka
from ankka.testkit import IntegrationTestKit
from tests.integration.support.programs import ROOT, wait_for
from tests.integration.testkit.bakery import OrderWorkflow, Oven, SignEntity, bakery


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which kits make theirs."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def tidy(temporary: Path) -> Iterator[None]:
    """Fails the test if it leaves a program or a folder."""
    yield
    assert left_by(temporary) == ([], [])


def sidecars_of(folder: Path) -> list[int]:
    """The sidecars over this folder's journals."""
    found: list[int] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if any(str(folder) in part for part in process.cmdline()) and "ankka_sidecar" in process.cmdline():
                found.append(process.pid)
    return found


def left_by(folder: Path) -> tuple[list[int], list[str]]:
    """Sidecars and folders of kits."""
    return sidecars_of(folder), [path.name for path in folder.iterdir()]


def tasks() -> set[str]:
    """The tasks of this loop, but for the one that asks."""
    return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def notes_of(error: BaseException) -> str:
    """What stands below an error's traceback."""
    return "\n".join(getattr(error, "__notes__", ()))


async def test_after_a_test_that_passed(temporary: Path) -> None:
    before = tasks()
    async with IntegrationTestKit.start(bakery(Oven())) as kit:
        programs, folders = left_by(temporary)
        assert (programs, len(folders)) == ([kit.sidecar_pid], 1)
        await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
        url, pid = kit.url, kit.sidecar_pid
    assert not psutil.pid_exists(pid)
    assert left_by(temporary) == ([], [])
    assert tasks() <= before
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    with pytest.raises(RuntimeError, match="the kit is closed"):
        _ = kit.client
    with pytest.raises(RuntimeError, match="this kit is or was open"):
        await kit.__aenter__()


@pytest.mark.usefixtures("tidy")
async def test_a_body_that_raises_shows_the_sidecars_log() -> None:
    oven = Oven()

    async def body() -> None:
        async with IntegrationTestKit.start(bakery(oven)) as kit:
            await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
            await oven.reached.get()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        await body()
    assert "The end of the sidecar's log:\n  | " in notes_of(raised.value)
    assert "attached: larder, order, sign" in notes_of(raised.value)
    assert (oven.opened, oven.closed) == (1, 1)


@pytest.mark.usefixtures("tidy")
async def test_a_body_that_is_cancelled() -> None:
    oven = Oven()
    opened = asyncio.Event()

    async def body() -> None:
        async with IntegrationTestKit.start(bakery(oven)):
            opened.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(body())
    await opened.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (oven.opened, oven.closed) == (1, 1)


@pytest.mark.usefixtures("tidy")
async def test_a_kit_that_is_cancelled_while_it_starts_and_while_it_ends(temporary: Path) -> None:
    starting = asyncio.create_task(IntegrationTestKit.start(bakery(Oven())).__aenter__())
    while not sidecars_of(temporary):  # noqa: ASYNC110  # only the system knows of it yet
        await asyncio.sleep(0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert left_by(temporary) == ([], [])

    leaving = asyncio.Event()

    @contextlib.asynccontextmanager
    async def slow() -> AsyncGenerator[None]:
        yield
        leaving.set()
        await asyncio.Event().wait()

    kit = IntegrationTestKit.start(Ankka.service(lifespan=slow).register(SignEntity))
    await kit.__aenter__()
    ending = asyncio.create_task(kit.__aexit__(None, None, None))
    await leaving.wait()
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending


@pytest.mark.usefixtures("tidy")
async def test_a_lifespan_that_raises(temporary: Path) -> None:
    @contextlib.asynccontextmanager
    async def broken() -> AsyncGenerator[None]:
        raise LookupError("no database")
        yield

    with pytest.raises(LookupError, match="no database") as raised:
        await IntegrationTestKit.start(Ankka.service(lifespan=broken).register(SignEntity)).__aenter__()
    assert "The end of the sidecar's log" in notes_of(raised.value)
    assert left_by(temporary) == ([], [])


@pytest.mark.usefixtures("tidy")
async def test_a_lifespan_that_can_be_entered_once_only() -> None:
    service = Ankka.service(lifespan=Oven().lifespan()()).register(SignEntity)
    with pytest.raises(AttributeError) as raised:
        async with IntegrationTestKit.start(service) as kit:
            await kit.restart()
    assert "Ankka.service(lifespan=pool), not lifespan=pool()" in notes_of(raised.value)


@pytest.mark.usefixtures("tidy")
async def test_a_wrong_setting_is_told_by_the_sidecar() -> None:
    with pytest.raises(SidecarNotStarted, match="before it was ready") as raised:
        await IntegrationTestKit.start(bakery(Oven()), settings={"attach-wait": "soon", "drain": "never"}).__aenter__()
    assert "'soon' is not a duration" in str(raised.value)
    assert "'never' is not a duration" in str(raised.value)
    with pytest.raises(SidecarNotStarted, match="unrecognized arguments: --atach-wayt=1s"):
        await IntegrationTestKit.start(bakery(Oven()), settings={"atach-wayt": "1s"}).__aenter__()


@pytest.mark.usefixtures("tidy")
async def test_a_missing_runtime_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ankka.embedded.program, "NEEDED", ("ankka_sidecar", "no_such_module"))
    with pytest.raises(SidecarNotStarted, match=r"missing: no_such_module.*ankka-engine\[sidecar\]"):
        await IntegrationTestKit.start(bakery(Oven())).__aenter__()


@pytest.mark.usefixtures("tidy")
async def test_a_port_that_was_taken_between_kill_and_start() -> None:
    async with IntegrationTestKit.start(bakery(Oven())) as kit:
        await kit.kill_sidecar(start_again=False)
        taken = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", int(kit.url.rpartition(":")[2]))
        async with taken:
            with pytest.raises(SidecarNotStarted, match=r"cannot listen on 127\.0\.0\.1"):
                await kit.start_sidecar()
        await kit.start_sidecar()
        assert (await kit.http.get("/readyz")).status_code == 200


FORGOTTEN = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from ankka.testkit import IntegrationTestKit
from tests.integration.testkit.bakery import Oven, bakery

async def main():
    kit = IntegrationTestKit.start(bakery(Oven()))
    await kit.__aenter__()
    print((await kit.http.get("/readyz")).status_code)

asyncio.run(main())
"""


def test_a_kit_that_was_never_left_goes_with_its_program(temporary: Path) -> None:
    program = [sys.executable, "-c", FORGOTTEN]
    ran = subprocess.run(program, env={**os.environ, "TMPDIR": str(temporary)}, capture_output=True, text=True, timeout=40, check=False)
    assert (ran.returncode, ran.stdout) == (0, "200\n"), ran.stderr
    assert left_by(temporary) == ([], [])


async def test_a_kit_that_was_discarded_can_still_be_left(temporary: Path) -> None:
    oven = Oven()
    async with IntegrationTestKit.start(bakery(oven)) as kit:
        kit.discard()
        assert not kit.is_open
        assert left_by(temporary) == ([], [])
    assert (oven.opened, oven.closed) == (1, 1)


CTRL_C = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.integration.testkit.bakery import Oven, bakery

async def test_it(integration_kit):
    oven = Oven()
    async with integration_kit(bakery(oven)) as kit:
        await kit.client.for_workflow("order", "o1").call("place").invoke("rye")
        await oven.reached.get()
        print("READY", flush=True)
        await oven.lit.wait()
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_kill_9_of_the_tests(temporary: Path, tmp_path: Path, end: signal.Signals) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nanyio_mode = auto\n")
    (tmp_path / "conftest.py").write_text("import pytest\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n")
    (tmp_path / "test_it.py").write_text(CTRL_C)
    with (tmp_path / "out").open("wb") as out:
        tests = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", "test_it.py"],
            cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)}, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        wait_for(lambda: "READY" in (tmp_path / "out").read_text() or tests.poll() is not None, "the test is in its body")
        (sidecar,) = sidecars_of(temporary)
        tests.send_signal(end)
        code = tests.wait(20)
        if end == signal.SIGINT:
            assert code == 2, (tmp_path / "out").read_text()  # pytest's own for an interrupted run
            assert left_by(temporary) == ([], [])
        # After kill -9 nobody can tell the sidecar: it leaves five seconds after its last process.
        wait_for(lambda: not psutil.pid_exists(sidecar), "the sidecar has left")
    finally:
        tests.kill()
        tests.wait()


@pytest.mark.parametrize(
    ("journal", "says"),
    [
        ("postgres", "journal='postgres': PostgreSQL journals are not available in this version; supported are"),
        ("postgresql://shop:secret@db/shop", "journal='postgresql': PostgreSQL journals are not available in this version"),
        ("memory:", "unknown kind of journal 'memory'; supported are journal=\"sqlite\""),
        ("sqlite://journal.db", "journal='sqlite://journal.db' names no file"),
        ("sqlite:///", "journal='sqlite:///' names no file"),
        ("", "unknown kind of journal ''"),
    ],
)
def test_wrong_journals(journal: str, says: str) -> None:
    with pytest.raises(ValueError, match="supported are") as raised:
        IntegrationTestKit.start(bakery(Oven()), journal=journal)
    assert says in str(raised.value)
    assert "secret" not in str(raised.value)


def test_wrong_services_and_settings() -> None:
    with pytest.raises(ValueError, match="no component is registered"):
        IntegrationTestKit.start(Ankka.service())
    with pytest.raises(ValueError, match="is registered twice"):
        IntegrationTestKit.start(Ankka.service().register(OrderWorkflow).register(OrderWorkflow))
    with pytest.raises(TypeError, match=r"is no service; expected Ankka\.service"):
        IntegrationTestKit.start("order")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"OrderWorkflow is a component, not a service; give Ankka\.service\(\)\.register\(OrderWorkflow\)"):
        IntegrationTestKit.start(OrderWorkflow)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="'journal' is up to the kit"):
        IntegrationTestKit.start(bakery(Oven()), settings={"journal": "sqlite:///x.db"})
    with pytest.raises(RuntimeError, match="the kit is not open; write `async with"):
        _ = IntegrationTestKit.start(bakery(Oven())).client


def test_a_loop_that_is_not_asyncios() -> None:
    kit = IntegrationTestKit.start(bakery(Oven()))
    with pytest.raises(RuntimeError, match="runs on asyncio, and no asyncio loop runs here"):
        kit.__aenter__().send(None)


async def test_a_function_that_makes_no_service() -> None:
    with pytest.raises(TypeError, match=r"made None; expected what Ankka\.service"):
        await IntegrationTestKit.start(lambda: None).__aenter__()  # type: ignore[arg-type,return-value]  # pyright: ignore[reportArgumentType]
