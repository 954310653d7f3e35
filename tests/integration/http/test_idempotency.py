"""`Idempotency-Key` over HTTP: done once, the same reply, another input a conflict (W15, I4)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.integration.http.conftest import HANDLERS, is_problem, journal_of
from tests.integration.support.programs import Programs, Sidecar, wait_for

JSON = "application/json"


def post(
    http: httpx.Client, path: str, body: object = None, *, key: str | None = None, content: str | None = None, kind: str = JSON
) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    data = content if content is not None else None if body is None else json.dumps(body)
    return http.post(path, headers=headers if data is None else {**headers, "Content-Type": kind}, content=data)


def total(http: httpx.Client, one: str) -> int:
    return int(http.get(f"{one}/total").text)


def test_w15_a_command_with_a_key_is_done_once(http: httpx.Client, one: str) -> None:  # F40 F42
    first = post(http, f"{one}/add", 5, key="k1")
    again = post(http, f"{one}/add", 5, key="k1")
    assert (first.status_code, first.text) == (again.status_code, again.text) == (200, "5")
    assert first.headers["content-type"] == again.headers["content-type"]
    assert total(http, one) == 5
    assert journal_of(http, one) == ["updated"]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": ""}])
def test_f40_commands_without_a_key_both_apply(http: httpx.Client, one: str, headers: dict[str, str]) -> None:
    for _ in range(2):
        assert http.post(f"{one}/add", headers=headers, json=5).status_code == 200
    assert total(http, one) == 10


def test_f41_eight_starts_at_once_with_one_key_are_one_start_with_eight_equal_replies(http: httpx.Client, one: str) -> None:
    def start(_: int) -> tuple[int, str]:
        answer = post(http, f"{one}/start", 0.0, key="start")
        return answer.status_code, answer.text

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(start, range(8))) == {(204, "")}
    assert http.get(f"{one}/ankka:await", params={"timeout": 20}).status_code == 200
    assert journal_of(http, one) == ["started", "ended"]


def test_f41_eight_starts_without_a_key_are_one_start_and_seven_refusals(http: httpx.Client, one: str) -> None:
    def start(_: int) -> int:
        return post(http, f"{one}/start", 0.0).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = sorted(pool.map(start, range(8)))
    assert codes == [204] + [409] * 7


def test_f41_a_key_with_another_input_is_a_conflict(http: httpx.Client, one: str) -> None:
    post(http, f"{one}/add", 5, key="k1")
    is_problem(post(http, f"{one}/add", 6, key="k1"), 409, "CONFLICT", "idempotency key", "'add'", "another input", "nothing was done")
    assert total(http, one) == 5


def test_w15_a_key_with_another_handler_is_a_conflict(http: httpx.Client, one: str) -> None:
    post(http, f"{one}/bump", key="k1")
    is_problem(post(http, f"{one}/cancel", key="k1"), 409, "CONFLICT", "another input")
    assert total(http, one) == 1


@pytest.mark.parametrize(
    "again",
    [
        '{"tags": ["b", "a"], "prices": {"y": 2, "x": 1.0}, "note": null}',
        '{"prices":{"x":1,"y":2.0},"tags":["a","b","a"]}',
        '{"prices":{"x":1,"y":2.0},"tags":["a","b"],"unknown":"is left out"}',
    ],
)
def test_w15_inputs_are_compared_decoded(http: httpx.Client, one: str, again: str) -> None:
    first = post(http, f"{one}/order", content='{"tags":["a","b"],"prices":{"x":1.0,"y":2.0}}', key="k1")
    assert (first.status_code, first.text) == (200, "1")
    assert post(http, f"{one}/order", content=again, key="k1").text == "1"
    assert total(http, one) == 1


@pytest.mark.parametrize(
    "other", ['{"tags":["a"]}', '{"tags":["a","b"],"prices":{"x":1.5,"y":2.0}}', '{"tags":["a","b"],"prices":{"x":1.0,"y":2.0},"note":""}']
)
def test_w15_an_input_that_differs_when_decoded_is_another(http: httpx.Client, one: str, other: str) -> None:
    post(http, f"{one}/order", content='{"tags":["a","b"],"prices":{"x":1.0,"y":2.0}}', key="k1")
    is_problem(post(http, f"{one}/order", content=other, key="k1"), 409, "CONFLICT")
    assert total(http, one) == 1


def test_w15_text_and_json_are_the_same_input(http: httpx.Client, one: str) -> None:
    post(http, f"{one}/add", 5, key="k1")
    assert post(http, f"{one}/add", content="5", key="k1", kind="text/plain").text == "5"
    assert total(http, one) == 5


def test_w15_an_input_that_cannot_be_read_is_400_though_the_key_was_used(http: httpx.Client, one: str) -> None:
    post(http, f"{one}/add", 5, key="k1")
    is_problem(post(http, f"{one}/add", content="{", key="k1"), 400, "BAD_REQUEST")
    assert total(http, one) == 5


def test_w15_the_same_key_is_another_for_another_instance(http: httpx.Client, one: str, counter: str) -> None:
    post(http, f"{one}/add", 5, key="k1")
    assert post(http, f"{one}-other/add", 6, key="k1").text == "6"
    assert post(http, f"{counter}/count", 2, key="k1").text == "2"
    assert post(http, f"{counter}/count", 2, key="k1").text == "2"


def test_w15_a_refusal_is_not_recorded(http: httpx.Client, one: str) -> None:
    is_problem(post(http, f"{one}/refuse", "CONFLICT", key="k1"), 409, "CONFLICT", "refused with CONFLICT")
    is_problem(post(http, f"{one}/raise", key="k1"), 500, "INTERNAL")
    assert post(http, f"{one}/add", 5, key="k1").text == "5"
    assert journal_of(http, one) == ["updated"]


def test_w15_a_read_only_reply_is_not_recorded_and_a_query_has_no_key(http: httpx.Client, one: str) -> None:
    assert post(http, f"{one}/await", key="k1").json() == "my own await"
    assert post(http, f"{one}/add", 5, key="k1").text == "5"
    assert post(http, f"{one}/total", key="k1").text == "5"
    assert http.get(f"{one}/total", headers={"Idempotency-Key": "k1"}).text == "5"


def test_w15_a_recorded_reply_of_each_kind_comes_back_as_it_was(http: httpx.Client, one: str) -> None:
    assert [post(http, f"{one}/bump", key="done").status_code for _ in range(2)] == [204, 204]
    states = [post(http, f"{one}/keep-and-show", content="YmxvYg==", key="state") for _ in range(2)]
    assert states[0].status_code == 400, "bytes in JSON are a string"
    states = [post(http, f"{one}/keep-and-show", content='"YmxvYg=="', key="state") for _ in range(2)]
    assert states[0].status_code == 200
    assert states[0].json() == states[1].json()


def test_w15_replies_outlive_a_deletion(http: httpx.Client, one: str) -> None:
    assert post(http, f"{one}/add", 5, key="k1").text == "5"
    assert [post(http, f"{one}/remove", key="gone").status_code for _ in range(2)] == [204, 204]
    assert post(http, f"{one}/add", 5, key="k1").text == "5"
    assert total(http, one) == 0
    assert post(http, f"{one}/add", 7, key="k2").text == "7"
    assert [post(http, f"{one}/remove", key="gone").status_code for _ in range(2)] == [204, 204]
    assert total(http, one) == 7, "the key of a deletion is done"


@pytest.mark.parametrize(("value", "part"), [("k" * 256, "at most 255 bytes"), ("a\tb", "printable"), (b"\xff", "UTF-8")])
def test_a_key_that_cannot_be_is_400(http: httpx.Client, one: str, value: str | bytes, part: str) -> None:
    raw = value if isinstance(value, bytes) else value.encode()
    answer = http.post(f"{one}/add", headers=[(b"Idempotency-Key", raw), (b"Content-Type", b"application/json")], content=b"5")
    is_problem(answer, 400, "BAD_REQUEST", "Idempotency-Key", part)
    assert journal_of(http, one) == []


def test_two_keys_are_400_and_the_same_one_twice_is_one(http: httpx.Client, one: str) -> None:
    def keyed(*keys: str) -> httpx.Response:
        return http.post(f"{one}/add", headers=[*(("Idempotency-Key", key) for key in keys), ("Content-Type", JSON)], content=b"5")

    is_problem(keyed("k1", "k2"), 400, "BAD_REQUEST", "Idempotency-Key", "k1", "k2")
    assert keyed("k1", "k1").text == "5"
    assert total(http, one) == 5


@pytest.mark.parametrize("key", ["é", "a b c", "k" * 255, '"quoted"', "0"])
def test_any_printable_text_is_a_key(http: httpx.Client, one: str, key: str) -> None:
    for _ in range(2):
        headers = [(b"Idempotency-Key", key.encode()), (b"Content-Type", b"application/json")]
        assert http.post(f"{one}/add", headers=headers, content=b"5").text == "5"
    assert total(http, one) == 5


def test_operators_and_reads_ignore_a_key(http: httpx.Client, one: str) -> None:
    headers = {"Idempotency-Key": "k1"}
    assert http.get(f"{one}/ankka:lifecycle", headers=headers).status_code == 200
    assert http.get("/v1/instances", headers=headers).status_code == 200
    is_problem(http.request("DELETE", one, headers=headers), 404, "NOT_FOUND")


def test_w15_keys_outlive_the_sidecar_and_their_retention_ends(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(HANDLERS, sidecar)
    assert post(sidecar.http, "/v1/everything/a/add", 5, key="k1").text == "5"
    sidecar.kill()
    sidecar = programs.again(sidecar)
    sidecar.wait_until_ready()
    assert post(sidecar.http, "/v1/everything/a/add", 5, key="k1").text == "5"
    assert post(sidecar.http, "/v1/everything/a/add", 5, key="k2").text == "10"
    assert sidecar.stop() == 0
    short = _with_retention(programs, sidecar.port)
    assert post(short.http, "/v1/everything/a/add", 5, key="k1").text == "15", "its retention is over: done again"
    assert short.stop() == 0


def test_w15_a_call_whose_time_is_over_is_repeated_with_its_key(programs: Programs) -> None:  # F42
    sidecar = programs.sidecar("--call-timeout", "200ms")
    programs.process(HANDLERS, sidecar)
    late = post(sidecar.http, "/v1/everything/a/slow", 0.5, key="k1")
    is_problem(late, 504, "TIMEOUT", "no reply within 200 ms (call-timeout)")
    assert late.json()["details"] == {"outcome": "unknown"}
    wait_for(lambda: total(sidecar.http, "/v1/everything/a") == 1, "it was done all the same")
    assert post(sidecar.http, "/v1/everything/a/slow", 0.5, key="k1").status_code == 204
    assert total(sidecar.http, "/v1/everything/a") == 1
    assert sidecar.stop() == 0


def _with_retention(programs: Programs, port: int) -> Sidecar:
    sidecar = programs.sidecar("--http", f"127.0.0.1:{port}", "--idempotency-retention", "1ms")
    sidecar.wait_until_ready()
    return sidecar
