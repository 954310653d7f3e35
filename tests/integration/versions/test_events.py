"""Events of another version: a class more, a field more; who gets which entity, and what one that cannot read it says."""

from tests.integration.support.programs import Programs
from tests.integration.versions.deploying import Deploying

MANY = 12
"""Calls enough that each of two processes would get some, if both were given them."""


def test_what_an_earlier_version_has_persisted_is_folded_by_a_later_one(deploying: Deploying) -> None:
    # F71: a class of events and a field more
    v1 = deploying.attach("stock_v1")
    assert deploying.post("stock/s/add", 5) == 5
    deploying.leave(v1)
    deploying.sidecar.kill()
    deploying.sidecar = deploying.programs.again(deploying.sidecar)
    deploying.attach("stock_v2")
    assert deploying.get("stock/s/version") == "v2 5"
    assert deploying.post("stock/s/remove", 2) == 3


def test_an_entity_that_the_newer_has_written_goes_to_the_newer_only(deploying: Deploying) -> None:
    deploying.attach("stock_v1")
    v2 = deploying.attach("stock_v2")
    assert deploying.post("stock/s/remove", 2) == -2
    assert {deploying.get("stock/s/version") for _ in range(MANY)} == {"v2 -2"}
    assert [deploying.post("stock/s/add", 1) for _ in range(MANY)] == list(range(-1, MANY - 1))
    deploying.leave(v2)
    assert deploying.get("stock/s/version") == f"v1 {MANY - 2}"  # it is resident: the state's form is the same


def test_an_event_that_cannot_be_read_is_named_and_stops_that_instance_only(deploying: Deploying, programs: Programs) -> None:
    # F63
    deploying.leave(deploying.attach("stock_v1"))  # the journal saw it first: it is the older one
    v2 = deploying.attach("stock_v2")
    assert deploying.post("stock/s/add", 5) == 5
    assert deploying.post("stock/s/remove", 2) == 3
    assert deploying.post("stock/t/add", 1) == 1
    deploying.leave(v2)
    deploying.sidecar.kill()
    deploying.sidecar = programs.again(deploying.sidecar)
    deploying.attach("stock_v1")
    unreadable = deploying.sidecar.http.get("/v1/stock/s/version")
    assert (unreadable.status_code, unreadable.json()["code"]) == (500, "INTERNAL")
    assert "the event at sequence 2 of stock/s cannot be read: $.type: expected one of 'Added', 'Counted'" in unreadable.json()["detail"]
    assert deploying.get("stock/t/version") == "v1 1"
    assert deploying.get("stock/s/ankka:lifecycle")["sequence"] == 2
    deploying.attach("stock_v2")
    assert deploying.get("stock/s/version") == "v2 3"
