"""What goes wrong in a handler or does not exist: the right status, nothing half done, and the sidecar goes on."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.support.programs import Program

WRONG = [
    ("raise", "failed"),
    ("raise-in-reply", "failed"),
    ("return-none", "returned None, expected an effect"),
    ("return-number", "returned int, expected an effect"),
    ("return-foreign", "expected an effect"),
    ("bad-state", "total"),
    ("bad-reply", "int"),
    ("bad-target", "nowhere"),
]


@pytest.mark.parametrize(("handler", "part"), WRONG)
def test_a_fault_in_a_command_is_500_and_nothing_is_journalled(http: httpx.Client, one: str, handler: str, part: str) -> None:
    # W2: the reply is computed and encoded before the append.
    answer = http.post(f"{one}/{handler}")
    is_problem(answer, 500, "INTERNAL", f"'{handler}' of {one.removeprefix('/v1/')}", part)
    assert journal_of(http, one) == []
    assert http.post(f"{one}/add", json=2).json() == 2
    is_problem(http.post(f"{one}/{handler}"), 500, "INTERNAL")
    assert journal_of(http, one) == ["updated"]
    assert http.get(f"{one}/total").json() == 2


def test_what_a_handler_raised_is_in_the_log_of_its_process_only(http: httpx.Client, one: str, process: Program) -> None:
    assert "secret" not in http.post(f"{one}/raise").text
    assert "secret" not in http.get(f"{one}/raise-in-query").text
    assert "RuntimeError: the secret of this handler" in process.output


def test_a_query_that_raises_or_changes_state_is_500_and_wedges_nothing(http: httpx.Client, one: str) -> None:  # F89
    for _ in range(3):
        is_problem(http.get(f"{one}/raise-in-query"), 500, "INTERNAL", "'raise-in-query'")
    is_problem(http.get(f"{one}/update-in-query"), 500, "INTERNAL", "'update-in-query'")
    assert journal_of(http, one) == []
    assert http.get(f"{one}/ankka:lifecycle").json()["status"] == "NotStarted"
    assert http.post(f"{one}/add", json=1).json() == 1


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("INTERNAL", 500), ("BAD_REQUEST", 400), ("UNAUTHORIZED", 401), ("FORBIDDEN", 403), ("NOT_FOUND", 404), ("CONFLICT", 409), ("TIMEOUT", 504),
        ("UNAVAILABLE", 503), ("WORKFLOW_FAILED", 424), ("TOO_LARGE", 413), ("RESOURCE_EXHAUSTED", 429),
    ],
)  # fmt: skip
def test_a_refusal_has_the_status_of_its_code(http: httpx.Client, one: str, code: str, status: int) -> None:
    is_problem(http.post(f"{one}/refuse", json=code), status, code, f"refused with {code}")
    assert journal_of(http, one) == []


def test_a_raised_command_error_is_the_refusal_it_carries(http: httpx.Client, one: str) -> None:
    answer = http.post(f"{one}/raise-refusal")
    is_problem(answer, 409, "CONFLICT", "raised as a refusal")
    assert answer.json()["details"] == {"wanted": 3}


def test_an_unknown_handler_is_404_and_names_those_there_are(http: httpx.Client, one: str) -> None:
    is_problem(http.post(f"{one}/ad", json=1), 404, "NOT_FOUND", "'everything' has no handler 'ad'", "add", "total")
    is_problem(http.get(f"{one}/ad"), 404, "NOT_FOUND", "'ad'")
    is_problem(http.post(f"{one}/work", json=1), 404, "NOT_FOUND", "'work'")  # a step is not called


def test_an_unknown_component_is_404_and_names_those_attached(http: httpx.Client) -> None:
    for path in ("start", "ankka:lifecycle", "ankka:await", "ankka:journal"):
        answer = http.post("/v1/everythin/x/start") if path == "start" else http.get(f"/v1/everythin/x/{path}")
        is_problem(answer, 404, "NOT_FOUND", "'everythin'", "counter, everything")


def test_a_refused_or_faulty_first_command_and_a_query_make_no_rows(http: httpx.Client, one: str) -> None:  # F44
    http.post(f"{one}/refuse", json="CONFLICT")
    http.post(f"{one}/raise")
    http.get(f"{one}/total")
    http.get(f"{one}/ankka:lifecycle")
    assert http.get(f"{one}/ankka:await?timeout=0").status_code == 504
    assert http.get(f"{one}/ankka:journal").json() == {"items": [], "next": None}
    name = one.rpartition("/")[2]
    assert name not in [item["id"] for item in http.get("/v1/instances?component=everything&limit=1000").json()["items"]]


def test_handlers_may_be_named_like_what_is_ours(http: httpx.Client, one: str) -> None:
    assert http.post(f"{one}/cancel").json() == "my own cancel"
    assert http.post(f"{one}/await").json() == "my own await"
    assert journal_of(http, one) == ["updated"]


def test_the_sidecar_and_the_process_went_on_through_all_of_it(http: httpx.Client, one: str) -> None:
    assert http.get("/readyz").json() == {"status": "ready"}
    assert http.get("/healthz").json()["processes"] == 1
    assert http.post(f"{one}/add", json=1).json() == 1
