"""Load under faults: a connection that is cut, a deploy that crashes in a loop, sidecars killed at random."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress

import httpx
import pytest
from ankka_sidecar.verify import check_sqlite

from tests.chaos.proxy import Proxy
from tests.chaos.stand import Stand
from tests.integration.support.programs import Program, Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(120)]


def test_w11_a_connection_cut_for_100_ms_makes_no_step_run_twice(programs: Programs) -> None:
    """200 steps run; some end while the connection is cut, the others after."""
    stand = Stand(programs)
    early = [f"early{number}" for number in range(100)]
    late = [f"late{number}" for number in range(100)]
    with Proxy(stand.sidecar.port) as proxy:
        stand.process(proxy.url)
        for gate, names in (("during", early), ("after", late)):
            for name in names:
                stand.start(name, f"gate:{gate}", "plain")
        wait_for(lambda: sum(stand.runs().values()) == 200, "all steps run")
        with proxy.cut():
            stand.open("during")
            time.sleep(0.1)  # how long the cut lasts is what is tested
        stand.open("after")
        for name in early + late:
            assert stand.ended(name) == ["start", "gate", "plain"]
            assert stand.kinds(name) == ["started", "transitioned", "ended"]
        assert set(stand.runs().values()) == {1}
        assert proxy.connections >= 2
        stand.check()


class Supervisor:
    """Starts a process again whenever it has ended, until it is told to stop; counts how often."""

    def __init__(self, stand: Stand, programs: Programs) -> None:
        self._stand = stand
        self._programs = programs
        self._stop = threading.Event()
        self.deaths = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        process = self._started()
        while not self._stop.wait(0.02):
            if process.running.poll() is not None:
                self.deaths += 1
                process = self._started()

    def _started(self) -> Program:
        return self._programs.run("-m", "tests.chaos.jobs", environment={"ANKKA_SIDECAR": self._stand.sidecar.url})

    def stop(self) -> None:
        """Start it no more."""
        self._stop.set()
        self._thread.join()


def test_w11_a_deploy_that_crashes_in_a_loop_fails_nothing(programs: Programs) -> None:
    """50 instances wait in a step that ends its process; after the repair all complete."""
    stand = Stand(programs, "--attach-wait", "20s")
    names = [f"j{number}" for number in range(50)]
    supervisor = Supervisor(stand, programs)
    try:
        for name in names:
            stand.start(name, "gate:deployed", "exit:repaired", "plain")
        stand.open("deployed")
        wait_for(lambda: supervisor.deaths >= 8, "the process has died 8 times", within=40)
        views = [stand.lifecycle(name) for name in names]
        assert {view["status"] for view in views} == {"Running"}
        assert {str(view["retries"]) for view in views} == {"{}"}
        stand.open("repaired")
        for name in names:
            assert stand.ended(name, within=60) == ["start", "gate", "exit", "plain"]
        assert {stand.runs()[name, "plain"] for name in names} == {1}
        stand.check()
    finally:
        supervisor.stop()


def test_the_journal_is_right_after_random_kills_under_load(programs: Programs) -> None:
    """Ten kills of the sidecar while 50 workflows run and commands come in."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")  # a failed test shows it
    chance = random.Random(seed)
    stand = Stand(programs, "--cancel-grace", "3s", "--attach-wait", "20s")
    stand.process()
    names = [f"j{number}" for number in range(50)]
    plan = ["plain", "pause:300", "plain", "raise", "plain"]
    acknowledged: dict[str, list[str]] = {name: [] for name in names}
    unknown: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        stand.start(name, *plan[: chance.randint(1, 4)], "gate:end", "plain", "plain")
    for kill in range(10):
        until = time.monotonic() + chance.uniform(0.05, 0.4)
        while time.monotonic() < until:
            name, text = chance.choice(names), f"{kill}-{time.monotonic_ns()}"
            try:
                answer = stand.post(f"{name}/note", text)
            except httpx.TransportError:
                unknown[name].append(text)
            else:
                assert answer.status_code == 204, answer.text
                acknowledged[name].append(text)
        _kill_while_writing(stand, chance.choice(names), unknown, f"{kill}-last")
    stand.open("end")
    for name in names:
        stand.ended(name, within=40)
    _judge(stand, names, acknowledged, unknown)


def _kill_while_writing(stand: Stand, name: str, unknown: dict[str, list[str]], text: str) -> None:
    """Kill the sidecar with a command on its way."""

    def write() -> None:
        unknown[name].append(text)
        with suppress(httpx.TransportError):
            stand.post(f"{name}/note", text)

    writing = threading.Thread(target=write)
    writing.start()
    stand.sidecar.kill()
    writing.join()
    stand.restart()


def _judge(stand: Stand, names: list[str], acknowledged: dict[str, list[str]], unknown: dict[str, list[str]]) -> None:
    attempts = Counter((stand.folder / "ledger").read_text().splitlines())
    for name in names:
        notes: Counter[str] = Counter(stand.get(f"{name}/show")["notes"])
        assert all(notes[text] == 1 for text in acknowledged[name]), (name, acknowledged[name], notes)
        assert set(notes) <= {*acknowledged[name], *unknown[name]}, name
    assert stand.sidecar.stop() == 0
    assert check_sqlite(stand.folder / "journal.db") == []
    assert max(attempts.values()) == 1, f"an attempt ran twice (W4): {attempts.most_common(3)}"
