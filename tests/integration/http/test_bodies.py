"""Inputs and replies over HTTP: every type, every content type (API §4)."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.http.conftest import is_problem

JSON = {"content-type": "application/json"}
TEXT = {"content-type": "text/plain"}
BYTES = {"content-type": "application/octet-stream"}


@pytest.mark.parametrize(
    ("handler", "body", "answer"),
    [
        ("echo-str", b'"ok"', b'"ok"'),
        ("echo-str", '"ä\\u0000\U0001f600"'.encode(), '"ä\\u0000\U0001f600"'.encode()),
        ("echo-str", b'""', b'""'),
        ("echo-int", b"-7", b"-7"),
        ("echo-int", b"12345678901234567890", b"12345678901234567890"),
        ("echo-float", b"2.5", b"2.5"),
        ("echo-float", b"2", b"2.0"),
        ("echo-bool", b"true", b"true"),
        ("echo-bytes", b'"AAH/"', b'"AAH/"'),
        ("echo-optional", b"5", b"5"),
        ("echo-optional", b"null", b"null"),
        ("echo-square", b'{"side": 2.0}', b'{"side":2.0,"label":"square"}'),
        ("echo-square", b'{"side": 2, "unknown": [1], "label": "a"}', b'{"side":2.0,"label":"a"}'),
        ("echo-list", b"[]", b"[]"),
        ("echo-list", b" [1, 2] ", b"[1,2]"),
        ("greet", b'"you"', b'"hello you"'),
    ],
)
def test_json_in_and_json_out(http: httpx.Client, one: str, handler: str, body: bytes, answer: bytes) -> None:
    got = http.post(f"{one}/{handler}", content=body, headers=JSON)
    assert (got.status_code, got.headers["content-type"], got.content) == (200, "application/json", answer)


def test_a_union_says_which_case_it_is_both_ways(http: httpx.Client, one: str) -> None:  # F68
    for value in ({"type": "Circle", "radius": 1.5}, {"type": "Square", "side": 2.0, "label": "x"}):
        got = http.post(f"{one}/echo-shape", json=value)
        assert (got.status_code, got.json()) == (200, value)
    is_problem(http.post(f"{one}/echo-shape", json={"type": "Triangle"}), 400, "BAD_REQUEST", "Triangle")
    is_problem(http.post(f"{one}/echo-shape", json={"radius": 1.5}), 400, "BAD_REQUEST", "type")


@pytest.mark.parametrize(
    ("handler", "body", "answer"),
    [
        ("echo-str", b"ok", b"ok"),
        ("echo-str", b"", b""),
        ("echo-str", b'"quoted"', b'"quoted"'),
        ("echo-int", b"41", b"41"),
        ("echo-float", b"1.5", b"1.5"),
        ("echo-bool", b"false", b"false"),
        ("greet", b"you", b"hello you"),
    ],
)
@pytest.mark.parametrize("content_type", ["text/plain", "text/plain; charset=utf-8", 'TEXT/Plain;charset="UTF-8"; x=y'])
def test_plain_text_in_and_plain_text_out(http: httpx.Client, one: str, handler: str, body: bytes, answer: bytes, content_type: str) -> None:
    got = http.post(f"{one}/{handler}", content=body, headers={"content-type": content_type, "accept": "text/plain"})
    assert (got.status_code, got.headers["content-type"], got.content) == (200, "text/plain; charset=utf-8", answer)


@pytest.mark.parametrize(
    ("accept", "is_text"),
    [
        ("text/plain", True),
        ("text/plain, */*", True),
        ("text/plain;q=0.9, application/json;q=0.5", True),
        ("*/*", False),
        ("application/json", False),
        ("application/json, text/plain, */*", False),
        ("text/plain;q=0.1, application/json", False),
        ("text/plain;q=0", False),
    ],
)
def test_text_is_answered_where_it_is_preferred_to_json(http: httpx.Client, one: str, accept: str, is_text: bool) -> None:
    got = http.get(f"{one}/greet", headers={"accept": accept})
    assert got.content == (b"hello world" if is_text else b'"hello world"')


def test_what_is_no_primitive_stays_json_whatever_is_asked_for(http: httpx.Client, one: str) -> None:
    got = http.get(f"{one}/notes", headers={"accept": "text/plain"})
    assert (got.headers["content-type"], got.json()) == ("application/json", {"total": 0, "blob": "", "done": []})


def test_bytes_go_as_they_are_and_come_so_where_asked_for(http: httpx.Client, one: str) -> None:
    data = bytes(range(256))
    got = http.post(f"{one}/echo-bytes", content=data, headers={**BYTES, "accept": "application/octet-stream"})
    assert (got.status_code, got.headers["content-type"], got.content) == (200, "application/octet-stream", data)
    got = http.post(f"{one}/echo-bytes", content=b"", headers={**BYTES, "accept": "application/octet-stream"})
    assert (got.status_code, got.content) == (200, b"")


@pytest.mark.parametrize("handler", ["done", "none"])
def test_done_and_none_are_204_without_a_body(http: httpx.Client, one: str, handler: str) -> None:
    for got in (http.get(f"{one}/{handler}"), http.post(f"{one}/{handler}")):
        assert (got.status_code, got.content) == (204, b"")
        assert not {"content-length", "content-type", "transfer-encoding"} & set(got.headers)


def test_an_empty_body_is_right_for_no_input_for_a_default_and_for_an_optional(http: httpx.Client, one: str) -> None:  # F18
    assert http.post(f"{one}/cancel").json() == "my own cancel"
    assert http.post(f"{one}/cancel", headers=JSON).json() == "my own cancel"
    assert http.post(f"{one}/greet").json() == "hello world"
    assert http.post(f"{one}/greet", headers=JSON).json() == "hello world"
    assert http.post(f"{one}/echo-optional").json() is None
    assert http.post(f"{one}/greet", headers=TEXT).json() == "hello "  # the empty text is a text
    is_problem(http.post(f"{one}/add", headers=TEXT), 400, "BAD_REQUEST", "'add' takes an input (int); send it as the body")


def test_an_empty_body_for_a_required_input_is_400(http: httpx.Client, one: str) -> None:
    for headers in ({}, JSON):
        is_problem(http.post(f"{one}/add", headers=headers), 400, "BAD_REQUEST", "add", "int")
    is_problem(http.post(f"{one}/add", headers=TEXT), 400, "BAD_REQUEST", "add")


def test_a_body_for_a_handler_without_input_is_400(http: httpx.Client, one: str) -> None:
    for content in (b"null", b"{}", b" "):
        is_problem(http.post(f"{one}/cancel", content=content, headers=JSON), 400, "BAD_REQUEST", "'cancel' takes no input")


def test_a_body_without_a_content_type_is_taken_as_json(http: httpx.Client, one: str) -> None:
    assert http.post(f"{one}/add", content=b"4").json() == 4
    assert "content-type" not in http.build_request("POST", "/", content=b"4").headers


@pytest.mark.parametrize(
    ("handler", "content_type", "line"),
    [
        ("add", "application/x-www-form-urlencoded", "-H 'Content-Type: application/json' or -H 'Content-Type: text/plain'"),
        ("add", "application/octet-stream", "-H 'Content-Type: application/json' or -H 'Content-Type: text/plain'"),
        ("add", "application/merge-patch+json", "-H 'Content-Type: application/json'"),
        ("add", "text/plain; charset=latin-1", "-H 'Content-Type: text/plain'"),
        ("add", "application/json; charset=utf-16", "-H 'Content-Type: application/json'"),
        ("add", "nonsense", "-H 'Content-Type: application/json'"),
        ("keep", "text/plain", "-H 'Content-Type: application/json' or -H 'Content-Type: application/octet-stream'"),
        ("echo-square", "text/plain", "use -H 'Content-Type: application/json'"),
        ("echo-optional", "text/plain", "use -H 'Content-Type: application/json'"),
    ],
)
def test_another_content_type_is_415_with_the_line_to_use(http: httpx.Client, one: str, handler: str, content_type: str, line: str) -> None:
    got = http.post(f"{one}/{handler}", content=b"1", headers={"content-type": content_type})
    is_problem(got, 415, "BAD_REQUEST", line, content_type.split(";", maxsplit=1)[0])
    assert http.get(f"{one}/total").json() == 0


@pytest.mark.parametrize(
    ("handler", "body", "parts"),
    [
        ("add", b"{", ("input of 'add' of everything/",)),
        ("add", b"1 2", ("input of 'add'",)),
        ("add", b'"one"', ("int", "str")),
        ("add", b"1.5", ("int",)),
        ("add", b"true", ("int",)),
        ("add", b"null", ("int",)),
        ("add", b"\xff", ("input of 'add'",)),
        ("add", b"NaN", ("input of 'add'",)),
        ("echo-str", b'"\\ud800"', ("echo-str",)),
        ("echo-str", b"\xff", ("echo-str",)),
        ("echo-bytes", b'"no base64"', ("echo-bytes",)),
        ("echo-float", b"1e999", ("echo-float",)),
        ("echo-square", b'{"label": "a"}', ("side",)),
        ("echo-square", b'{"side": "a"}', ("side",)),
        ("echo-list", b'[1, "a"]', ("[1]",)),
        ("echo-list", b"[" * 100_000, ("echo-list",)),
    ],
)
def test_input_that_cannot_be_read_is_400_and_leaves_nothing(http: httpx.Client, one: str, handler: str, body: bytes, parts: tuple[str, ...]) -> None:
    is_problem(http.post(f"{one}/{handler}", content=body, headers=JSON), 400, "BAD_REQUEST", *parts)
    assert http.get(f"{one}/ankka:lifecycle").json()["status"] == "NotStarted"
    assert http.get(f"{one}/ankka:journal").json() == {"items": [], "next": None}


def test_plain_text_that_is_not_of_the_type_is_400(http: httpx.Client, one: str) -> None:
    is_problem(http.post(f"{one}/add", content=b"one", headers=TEXT), 400, "BAD_REQUEST", "add")
    is_problem(http.post(f"{one}/echo-str", content=b"\xff", headers=TEXT), 400, "BAD_REQUEST", "UTF-8")
