"""Many at once, and calls while a step runs (W3)."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack

import httpx

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.http.wire import connected
from tests.integration.support.programs import Program


def at_once(http: httpx.Client, count: int, line: str, value: object = None, rounds: int = 1) -> list[httpx.Response]:
    """That many requests at once, each on a connection of its own; all are sent before the first answer is read."""
    body = b"" if value is None else json.dumps(value).encode()
    answers: list[httpx.Response] = []
    with ExitStack() as stack:
        wires = [stack.enter_context(connected(http)) for _ in range(count)]
        for _ in range(rounds):
            for wire in wires:
                wire.request(line, body)
            answers += [wire.answer() for wire in wires]
    return answers


def test_200_starts_of_one_id_at_once(http: httpx.Client, one: str) -> None:  # F41, without a key
    answers = at_once(http, 200, f"POST {one}/start", 0)
    assert sorted(answer.status_code for answer in answers) == [204] + [409] * 199
    for answer in answers:
        if answer.status_code == 409:
            is_problem(answer, 409, "CONFLICT", "it has been started")
    http.get(f"{one}/ankka:await")
    assert journal_of(http, one) == ["started", "ended"]
    assert http.get(f"{one}/ankka:lifecycle").json()["run"] == 1


def test_200_commands_of_one_id_at_once_all_count(http: httpx.Client, one: str) -> None:
    answers = at_once(http, 200, f"POST {one}/add", 1)
    assert sorted(answer.json() for answer in answers) == list(range(1, 201))
    assert http.get(f"{one}/total").json() == 200


def test_a_command_right_after_the_start_is_not_missed(http: httpx.Client, one: str) -> None:  # F35
    for number in range(100):
        path = f"{one}-{number}"
        assert http.post(f"{path}/rest", json=0).status_code == 204
        assert http.post(f"{path}/add", json=1).json() == 1
    for number in range(100):
        path = f"{one}-{number}"
        assert http.get(f"{path}/ankka:await").json()["total"] == 1, journal_of(http, path)


def test_commands_race_the_end_and_every_one_that_was_taken_is_in_the_state(http: httpx.Client, one: str) -> None:  # F39
    http.post(f"{one}/rest", json=0.05)
    answers = at_once(http, 100, f"POST {one}/add", 1)
    assert [answer.status_code for answer in answers] == [200] * 100
    http.get(f"{one}/ankka:await")
    assert http.get(f"{one}/total").json() == 100
    assert journal_of(http, one).count("updated") == 100


def test_a_query_and_a_command_during_a_5_s_step(http: httpx.Client, one: str) -> None:  # F88
    assert http.post(f"{one}/start", json=5).status_code == 204
    spans: list[float] = []
    for _ in range(20):
        began = time.monotonic()
        assert http.get(f"{one}/notes").json() == {"total": 0, "blob": "", "done": ["started"]}
        spans.append(time.monotonic() - began)
    assert sorted(spans)[10] < 0.1
    assert http.post(f"{one}/add", json=7).json() == 7
    assert http.get(f"{one}/notes").json() == {"total": 7, "blob": "", "done": ["started"]}
    lifecycle = http.get(f"{one}/ankka:lifecycle").json()
    assert (lifecycle["status"], lifecycle["pendingStep"], lifecycle["attempt"]) == ("Running", "work", 1)
    is_problem(http.post(f"{one}/start", json=0), 409, "CONFLICT")
    end = http.get(f"{one}/ankka:await?timeout=20")
    assert (end.status_code, end.json()) == (200, {"total": 7, "blob": "", "done": ["started", "worked"]})  # W14: neither change is lost
    assert journal_of(http, one) == ["started", "updated", "ended"]


def test_a_query_does_not_wait_for_a_slow_command_of_its_instance(http: httpx.Client, process: Program, one: str) -> None:
    with connected(http) as wire:
        wire.request(f"POST {one}/slow", b"3")
        process.wait_for_output(f"slow {one.rpartition('/')[2]} begins")
        began = time.monotonic()
        assert http.get(f"{one}/total").json() == 0
        assert http.get(f"{one}/ankka:lifecycle").json()["status"] == "NotStarted"
        assert time.monotonic() - began < 2
        assert wire.answer().status_code == 204
    assert http.get(f"{one}/total").json() == 1


def test_1000_raising_queries_of_one_id(http: httpx.Client, one: str) -> None:  # F89
    answers = at_once(http, 50, f"GET {one}/raise-in-query", rounds=20)
    assert [answer.status_code for answer in answers] == [500] * 1_000
    assert journal_of(http, one) == []
    assert http.post(f"{one}/add", json=1).json() == 1
