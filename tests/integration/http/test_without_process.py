"""No process attached: what waits, what is answered anyway, and what changes once one is there (W13). F43"""

from __future__ import annotations

import threading
import time

import httpx

from tests.integration.http.conftest import HANDLERS, is_problem, journal_of
from tests.integration.http.wire import connected
from tests.integration.support.programs import Programs, Sidecar, wait_for

SAMPLE = "/v1/everything/x"


def in_background(sidecar: Sidecar, method: str, path: str, **rest: object) -> tuple[threading.Thread, list[httpx.Response]]:
    answers: list[httpx.Response] = []

    def ask() -> None:
        with httpx.Client(base_url=sidecar.url, timeout=40, trust_env=False) as http:
            answers.append(http.request(method, path, **rest))  # type: ignore[arg-type]

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, answers


def test_calls_wait_attach_wait_and_are_503_then(programs: Programs) -> None:
    http = programs.sidecar("--attach-wait", "500ms").http
    for method, handler in (("POST", "add"), ("GET", "total"), ("POST", "no-such")):
        began = time.monotonic()
        answer = http.request(method, f"{SAMPLE}/{handler}", content=b"1" if handler == "add" else b"")
        is_problem(answer, 503, "UNAVAILABLE", "no process that runs 'everything' is attached", "nothing was done within", "(attach-wait)")
        assert answer.headers["retry-after"] == "1"
        assert 0.4 < time.monotonic() - began < 5
    is_problem(http.get("/readyz"), 503, "UNAVAILABLE", "no process is attached")
    assert http.get("/healthz").json()["processes"] == 0
    assert http.get("/v1/instances").json() == {"items": [], "next": None}


def test_what_is_wrong_in_itself_is_refused_without_waiting(programs: Programs) -> None:
    http = programs.sidecar("--attach-wait", "60s").http
    is_problem(http.post(f"/v1/everything/{'x' * 600}/add", json=1), 400, "BAD_REQUEST", "600 bytes")
    is_problem(http.post(f"{SAMPLE}/add", content=b"1", headers={"content-type": "a/b"}), 415, "BAD_REQUEST", "application/json")
    is_problem(http.put(f"{SAMPLE}/add"), 405, "BAD_REQUEST")
    is_problem(http.get(f"{SAMPLE}/ankka:nothing"), 404, "NOT_FOUND")
    is_problem(http.get(f"{SAMPLE}/ankka:lifecycle"), 503, "UNAVAILABLE", "'everything'")
    is_problem(http.get(f"{SAMPLE}/ankka:journal"), 503, "UNAVAILABLE", "'everything'")


def test_calls_that_wait_are_done_when_a_process_attaches(programs: Programs) -> None:
    sidecar = programs.sidecar("--attach-wait", "30s")
    waiting = [
        in_background(sidecar, "POST", f"{SAMPLE}/add", json=5),
        in_background(sidecar, "GET", f"{SAMPLE}/greet"),
        in_background(sidecar, "POST", f"{SAMPLE}/no-such"),
        in_background(sidecar, "POST", "/v1/no-such/x/add"),
        in_background(sidecar, "GET", f"{SAMPLE}/cancel"),
        in_background(sidecar, "POST", f"{SAMPLE}/echo-square", content=b"a", headers={"content-type": "text/plain"}),
        in_background(sidecar, "POST", f"{SAMPLE}/total", content=b"1"),
        in_background(sidecar, "POST", f"{SAMPLE}/add"),
    ]
    programs.process(HANDLERS, sidecar)
    for thread, _ in waiting:
        thread.join(40)
    added, greeted, handler, component, command, text, body, empty = [answers[0] for _, answers in waiting]
    assert (added.json(), greeted.json()) == (5, "hello world")
    is_problem(handler, 404, "NOT_FOUND", "'no-such'")
    is_problem(component, 404, "NOT_FOUND", "'no-such'")
    is_problem(command, 405, "BAD_REQUEST", "'cancel' is a command")
    assert command.headers["allow"] == "POST"
    is_problem(text, 415, "BAD_REQUEST", "application/json")
    is_problem(body, 400, "BAD_REQUEST", "'total' takes no input")
    is_problem(empty, 400, "BAD_REQUEST", "'add'")
    assert journal_of(sidecar.http, SAMPLE) == ["updated"]


def test_a_call_whose_client_has_left_is_not_done_when_a_process_attaches(programs: Programs) -> None:
    sidecar = programs.sidecar("--attach-wait", "30s")
    with connected(sidecar.http) as wire:
        wire.request(f"POST {SAMPLE}/add", b"1000")
        assert sidecar.http.get("/healthz").status_code == 200  # answered after what came before it was read
    thread, answers = in_background(sidecar, "POST", f"{SAMPLE}/add", json=1)
    programs.process(HANDLERS, sidecar)
    thread.join(40)
    assert answers[0].json() == 1


def test_the_lifecycle_and_the_journal_need_no_process(programs: Programs) -> None:
    sidecar = programs.sidecar()
    process = programs.process(HANDLERS, sidecar)
    http = sidecar.http
    http.post(f"{SAMPLE}/start", json=0)
    http.post("/v1/counter/x/count", json=1)
    end = http.get(f"{SAMPLE}/ankka:await").json()
    before = [http.get(f"{path}/ankka:{name}").json() for path in (SAMPLE, "/v1/counter/x") for name in ("lifecycle", "journal")]
    assert process.stop() == 0
    wait_for(lambda: http.get("/healthz").json()["processes"] == 0, "the process's end")
    assert before == [http.get(f"{path}/ankka:{name}").json() for path in (SAMPLE, "/v1/counter/x") for name in ("lifecycle", "journal")]

    assert sidecar.stop() == 0
    again = programs.again(sidecar).http
    for path in ("/v1/everything/never", "/v1/counter/never"):  # ids never seen, of components that only the journal knows
        assert again.get(f"{path}/ankka:lifecycle").json()["status"] in ("NotStarted", "Empty")
        assert again.get(f"{path}/ankka:journal").json() == {"items": [], "next": None}
    assert before == [again.get(f"{path}/ankka:{name}").json() for path in (SAMPLE, "/v1/counter/x") for name in ("lifecycle", "journal")]
    assert again.get(f"{SAMPLE}/ankka:await?timeout=0").json() == end
    is_problem(again.get("/v1/counter/x/ankka:await"), 400, "BAD_REQUEST", "is an entity")
    is_problem(again.get("/v1/neither/x/ankka:lifecycle"), 503, "UNAVAILABLE", "'neither'")


def test_a_process_that_is_killed_and_comes_back(programs: Programs) -> None:
    sidecar = programs.sidecar("--attach-wait", "300ms", "--cancel-grace", "500ms")
    process = programs.process(HANDLERS, sidecar)
    assert sidecar.http.post(f"{SAMPLE}/add", json=1).json() == 1
    process.kill()
    is_problem(sidecar.http.post(f"{SAMPLE}/add", json=1), 503, "UNAVAILABLE", "try again")
    is_problem(sidecar.http.get("/readyz"), 503, "UNAVAILABLE", "no process")
    programs.process(HANDLERS, sidecar)
    assert sidecar.http.post(f"{SAMPLE}/add", json=1).json() == 2


def test_a_command_is_cut_off_by_the_death_of_its_process_and_left_nothing(programs: Programs) -> None:
    sidecar = programs.sidecar("--cancel-grace", "500ms")
    process = programs.process(HANDLERS, sidecar)
    thread, answers = in_background(sidecar, "POST", f"{SAMPLE}/slow", json=30)
    process.wait_for_output("slow x begins")
    process.kill()
    thread.join(20)
    is_problem(answers[0], 503, "UNAVAILABLE")
    assert journal_of(sidecar.http, SAMPLE) == []


def test_sigterm_answers_who_waits_and_ends_at_once(programs: Programs) -> None:
    sidecar = programs.sidecar("--drain", "1s", "--attach-wait", "60s")
    with connected(sidecar.http) as early:
        early.request("GET /v1/nothing/x/total")
        assert sidecar.http.get("/healthz").status_code == 200  # answered after what came before it was read
        began = time.monotonic()
        assert sidecar.stop() == 0
        is_problem(early.answer(), 503, "UNAVAILABLE", "stop")
    sidecar = programs.sidecar("--drain", "1s")
    programs.process(HANDLERS, sidecar)
    with connected(sidecar.http) as waiting:
        waiting.request(f"GET {SAMPLE}/ankka:await?timeout=60")
        assert sidecar.http.get(f"{SAMPLE}/ankka:lifecycle").status_code == 200
        began = time.monotonic()
        assert sidecar.stop() == 0
        is_problem(waiting.answer(), 503, "UNAVAILABLE", "stop")
    assert time.monotonic() - began < 4
    assert "Traceback" not in sidecar.output


def test_sigterm_lets_a_command_that_runs_finish(programs: Programs) -> None:
    sidecar = programs.sidecar("--drain", "10s")
    process = programs.process(HANDLERS, sidecar)
    with connected(sidecar.http) as wire:
        wire.request(f"POST {SAMPLE}/slow", b"1")
        process.wait_for_output("slow x begins")
        assert sidecar.stop() == 0
        assert wire.answer().status_code == 204
    again = programs.again(sidecar)
    again.wait_until_ready()
    assert again.http.get(f"{SAMPLE}/total").json() == 1
