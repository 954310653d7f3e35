"""Connections: what follows an error on one, bodies in pieces, clients that leave, bytes that are no request."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.http.wire import connected, exchange
from tests.integration.support.programs import Program, Sidecar, wait_for

MIB = 1024 * 1024
FIRST = "Content-Type: application/octet-stream\r\n"


def test_a_connection_goes_on_after_every_kind_of_error(http: httpx.Client, one: str) -> None:
    with connected(http) as wire:
        for line, body, headers, status in (
            (f"POST {one}/add", b"{", "", 400),
            (f"POST {one}/add", b"1", "Content-Type: a/b\r\n", 415),
            (f"GET {one}/add", b"", "", 405),
            (f"POST {one}/add", b"1", f"Idempotency-Key: {'k' * 300}\r\n", 400),
            (f"PUT {one}/add", b"x" * 3 * MIB, "", 405),
            ("POST /v1/everything/%FF/add", b"1", "", 400),
            (f"POST {one}/nothing", b"1", "", 404),
            (f"POST {one}/keep", b"x" * 20 * MIB, FIRST, 413),
            (f"POST {one}/raise", b"", "", 500),
            ("GET /nothing", b"", "", 404),
            ("GET /v1/instances?x=1", b"", "", 400),
        ):
            wire.request(line, body, headers)
            answer = wire.answer()
            is_problem(answer, status, answer.json()["code"])
            wire.request(f"GET {one}/total")
            assert wire.answer().content == b"0"
    assert journal_of(http, one) == []


def test_requests_in_a_row_are_answered_in_order(http: httpx.Client, one: str) -> None:
    with connected(http) as wire:
        for amount in (b"1", b"{", b"2", b"3"):
            wire.request(f"POST {one}/add", amount)
        answers = [wire.answer() for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 400, 200, 200]
    assert [answers[0].json(), answers[2].json(), answers[3].json()] == [1, 3, 6]


def test_a_body_of_20_mib_is_413_with_limit_and_name(http: httpx.Client, one: str) -> None:  # F66
    answer = http.post(f"{one}/keep", content=b"x" * 20 * MIB, headers={"content-type": "application/octet-stream"})
    is_problem(answer, 413, "TOO_LARGE", "20,971,520 bytes", "4,194,304", "max-payload")
    assert answer.json()["details"] == {"limit": 4 * MIB}
    assert journal_of(http, one) == []


def test_a_body_in_chunks_is_taken_and_above_the_limit_refused(http: httpx.Client, one: str) -> None:
    headers = {"content-type": "application/octet-stream"}
    assert http.post(f"{one}/keep", content=iter([b"ab", b"c" * 1000, b"d"]), headers=headers).status_code == 204
    assert http.get(f"{one}/size").json() == 1003
    is_problem(http.post(f"{one}/keep", content=iter([b"x" * MIB] * 20), headers=headers), 413, "TOO_LARGE", "max-payload")
    assert http.get(f"{one}/size").json() == 1003
    assert journal_of(http, one) == ["updated"]


def test_expect_100_continue(http: httpx.Client, one: str) -> None:
    with connected(http) as wire:
        wire.request(f"POST {one}/add", headers="Expect: 100-continue\r\nContent-Length: 1\r\n")
        assert wire.answer().status_code == 100
        wire.send(b"7")
        assert wire.answer().json() == 7


def test_expect_100_continue_for_too_large_a_body_is_refused_before_it_is_sent(http: httpx.Client, one: str) -> None:
    with connected(http) as wire:
        wire.request(f"POST {one}/keep", headers=f"Expect: 100-continue\r\n{FIRST}Content-Length: {20 * MIB}\r\n")
        answer = wire.answer()
        is_problem(answer, 413, "TOO_LARGE", "max-payload")
        assert answer.headers["connection"] == "close"
        assert wire.is_closed()


@pytest.mark.parametrize(("line", "status"), [("PUT {}/add", 405), ("POST {}/nothing", 404), ("POST {}/ankka:lifecycle", 405)])
def test_expect_100_continue_and_another_error_leave_no_doubt_where_the_next_request_begins(
    http: httpx.Client, one: str, line: str, status: int
) -> None:
    with connected(http) as wire:
        wire.request(line.format(one), headers="Expect: 100-continue\r\nContent-Length: 1\r\n")
        answer = wire.answer()
        if answer.status_code == 100:
            wire.send(b"1")
            assert wire.answer().status_code == status
        else:
            assert (answer.status_code, answer.headers["connection"]) == (status, "close")
            assert wire.is_closed()


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_bytes_that_are_no_request_get_a_problem(http: httpx.Client, data: bytes) -> None:
    with connected(http) as wire:
        wire.send(data)
        answer = wire.answer()
        is_problem(answer, 400, "BAD_REQUEST")
        assert wire.is_closed()


def test_a_head_without_end_is_431(http: httpx.Client) -> None:
    with connected(http) as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"x-many: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 2_000)
        is_problem(wire.answer(), 431, "BAD_REQUEST", "headers")


def test_a_client_that_leaves_in_the_middle_of_a_body_does_nothing(http: httpx.Client, sidecar: Sidecar, one: str) -> None:
    for _ in range(20):
        with connected(http) as wire:
            wire.request(f"POST {one}/add", headers="Content-Length: 100\r\n")
            wire.send(b"1")
    assert http.post(f"{one}/add", json=2).json() == 2
    assert journal_of(http, one) == ["updated"]
    assert "Traceback" not in sidecar.output


def test_a_query_is_cancelled_when_its_client_leaves(http: httpx.Client, sidecar: Sidecar, process: Program, one: str) -> None:
    name = one.rpartition("/")[2]
    with connected(http) as wire:
        wire.request(f"POST {one}/slow-query", b"9")
        process.wait_for_output(f"slow-query {name} begins")
    process.wait_for_output(f"slow-query {name} was cancelled")
    assert "Traceback" not in sidecar.output


def test_a_command_that_waits_is_not_begun_when_its_client_leaves(http: httpx.Client, sidecar: Sidecar, process: Program, one: str) -> None:
    name = one.rpartition("/")[2]
    with connected(http) as first, connected(http) as second:
        first.request(f"POST {one}/slow", b"2")
        process.wait_for_output(f"slow {name} begins")
        second.request(f"POST {one}/add", b"1000")
        second.close()
        assert first.answer().status_code == 204
    # The command of the client that is still there was done; had the other's been queued, it would be ahead of this one.
    assert http.post(f"{one}/add", json=1).json() == 2
    assert journal_of(http, one) == ["updated", "updated"]
    assert "Traceback" not in sidecar.output


def test_waiters_that_leave_are_forgotten(http: httpx.Client, sidecar: Sidecar, one: str) -> None:
    http.post(f"{one}/start", json=1)
    for _ in range(20):
        with connected(http) as wire:
            wire.request(f"GET {one}/ankka:await")
    assert http.get(f"{one}/ankka:await").json()["done"] == ["started", "worked"]
    assert wait_for(lambda: http.get("/readyz").status_code == 200, "readiness")
    assert "Traceback" not in sidecar.output


def test_http_1_0_is_answered_and_closed(http: httpx.Client, one: str) -> None:
    with connected(http) as wire:
        wire.send(f"GET {one}/total HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        answer = wire.answer()
        assert (answer.status_code, answer.content, answer.headers["connection"]) == (200, b"0", "close")
        assert wire.is_closed()


def test_an_absolute_target_is_the_same(http: httpx.Client, one: str) -> None:
    assert exchange(http, f"GET http://127.0.0.1{one}/total").json() == 0


@pytest.mark.parametrize(
    "offer",
    [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n",  # Java's client, with every request
        "Connection: keep-alive, upgrade\r\nUpgrade: foo/1\r\n",
        "Upgrade: foo\r\nConnection: Upgrade\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_an_offer_of_another_protocol_is_passed_over_and_the_body_is_kept(http: httpx.Client, one: str, offer: str) -> None:
    chunked = "chunked" in offer
    with connected(http) as wire:
        wire.request(f"GET {one}/total", headers=offer.replace("Transfer-Encoding: chunked\r\n", ""))
        assert wire.answer().content == b"0"
        wire.request(f"POST {one}/add", b"" if chunked else b"12", offer)
        wire.send(b"1\r\n1\r\n1\r\n2\r\n0\r\n\r\n" if chunked else b"")
        assert wire.answer().content == b"12"
        wire.request(f"GET {one}/total")
        assert wire.answer().content == b"12"


def test_an_offer_whose_bytes_come_one_by_one(http: httpx.Client, one: str) -> None:
    with connected(http) as wire:
        for byte in f"POST {one}/add HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n12".encode():
            wire.send(bytes([byte]))
        assert wire.answer().content == b"12"


def test_connect_is_405(http: httpx.Client) -> None:
    with connected(http) as wire:
        wire.send(b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\nmore")
        is_problem(wire.answer(), 405, "BAD_REQUEST", "CONNECT")
        assert wire.is_closed()
