"""F70, for classes: what the journal holds under old names is read by who says what they were, and fails nobody else's runs."""

from __future__ import annotations

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.support.programs import Programs, Sidecar, wait_for

V1, V2 = "tests.integration.payloads.names_v1", "tests.integration.payloads.names_v2"


def written_by_v1(programs: Programs) -> Sidecar:
    """A sidecar, started again, whose journal holds a paused order and a shelf; no process is attached."""
    sidecar = programs.sidecar("--attach-wait", "200ms")
    process = programs.process(V1, sidecar)
    assert sidecar.http.post("/v1/order/o/pay", json=3).status_code == 204
    for handler, label in (("put", "a"), ("put", "b"), ("drop", "a")):
        assert sidecar.http.post(f"/v1/shelf/s/{handler}", json=label).status_code == 204
    wait_for(lambda: sidecar.http.get("/v1/order/o/ankka:lifecycle").json()["status"] == "Paused", "the pause")
    assert sidecar.http.get("/v1/order/o/state").json() == "v1 Paid(item='book', amount=3)"
    process.stop()
    sidecar.kill()
    return programs.again(sidecar)


def test_old_names_are_read_by_aliases_and_written_no_more(programs: Programs) -> None:  # F70
    sidecar = written_by_v1(programs)
    process = programs.process(V2, sidecar)
    assert sidecar.http.get("/v1/order/o/state").json() == "v2 Settled(item='book', amount=3)"
    assert sidecar.http.get("/v1/shelf/s/labels").json() == ["b"]
    assert sidecar.http.post("/v1/shelf/s/put", json="c").status_code == 204
    assert sidecar.http.post("/v1/order/o/pay", json=4).status_code == 204
    process.stop()
    sidecar.kill()
    sidecar = programs.again(sidecar)
    programs.process(V2, sidecar)
    assert sidecar.http.get("/v1/order/o/state").json() == "v2 Settled(item='pen', amount=4)"
    assert sidecar.http.get("/v1/shelf/s/labels").json() == ["b", "c"]


def test_a_forgotten_name_is_said_fails_nothing_and_can_be_mended(programs: Programs) -> None:  # F70
    sidecar = written_by_v1(programs)
    forgetful = programs.process(V2, sidecar, {"FORGOT": "1"})
    said = "expected one of 'Basket', 'Settled', got str 'Paid'"
    is_problem(sidecar.http.get("/v1/order/o/state"), 500, "INTERNAL", "the state of order/o cannot be read", "$.type", said)
    is_problem(sidecar.http.post("/v1/order/o/pay", json=9), 500, "INTERNAL", said)
    is_problem(sidecar.http.get("/v1/shelf/s/labels"), 500, "INTERNAL", "the event at sequence 1 of shelf/s", "'Added', 'removed', got str 'Put'")
    assert sidecar.http.get("/v1/order/o/ankka:lifecycle").json()["status"] == "Paused"
    assert journal_of(sidecar.http, "/v1/order/o") == ["started", "paused"]
    assert sidecar.http.get("/v1/order/new/state").json() == "v2 Basket(item='')"
    forgetful.stop()
    programs.process(V2, sidecar)
    assert sidecar.http.get("/v1/order/o/state").json() == "v2 Settled(item='book', amount=3)"
    assert sidecar.http.get("/v1/shelf/s/labels").json() == ["b"]
