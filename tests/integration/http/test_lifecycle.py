"""`ankka:lifecycle`, `ankka:await` and `ankka:journal` (API §1, §4)."""

from __future__ import annotations

import threading
from datetime import datetime

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.support.programs import wait_for

KEYS = [
    "status", "pendingStep", "retries", "failure", "attempt", "nextAttemptAt", "pausedUntil", "held", "waitingFor", "startedAt", "updatedAt", "run",
]  # fmt: skip


def test_the_lifecycle_of_an_id_never_seen(http: httpx.Client, one: str) -> None:  # F44
    answer = http.get(f"{one}/ankka:lifecycle")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert list(answer.json()) == KEYS
    assert answer.json() == dict.fromkeys(KEYS) | {"status": "NotStarted", "retries": {}, "held": False, "run": 0}


def test_the_lifecycle_of_a_run_from_start_to_end(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/start", json=1)
    running = http.get(f"{one}/ankka:lifecycle").json()
    assert list(running) == KEYS
    assert (running["status"], running["pendingStep"], running["attempt"], running["run"]) == ("Running", "work", 1, 1)
    assert (running["waitingFor"], running["failure"], running["held"], running["retries"]) == (None, None, False, {})
    assert running["startedAt"] == running["updatedAt"]
    assert datetime.fromisoformat(running["startedAt"]).utcoffset() is not None
    assert running["startedAt"].endswith("Z")
    http.get(f"{one}/ankka:await")
    ended = http.get(f"{one}/ankka:lifecycle").json()
    assert (ended["status"], ended["pendingStep"], ended["attempt"], ended["run"]) == ("Completed", None, None, 1)
    assert ended["startedAt"] == running["startedAt"] < ended["updatedAt"]


def test_the_lifecycle_of_a_failure_and_of_an_entity(http: httpx.Client, one: str, counter: str) -> None:
    http.post(f"{one}/fail")
    wait_for(lambda: http.get(f"{one}/ankka:lifecycle").json()["status"] == "Failed", "the failure")
    assert http.get(f"{one}/ankka:lifecycle").json()["failure"] == "it broke"
    assert http.get(f"{counter}/ankka:lifecycle").json() == {"status": "Empty", "sequence": 0, "updatedAt": None, "expiresAt": None}
    http.post(f"{counter}/count", json=2)
    summary = http.get(f"{counter}/ankka:lifecycle").json()
    assert (summary["status"], summary["sequence"]) == ("Active", 1)


def test_await_answers_the_end_state(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/start", json=0.3)
    end = {"total": 0, "blob": "", "done": ["started", "worked"]}
    answer = http.get(f"{one}/ankka:await", params={"timeout": "10"})
    assert (answer.status_code, answer.json()) == (200, end)
    for timeout in ("", "0", "0.0", "3600"):
        assert http.get(f"{one}/ankka:await", params={"timeout": timeout}).json() == end


def test_await_of_a_failed_run_is_424_with_its_reason(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/fail")
    answer = http.get(f"{one}/ankka:await")
    is_problem(answer, 424, "WORKFLOW_FAILED", "it broke")
    assert answer.json()["details"]["code"] == "CONFLICT"
    is_problem(http.get(f"{one}/ankka:await?timeout=0"), 424, "WORKFLOW_FAILED", "it broke")


def test_await_that_takes_too_long_is_504_and_stops_nothing(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/start", json=1)
    for timeout in ("0", "0.1"):
        is_problem(http.get(f"{one}/ankka:await?timeout={timeout}"), 504, "TIMEOUT", one.removeprefix("/v1/"), f"{timeout} s")
    assert http.get(f"{one}/ankka:await").status_code == 200


def test_await_of_what_never_started_says_so(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/add", json=1)
    name = one.removeprefix("/v1/")
    for timeout in ("0", "0.1"):
        late = http.get(f"{one}/ankka:await?timeout={timeout}")
        is_problem(late, 504, "TIMEOUT", f"{name} has not started within {timeout} s; a command starts it, then ask again")
    http.post(f"{one}/start", json=1)
    is_problem(http.get(f"{one}/ankka:await?timeout=0"), 504, "TIMEOUT", f"{name} has not ended within 0 s; it goes on, ask again")


def test_await_before_the_start_waits_for_the_first_run(http: httpx.Client, one: str) -> None:
    answers: list[httpx.Response] = []
    waiting = threading.Thread(target=lambda: answers.append(http.get(f"{one}/ankka:await?timeout=20")))
    waiting.start()
    assert http.post(f"{one}/start", json=0.1).status_code == 204
    waiting.join()
    assert answers[0].json()["done"] == ["started", "worked"]


@pytest.mark.parametrize("timeout", ["-1", "3601", "1e99", "nan", "inf", "-inf", "abc", "1s", "0x10"])
def test_a_timeout_that_cannot_be_is_400(http: httpx.Client, one: str, timeout: str) -> None:
    is_problem(http.get(f"{one}/ankka:await", params={"timeout": timeout}), 400, "BAD_REQUEST", f"timeout='{timeout}'", "0 to 3600")


def test_await_of_an_entity_is_400(http: httpx.Client, counter: str) -> None:
    is_problem(http.get(f"{counter}/ankka:await"), 400, "BAD_REQUEST", "is an entity")
    http.post(f"{counter}/count", json=1)
    is_problem(http.get(f"{counter}/ankka:await"), 400, "BAD_REQUEST", "is an entity")


def test_await_with_another_parameter_is_400(http: httpx.Client, one: str) -> None:
    is_problem(http.get(f"{one}/ankka:await?timout=1"), 400, "BAD_REQUEST", "'timout'", "timeout")
    is_problem(http.get(f"{one}/ankka:await?timeout=1&timeout=2"), 400, "BAD_REQUEST", "'timeout'", "twice")


def test_the_journal_of_a_workflow(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/add", json=1)
    http.post(f"{one}/start", json=0)
    http.get(f"{one}/ankka:await")
    page = http.get(f"{one}/ankka:journal").json()
    items = page["items"]
    assert page["next"] is None
    for item in items:
        assert list(item) == ["generation", "sequence", "at", "type", "run", "step", "attempt", "detail"]
        assert item["at"].endswith("Z")
    assert [(item["type"], item["sequence"], item["run"], item["step"], item["attempt"]) for item in items] == [
        ("updated", 1, 0, None, None),
        ("started", 2, 1, "work", 1),
        ("ended", 3, 1, "work", 1),
    ]
    assert [item["detail"].get("by") for item in items] == ["add", "start", "work"]
    assert len({item["generation"] for item in items}) == 1


def test_a_run_that_failed_says_so_in_its_journal(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/fail")
    http.get(f"{one}/ankka:await")
    failed = http.get(f"{one}/ankka:journal").json()["items"][-1]
    assert (failed["type"], failed["step"], failed["attempt"]) == ("failed", "break", 1)
    assert (failed["detail"]["code"], failed["detail"]["message"]) == ("CONFLICT", "it broke")


def test_the_journal_page_by_page(http: httpx.Client, one: str) -> None:
    for amount in range(5):
        http.post(f"{one}/add", json=amount)
    whole = http.get(f"{one}/ankka:journal").json()["items"]
    assert [item["sequence"] for item in whole] == [1, 2, 3, 4, 5]
    for limit in (1, 2, 3, 4, 5, 6):
        assert pages_of(http, one, limit) == whole


def test_an_entitys_journal_has_its_events_page_by_page(http: httpx.Client, counter: str) -> None:
    for times in (1, 3, 2):
        http.post(f"{counter}/count", json=times)
    whole = http.get(f"{counter}/ankka:journal").json()["items"]
    assert [(item["sequence"], item["type"], item["detail"]) for item in whole] == [
        (sequence, "counted", {"by": "count", "event": 1}) for sequence in (1, 2, 2, 2, 3, 3)
    ]
    for limit in (1, 2, 3, 4, 5, 6, 7):
        assert pages_of(http, counter, limit) == whole


def pages_of(http: httpx.Client, path: str, limit: int) -> list[dict[str, object]]:
    items: list[dict[str, object]] = []
    after = ""
    while True:
        page = http.get(f"{path}/ankka:journal", params={"after": after, "limit": str(limit)}).json()
        assert 0 < len(page["items"]) <= limit
        items += page["items"]
        if page["next"] is None:
            return items
        after = page["next"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "limit=-1", "limit=1.5", "limit=a", "after=1", "after=a:b", "after=1:2:3:4", "after=1:-2", "x=1"]
)
def test_a_page_that_cannot_be_is_400(http: httpx.Client, one: str, query: str) -> None:
    http.post(f"{one}/add", json=1)
    is_problem(http.get(f"{one}/ankka:journal?{query}"), 400, "BAD_REQUEST")


def test_a_place_behind_the_end_is_an_empty_page(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/add", json=1)
    generation = http.get(f"{one}/ankka:journal").json()["items"][0]["generation"]
    assert http.get(f"{one}/ankka:journal?after={generation}:1").json() == {"items": [], "next": None}


def test_a_command_after_the_end_is_accepted(http: httpx.Client, one: str) -> None:  # F39
    http.post(f"{one}/start", json=0)
    http.get(f"{one}/ankka:await")
    assert http.post(f"{one}/add", json=5).json() == 5
    assert http.get(f"{one}/total").json() == 5
    assert http.get(f"{one}/ankka:lifecycle").json()["status"] == "Completed"
    assert journal_of(http, one) == ["started", "ended", "updated"]
