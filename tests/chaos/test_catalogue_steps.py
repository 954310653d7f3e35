"""Steps, attempts and deadlines of the case list, with real programs (BUGS, sections A to C)."""

from __future__ import annotations

import random
import re
import signal
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from ankka.process.address import Address
from ankka.protocol.attempt import Token
from ankka.protocol.frames import PROTOCOL_VERSION, Frame, Hello, StepAck, StepDone, Welcome
from ankka.protocol.outcome import EndRun
from ankka.protocol.process_identity import pid_space
from ankka.protocol.wire import Outbox, decode_to_process
from tests.chaos.catalogue import HELD, SERVICE
from tests.chaos.catalogue_stand import Catalogue
from tests.integration.support.programs import Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow]


def test_w4_results_in_reverse_order_reach_their_own_instances(programs: Programs) -> None:  # F03
    """13 instances run one step at once; their results are sent in the reverse order of their beginnings."""
    stand = Catalogue(programs)
    stand.process()
    names = [f"j{number}" for number in range(13)]
    for name in names:
        stand.start(name, "own", "go")
    wait_for(lambda: len(stand.runs()) == 13, "all 13 run")
    stand.open("go")
    assert [stand.ended(name) for name in names] == [["start", name] for name in names]
    assert {tuple(stand.kinds(name)) for name in names} == {("started", "ended")}
    assert set(stand.runs().values()) == {1}
    assert stand.listed(status="Running") == []
    stand.check()


@contextmanager
def _peer(url: str) -> Generator[ClientConnection]:
    """A process of the same service that has said hello, and is written by hand from then on."""
    with connect(Address.parse(url).session_url, compression=None, proxy=None) as connection:
        _send(connection, Hello(PROTOCOL_VERSION, "test", "peer", f"peer-{time.monotonic_ns()}", pid_space(), 1, "", SERVICE.spec()))
        assert isinstance(_received(connection)[0], Welcome)
        yield connection


def _send(connection: ClientConnection, frame: Frame) -> None:
    outbox = Outbox(1_000_000)
    outbox.put(frame)
    message = outbox.take()
    assert message is not None
    connection.send(message)


def _received(connection: ClientConnection) -> list[Any]:
    return list(decode_to_process(connection.recv(10, decode=False)))


def test_w4_the_result_of_an_ended_run_is_stale_also_after_restarts(programs: Programs) -> None:  # F04
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "plain")
    assert stand.ended("j") == ["start", "plain"]
    before = stand.items("j")
    done = StepDone(Token("job", "j", before[0]["generation"], 1, 1, 1), 1, EndRun())
    for restarts in range(4):
        if restarts:
            stand.restart()
            stand.sidecar.wait_until_ready()
        with _peer(stand.sidecar.url) as peer:
            _send(peer, done)
            acks = [frame for frame in _received(peer) if isinstance(frame, StepAck)]
        assert acks == [StepAck(done.token, stale=True)]
        assert stand.items("j") == before
        assert stand.runs() == {("j", "plain"): 1}
    stand.check()


def test_w5_an_attempt_whose_process_dies_after_its_deadline_is_followed_by_one_with_a_deadline_of_its_own(programs: Programs) -> None:  # F07
    stand = Catalogue(programs, "--cancel-grace", "1s")
    process = stand.process()
    stand.start("j", "hang")
    stand.until_runs("j", "hang")
    process.send(signal.SIGSTOP)
    stand.until_kind("j", "retried")  # the deadline has passed, and nobody has heard of it
    process.kill()
    stand.process()
    stand.until_runs("j", "hang", 2)
    began = time.time()
    stand.until_status("j", "Failed", within=5)
    items = stand.items("j")
    kinds = [item["type"] for item in items]
    assert [kind for kind in kinds if kind != "interrupted"] == ["started", "retried", "failed"]
    # its second is counted from when it was sent: not from the first attempt, and not for ever
    assert 0.5 < _instant(items[-1]) - began < 3
    assert "step 'hang' failed: timed out after 1 s" in stand.lifecycle("j")["failure"]
    stand.check()


def _instant(item: dict[str, Any]) -> float:
    return datetime.fromisoformat(item["at"]).timestamp()


def test_w5_an_attempt_that_timed_out_unheard_is_not_handed_out_again(programs: Programs) -> None:  # F08
    """The process hears nothing while the first attempt is sent and times out, then both at once."""
    stand = Catalogue(programs, "--cancel-grace", "1s")
    process = stand.process()
    stand.start("j", "nap", "1500")
    stand.until_status("j", "Paused")
    process.send(signal.SIGSTOP)
    stand.until_kind("j", "retried")
    process.send(signal.SIGCONT)
    assert stand.ended("j") == ["start", "late 2"]
    assert stand.kinds("j") == ["started", "paused", "resumed", "retried", "ended"]
    attempts = [line for line in (stand.folder / "ledger").read_text().splitlines() if " late " in line]
    assert attempts in (["j late 2"], ["j late 1", "j late 2"])
    assert stand.lifecycle("j")["retries"] == {"late": 1}
    stand.check()


def test_turns_a_success_that_came_in_time_wins_over_the_deadline_decided_later(programs: Programs) -> None:  # F09
    """A command holds the turn when the step answers, and still when its deadline passes."""
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "held")
    stand.until_runs("j", "held")
    asked = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(stand.post, "j/hold")
        wait_for((stand.folder / "holding").exists, "the command holds the turn")
        assert time.monotonic() - asked < 1, "this machine is too slow: the step's deadline may have passed before it could answer"
        assert held.result().status_code == 204
    assert stand.ended("j") == ["start", "held"]
    items = stand.items("j")
    assert [item["type"] for item in items] == ["started", "ended"]
    assert _instant(items[1]) - _instant(items[0]) > HELD - 0.1, "decided when the command was over, behind the deadline"
    assert stand.runs()["j", "undo"] == 0
    stand.check()


@pytest.mark.parametrize("after", ["a call", "a restart", "a while"])
def test_a_step_whose_sending_throws_is_sent_again_by_itself_or_by_whoever_comes_next_and_runs_once(programs: Programs, after: str) -> None:  # F13
    """The engine breaks between the deadline that is journalled as passed and the step it leads to."""
    stand = Catalogue(programs, "--cancel-grace", "1s", faults="step.before-send:2=raise")
    stand.process()
    stand.start("j", "nap", "100")
    stand.sidecar.wait_for_output("job/j stops, please report this")
    assert stand.runs() == {("j", "nap"): 1}
    if after == "a restart":
        stand.restart()
    if after != "a call":
        stand.until_runs("j", "late")  # nobody asks for the instance
    assert stand.ended("j", within=5)[:1] == ["start"]
    kinds = stand.kinds("j")
    assert [kind for kind in kinds if kind != "interrupted"] == ["started", "paused", "resumed", "ended"]
    assert stand.runs() == {("j", "nap"): 1, ("j", "late"): 1}
    assert stand.lifecycle("j")["retries"] == {}
    stand.check()


def test_w6_a_failure_without_recovery_is_stored_and_listed(programs: Programs) -> None:  # F16
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "raise0")
    stand.until_status("j", "Failed")
    started, failed = stand.items("j")
    assert _instant(failed) - _instant(started) < 1
    text = "step 'raise0' failed: ValueError: raise0 cannot"
    for restarted in (False, True):
        if restarted:
            stand.restart()
        assert stand.lifecycle("j")["status"] == "Failed"
        assert stand.lifecycle("j")["failure"] == text
        assert [(item["id"], item["failure"]) for item in stand.listed(status="Failed")] == [("j", text)]
        assert stand.listed(failure="raise0 CANNOT")[0]["id"] == "j"
    assert stand.runs()["j", "raise0"] == 1
    stand.check()


def test_w5_a_step_cut_off_while_it_starts_another_instance_starts_it_or_not(programs: Programs) -> None:  # F19
    """100 rounds: half are cancelled at any moment, half run out of time; in half, the call waits behind another command."""
    stand = Catalogue(programs)
    stand.process()
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")  # a failed test shows it
    chance = random.Random(seed)
    pauses = [chance.uniform(0, 0.06) for _ in range(100)]

    def round_of(number: int) -> None:
        child = f"c{number}"
        busy = others.submit(stand.post, f"{child}/busy") if number % 4 < 2 else None
        stand.start(f"p{number}", "spawn-brief" if number % 2 else "spawn", child)
        if number % 2 == 0:
            time.sleep(pauses[number])  # any moment of the call is as good as another
            assert stand.post(f"p{number}/ankka:cancel").status_code in {204, 409}
        assert busy is None or busy.result().status_code == 204

    with ThreadPoolExecutor(8) as pool, ThreadPoolExecutor(8) as others:
        list(pool.map(round_of, range(100)))
    wait_for(lambda: stand.listed(status="Running") == [], "all have ended")
    listed = {item["id"] for item in stand.listed()}
    asked = {f"c{number}" for number in range(100)}
    parents = {f"p{number}" for number in range(100)}
    assert parents <= listed <= parents | asked
    children = listed & asked
    assert set() < children < asked, "some were started, some were not"
    for child in children:
        assert stand.kinds(child) == ["started", "ended"]
        assert stand.runs()[child, "plain"] == 1
        assert stand.runs()[child, "start-slowly"] == 1
    failures = {re.sub(r"\d+ ms.*", "", item["failure"]) for item in stand.listed(status="Failed")}
    assert failures == {"cancelled", "step 'spawn-brief' failed: timed out after "}
    stand.check()


def test_w9_a_pause_that_a_command_ended_keeps_nothing_open(programs: Programs) -> None:  # F36
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "rest")
    stand.until_status("j", "Paused")
    assert stand.lifecycle("j")["pausedUntil"] is not None
    assert stand.listed()[0]["deadline"] is not None
    assert stand.post("j/finish").status_code == 204
    assert stand.ended("j", within=5) == ["start", "plain"]
    view, (listed,) = stand.lifecycle("j"), stand.listed()
    assert (view["status"], view["pausedUntil"], view["waitingFor"]) == ("Completed", None, None)
    assert (listed["status"], listed["deadline"]) == ("Completed", None)
    assert stand.runs() == {("j", "rest"): 1, ("j", "plain"): 1}
    stand.check()


def test_turns_200_commands_a_second_do_not_starve_a_step(programs: Programs) -> None:  # F38
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "gate", "go")
    stand.until_runs("j", "gate")
    told: list[int] = []
    begin, over = time.monotonic(), threading.Event()

    def load(lane: int) -> None:
        for tick in range(250):
            over.wait(max(0.0, begin + (4 * tick + lane) / 200 - time.monotonic()))  # the pace, which is what is tested
            if over.is_set():
                return
            told.append(stand.post("j/note").status_code)

    with ThreadPoolExecutor(4) as pool:
        lanes = [pool.submit(load, lane) for lane in range(4)]
        try:
            wait_for(lambda: len(told) >= 850, "the commands come in")
            assert time.monotonic() - begin < 10, "this machine is too slow for steady traffic"
            stand.open("go")
            stand.until_status("j", "Completed")
            at_the_end = len(told)
            wait_for(lambda: len(told) >= at_the_end + 50, "the commands still come in")
        finally:
            over.set()
        for lane in lanes:
            lane.result()
    assert set(told) == {204}
    state = stand.get("j/show")
    assert (state["trail"], state["notes"]) == (["start", "gate"], len(told))
    (end,) = [item for item in _all_items(stand, "j") if item["type"] == "ended"]
    assert _instant(end) - state["finished_at"] < 1
    stand.check()


def _all_items(stand: Catalogue, instance: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    after = ""
    while True:
        page = stand.get(f"{instance}/ankka:journal?limit=1000&after={after}")
        items += page["items"]
        if page["next"] is None:
            return items
        after = page["next"]


@pytest.mark.parametrize(("name", "most"), [("raise0", 0), ("raise1", 1), ("raise3", 3)])
def test_i10_a_step_runs_once_and_as_often_more_as_retries_allow(programs: Programs, name: str, most: int) -> None:  # F83
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", name)
    stand.until_status("j", "Failed")
    assert stand.runs() == {("j", name): most + 1}
    assert stand.kinds("j") == ["started", *["retried"] * most, "failed"]
    assert stand.lifecycle("j")["retries"] == ({name: most} if most else {})
    stand.check()


def test_a_timeout_leaves_one_line_and_one_event(programs: Programs) -> None:  # F85
    """For each of two attempts: component, instance, step, attempt, and how long it ran."""
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "hang")
    stand.until_status("j", "Failed")
    lines = [line for line in stand.sidecar.output.splitlines() if "step fault" in line]
    assert len(lines) == 2
    for attempt, line in enumerate(lines, 1):
        found = re.search(r"component=job instance=j step=hang attempt=(\d+) elapsed=([\d.]+) s: .*timed out after 1 s", line)
        assert found is not None, line
        assert int(found[1]) == attempt
        assert 1 <= float(found[2]) < 3
    _, retried, failed = stand.items("j")
    assert [(item["type"], item["step"]) for item in (retried, failed)] == [("retried", "hang"), ("failed", "hang")]
    assert (retried["attempt"], failed["attempt"]) == (2, 2)
    assert "timed out after 1 s" in retried["detail"]["error"]
    assert "timed out after 1 s" in failed["detail"]["message"]
    stand.check()


def test_w6_a_compensation_that_fails_fails_the_run_with_both_errors(programs: Programs) -> None:  # F87
    stand = Catalogue(programs)
    stand.process()
    stand.start("j", "sour")
    stand.until_status("j", "Failed")
    assert stand.runs() == {("j", "sour"): 3, ("j", "sour-undo"): 3}
    assert stand.kinds("j") == ["started", "retried", "retried", "failed-over", "retried", "retried", "failed"]
    failure = stand.lifecycle("j")["failure"]
    assert "step 'sour-undo' failed: ValueError: sour-undo cannot" in failure
    assert "ValueError: sour cannot" in failure
    assert [item["failure"] for item in stand.listed(status="Failed")] == [failure]
    stand.check()
