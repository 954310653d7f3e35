"""One sidecar and one process with `handlers`, shared by the HTTP tests; each test uses ids of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import httpx
import pytest

from tests.integration.support.fixtures import started
from tests.integration.support.programs import Program, Programs, Sidecar

HANDLERS = "tests.integration.http.handlers"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """Programs that live as long as the test run."""
    yield from started(tmp_path_factory.mktemp("http"))


@pytest.fixture(scope="session")
def sidecar(shared: Programs) -> Sidecar:
    """The shared sidecar; `process` attaches the service to it."""
    return shared.sidecar()


@pytest.fixture(scope="session")
def process(shared: Programs, sidecar: Sidecar) -> Program:
    """The shared process, attached."""
    return shared.process(HANDLERS, sidecar)


@pytest.fixture
def http(sidecar: Sidecar, process: Program) -> httpx.Client:
    """A client of the sidecar; its process is attached."""
    return sidecar.http


_numbers = itertools.count(1)


@pytest.fixture
def one() -> str:
    """The path of an instance of `everything` that no test has used."""
    return f"/v1/everything/i{next(_numbers)}"


@pytest.fixture
def counter() -> str:
    """The path of an instance of `counter` that no test has used."""
    return f"/v1/counter/i{next(_numbers)}"


def is_problem(answer: httpx.Response, status: int, code: str, *parts: str) -> None:
    """Assert that an answer is a problem of that status and code whose detail holds these parts."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert {"type", "title", "status", "detail", "code"} <= set(problem) <= {"type", "title", "status", "detail", "code", "details"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"].startswith("urn:ankka:error:")
    for part in parts:
        assert part in problem["detail"], problem["detail"]


def journal_of(http: httpx.Client, path: str) -> list[str]:
    """The types of what is in an instance's journal."""
    answer = http.get(f"{path}/ankka:journal", params={"limit": "1000"})
    assert answer.status_code == 200, answer.text
    return [item["type"] for item in answer.json()["items"]]
