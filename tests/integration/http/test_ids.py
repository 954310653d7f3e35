"""Ids: any non-empty text up to 512 bytes of UTF-8 without control characters, percent-encoded in a path. F67"""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.http.wire import exchange

GOOD = [
    "a/b", "/", "//", "a/../b", "...", "50%", "%2F", "a+b", "a b", " ", "ä", "日本語", "\U0001f600", "a?b#c", "a;b=c,d", "ankka:lifecycle", "'\"<&>",
    "x" * 512, "ä" * 256, "\\", "~", "a\u00a0b", "{id}", "$[0]", "e\u0301", "NULL", "0",
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_an_id_goes_round_through_every_route(http: httpx.Client, name: str) -> None:
    path = f"/v1/everything/{quote(name, safe='')}"
    assert http.get(f"{path}/id").json() == name
    assert http.post(f"{path}/start", json=0).status_code == 204
    assert http.get(f"{path}/ankka:await").status_code == 200
    assert http.get(f"{path}/ankka:lifecycle").json()["status"] == "Completed"
    assert journal_of(http, path) == ["started", "ended"]
    listed = [item for item in all_instances(http) if item["id"] == name]
    assert [(item["component"], item["status"]) for item in listed] == [("everything", "Completed")]


def all_instances(http: httpx.Client) -> list[dict[str, object]]:
    items: list[dict[str, object]] = []
    after = ""
    while True:
        page = http.get("/v1/instances", params={"component": "everything", "after": after, "limit": "1000"}).json()
        items += page["items"]
        if page["next"] is None:
            return items
        after = page["next"]


@pytest.mark.parametrize("handler", ["start", "ankka:lifecycle", "ankka:await", "ankka:journal"])
@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ("", "must not be empty"),
        (".", "'.'"),
        ("..", "'..'"),
        ("%2e", "'.'"),
        ("%2E%2e", "'..'"),
        ("x" * 600, "600 bytes"),
        ("%C3%A4" * 257, "514 bytes"),
        ("a%00", "control character"),
        ("a%0Ab", "control character"),
        ("%7F", "control character"),
        ("%C2%85", "control character"),
        ("%FF", "UTF-8"),
        ("%C3", "UTF-8"),
        ("%ED%A0%80", "UTF-8"),
        ("50%", "%25"),
        ("%zz", "%25"),
    ],
)
def test_what_cannot_be_an_id_is_400_and_leaves_nothing(http: httpx.Client, handler: str, raw: str, part: str) -> None:
    # Bytes on a socket: a client library would resolve `..` or encode a lone percent sign.
    method, body = ("POST", b"0") if handler == "start" else ("GET", b"")
    is_problem(exchange(http, f"{method} /v1/everything/{raw}/{handler}", body), 400, "BAD_REQUEST", part)


def test_a_path_of_any_other_shape_is_404(http: httpx.Client) -> None:
    for path in (
        "/v1", "/v1/", "/v1/everything", "/v1/everything/x", "/v1/everything/x/start/", "//v1/everything/x/total", "/v1/everything/x/total/more",
        "/v2/everything/x/total", "/V1/everything/x/total", "/v1/instances/", "/healthz/", "/../../etc/passwd", "/v1/everything%2Fx/total", "/%",
    ):  # fmt: skip
        is_problem(exchange(http, f"GET {path}"), 404, "NOT_FOUND", "there is no ")


def test_a_component_cannot_be_empty_and_a_handler_is_unknown_then(http: httpx.Client) -> None:
    is_problem(exchange(http, "GET /v1//x/total"), 400, "BAD_REQUEST", "component")
    is_problem(exchange(http, "GET /v1/everything/x/"), 404, "NOT_FOUND", "''")


def test_a_very_long_path_is_414_and_is_not_repeated(http: httpx.Client) -> None:
    for length in (9_000, 20_000, 200_000):
        answer = exchange(http, f"GET /v1/everything/{'x' * length}/total")
        is_problem(answer, 414, "BAD_REQUEST", "bytes")
        assert len(answer.content) < 500
    is_problem(exchange(http, f"GET /v1/everything/x/{'x' * 4_000}"), 404, "NOT_FOUND")
    is_problem(exchange(http, f"GET /v1/everything/x/ankka:{'x' * 4_000}"), 404, "NOT_FOUND")


def test_an_encoded_reserved_name_is_the_same_name(http: httpx.Client, one: str) -> None:
    for name in ("ankka:lifecycle", "ankka%3Alifecycle", "ankka%3alifecycle", "%61nkka:lifecycle"):
        assert exchange(http, f"GET {one}/{name}").json()["status"] == "NotStarted"
