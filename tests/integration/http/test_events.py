"""`ankka:events`: the journal as a stream, first what is there, then what becomes durable."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.http.conftest import is_problem
from tests.integration.http.streams import stream_of
from tests.integration.http.wire import exchange


def test_what_is_there_comes_first_and_then_what_happens(http: httpx.Client, one: str) -> None:
    http.post(f"{one}/add", json=1)
    http.post(f"{one}/add", json=2)
    with stream_of(http, one) as stream:
        assert [event.at for event in stream.take(2)] == [(1, "updated"), (2, "updated")]
        http.post(f"{one}/start", json=0.1)
        assert [event.at for event in stream.take(2)] == [(3, "started"), (4, "ended")]
        assert stream.comments == 1
    with stream_of(http, one) as stream:
        events = stream.take(4)
    journal = http.get(f"{one}/ankka:journal").json()["items"]
    assert [event.item for event in events] == journal
    assert [event.id for event in events] == [f"{item['generation']}:{item['sequence']}" for item in journal]
    assert [event.type for event in events] == [item["type"] for item in journal]


def test_a_stream_goes_on_behind_the_last_event_and_gets_it_no_second_time(http: httpx.Client, one: str) -> None:
    for amount in range(4):
        http.post(f"{one}/add", json=amount)
    with stream_of(http, one) as stream:
        ids = [event.id for event in stream.take(4)]
    for place in range(4):
        http.post(f"{one}/add", json=place)
        for given in ({"last": ids[place]}, {"after": ids[place]}, {"last": ids[place], "after": ids[0]}):
            with stream_of(http, one, **given) as stream:
                assert [event.at[0] for event in stream.take(4)] == [place + 2, place + 3, place + 4, place + 5]
    with stream_of(http, one, last="", after=ids[1]) as stream:  # an empty one is none
        assert stream.next().at[0] == 3


def test_events_of_one_effect_have_places_of_their_own(http: httpx.Client, counter: str) -> None:
    for times in (1, 3, 2):
        http.post(f"{counter}/count", json=times)
    with stream_of(http, counter) as stream:
        events = stream.take(6)
    generation = events[0].item["generation"]
    places = [place.removeprefix(f"{generation}:") for place in (event.id for event in events)]
    assert places == ["1", "2:1", "2:2", "2", "3:1", "3"]
    assert {event.type for event in events} == {"counted"}
    http.post(f"{counter}/count", json=1)
    for number, event in enumerate(events, 1):
        with stream_of(http, counter, last=event.id) as stream:
            assert stream.take(6 - number) == events[number:]
            assert stream.next().at == (4, "counted")


def test_the_stream_of_an_unknown_instance_begins_when_it_does(http: httpx.Client, one: str, counter: str) -> None:
    with stream_of(http, one) as workflow, stream_of(http, counter) as entity:
        http.post(f"{one}/add", json=1)
        http.post(f"{counter}/count", json=1)
        assert workflow.next().at == (1, "updated")
        assert entity.next().at == (1, "counted")


def test_a_stream_goes_on_over_a_later_run_and_a_deletion(http: httpx.Client, one: str) -> None:
    with stream_of(http, one) as stream:
        http.post(f"{one}/rest", json=0)
        assert [event.at for event in stream.take(2)] == [(1, "started"), (2, "ended")]
        http.post(f"{one}/rest", json=0)
        again = stream.take(2)
        assert [(*event.at, event.item["run"]) for event in again] == [(3, "started", 2), (4, "ended", 2)]
        assert http.delete(one).status_code == 204
        assert stream.next().at == (5, "deleted")
        http.post(f"{one}/add", json=1)
        reborn = stream.next()
        assert reborn.at == (1, "updated")
        assert reborn.item["generation"] > again[0].item["generation"]


def test_many_events_come_in_order_and_each_once(http: httpx.Client, counter: str) -> None:
    for _ in range(30):
        http.post(f"{counter}/count", json=97)
    with stream_of(http, counter) as stream:
        ids = [event.id for event in stream.take(30 * 97)]
        http.post(f"{counter}/count", json=1)
        assert stream.next().at[0] == 31
    assert len(set(ids)) == 30 * 97
    with stream_of(http, counter, last=ids[1_000]) as stream:
        assert [event.id for event in stream.take(30 * 97 - 1_001)] == ids[1_001:]


@pytest.mark.parametrize("place", ["1", "a:b", "1:2:3:4", "1:-2", "1;2", "null", "\u0661:\u0662"])
def test_a_last_event_id_that_is_no_place_is_400(http: httpx.Client, one: str, place: str) -> None:
    http.post(f"{one}/add", json=1)
    answer = http.get(f"{one}/ankka:events", headers=[(b"Last-Event-ID", place.encode())])
    is_problem(answer, 400, "BAD_REQUEST", "Last-Event-ID='", "is not a place in a journal; use the 'id' of an event")
    is_problem(http.get(f"{one}/ankka:events", params={"after": place}), 400, "BAD_REQUEST", "after=", "is not a place in a journal")


def test_what_a_stream_cannot_be_asked(http: httpx.Client, one: str) -> None:
    is_problem(http.get(f"{one}/ankka:events?limit=3"), 400, "BAD_REQUEST", "'limit'")
    twice = exchange(http, f"GET {one}/ankka:events", headers="Last-Event-ID: 1:1\r\nLast-Event-ID: 1:2\r\n")
    is_problem(twice, 400, "BAD_REQUEST", "two Last-Event-ID headers")
    for method in ("POST", "PUT", "DELETE"):
        answer = http.request(method, f"{one}/ankka:events")
        is_problem(answer, 405, "BAD_REQUEST", "'ankka:events' is read with GET")
    head = http.head(f"{one}/ankka:events")
    assert (head.status_code, head.headers["allow"]) == (405, "GET")
    is_problem(http.get("/v1/nothing/i1/ankka:events"), 404, "NOT_FOUND", "there is no component 'nothing'")
    is_problem(http.get("/v1/everything/%00/ankka:events"), 400, "BAD_REQUEST")
    is_problem(http.get(f"{one}/ankka:events", headers={"Host": "example.org"}), 403, "FORBIDDEN")
    is_problem(http.get(f"{one}/ankka:events", headers={"Origin": "http://example.org"}), 403, "FORBIDDEN")
