"""Methods, reserved names, what is not there yet, and the health routes (API §4)."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.http.wire import connected, exchange


def test_get_calls_queries_without_input_and_post_calls_all(http: httpx.Client, one: str) -> None:
    assert http.get(f"{one}/total").json() == 0
    assert http.post(f"{one}/total").json() == 0
    assert http.get(f"{one}/greet").json() == "hello world"


@pytest.mark.parametrize(
    ("method", "handler", "allow"),
    [
        ("GET", "add", "POST"), ("HEAD", "add", "POST"), ("PUT", "add", "POST"), ("DELETE", "add", "POST"), ("PATCH", "cancel", "POST"),
        ("OPTIONS", "add", "POST"), ("GET", "cancel", "POST"), ("GET", "echo-int", "POST"), ("PUT", "total", "POST, GET, HEAD"),
        ("OPTIONS", "greet", "POST, GET, HEAD"), ("TRACE", "total", "POST, GET, HEAD"),
    ],
)  # fmt: skip
def test_another_method_is_405_and_says_which_are_allowed(http: httpx.Client, one: str, method: str, handler: str, allow: str) -> None:
    answer = http.request(method, f"{one}/{handler}")
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)
    if method != "HEAD":
        is_problem(answer, 405, "BAD_REQUEST", handler)
    assert journal_of(http, one) == []


@pytest.mark.parametrize("path", ["total", "ankka:lifecycle", "ankka:journal", "/healthz", "/readyz", "/v1/instances?limit=1", "/openapi.json"])
def test_head_answers_what_get_does_without_the_body(http: httpx.Client, one: str, path: str) -> None:
    url = path if path.startswith("/") else f"{one}/{path}"
    with connected(http) as wire:
        wire.request(f"HEAD {url}")
        head = wire.answer(of_head=True)
        wire.request(f"GET {url}")
        get = wire.answer()
    assert (head.status_code, head.headers["content-type"]) == (200, get.headers["content-type"])
    assert head.headers["content-length"] == str(len(get.content))


@pytest.mark.parametrize("name", ["ankka:lifecycle", "ankka:await", "ankka:journal"])
def test_reserved_reads_take_get_only(http: httpx.Client, one: str, name: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        answer = http.request(method, f"{one}/{name}")
        is_problem(answer, 405, "BAD_REQUEST", name)
        assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("name", ["retry", "skip", "run-again"])
def test_what_comes_later_is_501_not_ignored(http: httpx.Client, one: str, name: str) -> None:
    for method in ("POST", "GET"):
        is_problem(http.request(method, f"{one}/ankka:{name}"), 501, "BAD_REQUEST", f"'ankka:{name}' is not available in this version")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "application/json", "a/b"])
def test_an_unknown_handler_or_component_is_404_whatever_the_body_is(http: httpx.Client, one: str, kind: str) -> None:
    for path, said in ((f"{one}/strat", "has no handler 'strat'"), ("/v1/everythin/a/add", "no component 'everythin'")):
        is_problem(http.post(path, content=b"1", headers={"Content-Type": kind}), 404, "NOT_FOUND", said)


@pytest.mark.parametrize("name", ["ankka:", "ankka:nothing", "ankka:Lifecycle"])
def test_an_unknown_reserved_name_is_404(http: httpx.Client, one: str, name: str) -> None:
    for method in ("GET", "POST"):
        is_problem(http.request(method, f"{one}/{name}"), 404, "NOT_FOUND", f"there is no '{name}'", "ankka:lifecycle")


def test_query_parameters_of_a_call_are_refused(http: httpx.Client, one: str) -> None:
    is_problem(http.get(f"{one}/total?x=1"), 400, "BAD_REQUEST", "'x'")
    is_problem(http.post(f"{one}/add?timeout=1", json=1), 400, "BAD_REQUEST", "'timeout'")
    is_problem(http.get(f"{one}/ankka:lifecycle?x"), 400, "BAD_REQUEST", "'x'")
    assert journal_of(http, one) == []


def test_health(http: httpx.Client) -> None:
    body = http.get("/healthz").json()
    assert (body["status"], body["processes"]) == ("ok", 1)
    assert body["incarnation"]
    assert http.get("/readyz").json() == {"status": "ready"}
    for path in ("/healthz", "/readyz", "/v1/instances"):
        answer = http.post(path)
        is_problem(answer, 405, "BAD_REQUEST")
        assert "GET" in answer.headers["allow"]


def test_a_trace_that_is_none_is_ignored(http: httpx.Client, one: str) -> None:
    for trace in ("nonsense", "x" * 5_000, "00-" + "0" * 32, "é"):
        assert exchange(http, f"POST {one}/add", b"1", f"traceparent: {trace}\r\n").status_code == 200
    items = http.get(f"{one}/ankka:journal").json()["items"]
    assert [item["detail"] for item in items] == [{"by": "add"}] * 4


def test_the_description_has_every_route(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {path for path in document["paths"] if not path.startswith(("/v1/counter/", "/v1/everything/"))} == {
        "/v1/{component}/{id}/{handler}",
        "/v1/{component}/{id}/ankka:lifecycle",
        "/v1/{component}/{id}/ankka:await",
        "/v1/{component}/{id}/ankka:journal",
        "/v1/{component}/{id}/ankka:events",
        "/v1/{component}/{id}/ankka:pause",
        "/v1/{component}/{id}/ankka:resume",
        "/v1/{component}/{id}/ankka:cancel",
        "/v1/{component}/{id}",
        "/v1/instances",
        "/healthz",
        "/readyz",
    }
    assert set(document["paths"]["/v1/{component}/{id}/{handler}"]) == {"post", "get"}
    for path in document["paths"].values():
        for operation in path.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert "422" not in operation["responses"]
    assert "Problem" in document["components"]["schemas"]
    assert http.get("/openapi.json").json() == document
    assert http.get("/docs").status_code == 200
