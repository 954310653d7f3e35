"""`GET /v1/instances`: filters, pages, and what is refused."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.integration.http.conftest import is_problem
from tests.integration.support.programs import Programs, Sidecar

KEYS = {"component", "id", "status", "step", "run", "failure", "deadline", "updatedAt"}


@pytest.fixture(scope="module")
def filled(shared: Programs) -> Sidecar:
    """A sidecar of its own, with 3 completed, 2 failed and 1 running workflow, and 2 entities."""
    sidecar = shared.sidecar(journal=f"sqlite:///{shared.folder / 'instances.db'}")
    shared.process("tests.integration.http.handlers", sidecar)
    http = sidecar.http
    for name in ("c1", "c2", "c/3"):
        path = f"/v1/everything/{name.replace('/', '%2F')}"
        assert http.post(f"{path}/start", json=0).status_code == 204
        assert http.get(f"{path}/ankka:await").status_code == 200
    for name in ("f1", "f2"):
        http.post(f"/v1/everything/{name}/fail")
        assert http.get(f"/v1/everything/{name}/ankka:await").status_code == 424
    http.post("/v1/everything/r1/start", json=60)
    http.post("/v1/counter/e1/count", json=1)
    http.post("/v1/counter/e2/count", json=1)
    return sidecar


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["e1", "e2", "c/3", "c1", "c2", "f1", "f2", "r1"]),
        ("component=&status=&step=&since=&failure=&limit=100&after=", ["e1", "e2", "c/3", "c1", "c2", "f1", "f2", "r1"]),
        ("component=counter", ["e1", "e2"]),
        ("component=nothing", []),
        ("component=every", []),
        ("component=%25", []),
        ("status=Completed", ["c/3", "c1", "c2"]),
        ("status=Failed", ["f1", "f2"]),
        ("status=Running", ["r1"]),
        ("status=Paused", []),
        ("status=active", ["e1", "e2"]),
        ("status=deleted", []),
        ("step=work", ["r1"]),
        ("step=break", []),
        ("failure=BROKE", ["f1", "f2"]),
        ("failure=it%20b", ["f1", "f2"]),
        ("failure=%25", []),
        ("failure=_", []),
        ("since=10m", ["e1", "e2", "c/3", "c1", "c2", "f1", "f2", "r1"]),
        ("since=2999-01-01T00:00:00Z", []),
        ("since=2999-01-01T00:00:00+02:00", []),
        ("since=0001-01-01T00:00:00%2B23:59", ["e1", "e2", "c/3", "c1", "c2", "f1", "f2", "r1"]),
        ("since=2020-01-01", ["e1", "e2", "c/3", "c1", "c2", "f1", "f2", "r1"]),
        ("component=everything&status=Failed&failure=broke", ["f1", "f2"]),
    ],
)
def test_filters(filled: Sidecar, query: str, expected: list[str]) -> None:
    answer = filled.http.get(f"/v1/instances?{query}")
    assert ids(answer) == expected
    assert answer.json()["next"] is None
    assert all(set(item) == KEYS for item in answer.json()["items"])


def test_what_an_item_says(filled: Sidecar) -> None:
    items = {item["id"]: item for item in filled.http.get("/v1/instances").json()["items"]}
    assert (items["r1"]["component"], items["r1"]["status"], items["r1"]["step"], items["r1"]["run"]) == ("everything", "Running", "work", 1)
    assert (items["f1"]["status"], items["f1"]["failure"], items["f1"]["step"]) == ("Failed", "it broke", None)
    assert (items["e1"]["component"], items["e1"]["status"], items["e1"]["run"]) == ("counter", "active", 0)
    for item in items.values():
        age = datetime.now(UTC) - datetime.fromisoformat(item["updatedAt"])
        assert timedelta(0) <= age < timedelta(minutes=5)


def test_pages_of_any_size_give_all_of_them_once(filled: Sidecar) -> None:
    whole = ids(filled.http.get("/v1/instances"))
    for limit in (1, 2, 3, 7, 8, 9, 1_000):
        seen: list[str] = []
        after = ""
        for count in itertools.count(1):
            answer = filled.http.get("/v1/instances", params={"limit": str(limit), "after": after})
            seen += ids(answer)
            if answer.json()["next"] is None:
                break
            assert len(ids(answer)) == limit
            after = answer.json()["next"]
            assert count <= len(whole)
        assert seen == whole


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-5", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("status=running", "status='running' is none of NotStarted, Running"),
        ("since=yesterday", "since='yesterday'"),
        ("since=999999d", "since='999999d'"),
        ("since=2020-13-01", "since="),
        ("after=xyz", "xyz"),
        ("after=00", "00"),
        ("compnent=everything", "'compnent'; known here: component, status"),
        ("component=a&component=b", "'component' is given twice"),
    ],
)
def test_what_cannot_be_asked_is_400(filled: Sidecar, query: str, part: str) -> None:
    is_problem(filled.http.get(f"/v1/instances?{query}"), 400, "BAD_REQUEST", part)


def test_odd_bytes_in_a_filter_find_nothing(filled: Sidecar) -> None:
    for query in ("component=%00", "component=%FF", "failure=%ED%A0%80", "step='%20OR%201=1--", "component=" + "x" * 7_000):
        assert ids(filled.http.get(f"/v1/instances?{query}")) == []


def test_another_method_is_405(filled: Sidecar) -> None:
    for method in ("POST", "PUT", "DELETE"):
        answer = filled.http.request(method, "/v1/instances")
        is_problem(answer, 405, "BAD_REQUEST", method)
        assert answer.headers["allow"] == "GET"
