"""`ankka dev`: one sidecar, a process that is started anew on every save, and nothing left at the end."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ankka.protocol.process_identity import pid_started
from tests.integration.cli.programs import ANKKA, Program, ankka, environment

START_LINE = r"ankka  (http://127\.0\.0\.1:\d+)  console /console/  journal \./\.ankka/journal\.db  components greeting\n"
SERVICE = """
import asyncio
from dataclasses import dataclass
from ankka import Ankka, DONE, Done, Workflow, command, json_codec, query, step
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect

@dataclass(frozen=True)
class Greeting:
    said: str = ""

class GreetingWorkflow(Workflow[Greeting]):
    component_id = "greeting"
    state_codec = json_codec(Greeting, "greeting")

    def empty_state(self) -> Greeting:
        return Greeting()

    @query("word")
    def word(self) -> WorkflowReadOnlyEffect[Greeting, str]:
        return self.effects.reply("hello")

    @command("wait")
    def wait(self) -> WorkflowEffect[Greeting, Done]:
        return self.effects.transition_to("slow").then_reply(lambda _: DONE)

    @step("slow")
    async def slow(self) -> WorkflowStepEffect[Greeting]:
        await asyncio.sleep(1)
        return self.step_effects.update_state(Greeting("hello")).then_end()

service = Ankka.service().register(GreetingWorkflow)

if __name__ == "__main__":
    service.start()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "main.py").write_text(SERVICE)
    yield tmp_path
    assert not (tmp_path / ".ankka" / "sidecar.json").exists(), "a sidecar is left"


def dev(folder: Path, target: str = "shop.main", *, terminal: bool = False, **changes: str) -> Program:
    return Program([*ANKKA, "dev", target], cwd=folder, env={**environment(**changes), "PYTHONPATH": ""}, terminal=terminal)


def sidecar_pid(folder: Path) -> int:
    return int(json.loads((folder / ".ankka" / "sidecar.json").read_text())["pid"])


def word(folder: Path) -> str:
    called = ankka("call", "greeting", "g", "word", cwd=folder)
    assert called.stderr == ""
    return str(json.loads(called.stdout))


def save(folder: Path, old: str, new: str) -> None:
    path = folder / "shop" / "main.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("target", ["shop.main", "shop.main:service"])
def test_a_save_restarts_the_process_and_not_the_sidecar(folder: Path, target: str) -> None:
    with dev(folder, target) as program:
        program.until(START_LINE)
        sidecar = sidecar_pid(folder)
        assert word(folder) == "hello"
        save(folder, '"hello"', '"hallo"')
        program.until(r"\nreloaded \(shop/main\.py\)\n")
        assert word(folder) == "hallo"
        assert sidecar_pid(folder) == sidecar
        program.send(signal.SIGINT)
        assert program.ends() == 0
        assert pid_started(sidecar) is None


def test_an_import_error_shows_its_traceback_and_waits_for_the_next_save(folder: Path) -> None:
    save(folder, "import asyncio\n", "import asyncio\nimport no_such_thing\n")
    with dev(folder, "shop.main:service") as program:
        program.until(r'File ".*shop/main\.py", line 3')
        program.until(r"ModuleNotFoundError: No module named 'no_such_thing'\n")
        program.until(r"the process ended with exit code 1; waiting for the next save\n")
        assert "serve.py" not in program.output
        assert ankka("list", cwd=folder).returncode == 0  # the sidecar is there all the same
        save(folder, "import no_such_thing\n", "")
        program.until(START_LINE)
        program.until(r"reloaded \(shop/main\.py\)\n")
        assert word(folder) == "hello"
        save(folder, "def empty_state", "def empty_state(")
        program.until(r"SyntaxError")
        program.until(r"waiting for the next save\n")
        program.send(signal.SIGTERM)
        assert program.ends() == 0


def test_the_sidecar_stays_while_no_process_is_there(folder: Path) -> None:
    save(folder, "import asyncio\n", "import asyncio\nraise SystemExit(3)\n")
    with dev(folder) as program:
        program.until(r"the process ended with exit code 3; waiting for the next save\n")
        sidecar = sidecar_pid(folder)
        # Longer than an embedded sidecar stays without a process; nothing else tells that it did not leave.
        waited = ankka("await", "greeting", "g", "--timeout", "7s", cwd=folder)
        assert waited.returncode == 1
        assert pid_started(sidecar) is not None
        program.send(signal.SIGINT)
        assert program.ends() == 0


def test_what_runs_is_finished_before_the_process_is_started_anew(folder: Path) -> None:
    with dev(folder) as program:
        program.until(START_LINE)
        assert ankka("call", "greeting", "slow", "wait", cwd=folder).returncode == 0
        save(folder, '"hello"', '"hallo"')
        program.until(r"reloaded")
        ended = ankka("await", "greeting", "slow", cwd=folder)
        assert ended.stdout == '{"said":"hello"}\n'  # by the old code, not interrupted
        program.send(signal.SIGINT)
        assert program.ends() == 0


def test_a_killed_process_is_told_and_started_with_the_next_save(folder: Path) -> None:
    with dev(folder) as program:
        program.until(START_LINE)
        (process,) = (child for child in psutil.Process(program.process.pid).children() if "ankka_sidecar" not in child.cmdline())
        process.kill()
        program.until(r"the process was ended by SIGKILL; waiting for the next save\n")
        save(folder, '"hello"', '"hallo"')
        program.until(r"reloaded")
        assert word(folder) == "hallo"
        program.send(signal.SIGINT)
        assert program.ends() == 0


def test_a_killed_sidecar_heals(folder: Path) -> None:
    with dev(folder) as program:
        program.until(START_LINE)
        killed = sidecar_pid(folder)
        os.kill(killed, signal.SIGKILL)
        awaited = ankka("await", "greeting", "g", "--timeout", "1s", cwd=folder)
        assert awaited.returncode == 1
        save(folder, '"hello"', '"hallo"')
        program.until(r"reloaded")
        assert word(folder) == "hallo"
        assert sidecar_pid(folder) != killed
        program.send(signal.SIGINT)
        assert program.ends() == 0


def test_ctrl_c_in_a_terminal_leaves_nothing_running(folder: Path) -> None:
    with dev(folder, terminal=True) as program:
        program.until(START_LINE.replace(r"\n", ""))
        sidecar = sidecar_pid(folder)
        program.type("\x03")
        assert program.ends() == 0
        assert "Traceback" not in program.output
        assert pid_started(sidecar) is None


def test_a_second_ctrl_c_ends_at_once_with_130(folder: Path) -> None:
    save(folder, "asyncio.sleep(1)", "asyncio.sleep(60)")
    with dev(folder, terminal=True) as program:
        program.until(START_LINE.replace(r"\n", ""))
        sidecar = sidecar_pid(folder)
        assert ankka("call", "greeting", "g", "wait", cwd=folder).returncode == 0
        program.type("\x03")
        program.until(r"waiting for the process to finish what runs")
        program.type("\x03")
        assert program.ends() == 130
        os.kill(sidecar, signal.SIGTERM)  # it would leave by itself, 5 s after its last process
        while pid_started(sidecar) is not None:
            os.sched_yield()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("shp.main", "there is no module 'shp', neither in {folder} nor installed in"),
        ("shop.mian", "did you mean shop.main?"),
        ("shop", "is a package without __main__.py"),
        ("shop/main.py", "ankka dev shop.main"),
        ("shop.main.x", "'shop.main' is no package"),
        ("shop main", "is not the name of a module"),
        ("shop.main:", "is not the name of a service"),
        ("shop.main:servise", "shop.main has no 'servise'; it has shop.main:service"),
        ("shop.main:Greeting", "shop.main:Greeting is a type, not a service"),
    ],
)
def test_what_cannot_be_run_is_bad_usage(folder: Path, target: str, said: str) -> None:
    with dev(folder, target) as program:
        assert program.ends() == 2
        assert said.format(folder=folder) in program.output


def test_an_address_that_is_given_is_used(folder: Path, lab: str) -> None:
    with dev(folder, ANKKA_SIDECAR=lab) as program:
        program.until(rf"ankka  {lab}  console /console/  components greeting\n")
        assert not (folder / ".ankka").exists()
        program.send(signal.SIGINT)
        assert program.ends() == 0
