"""The documented checkout over HTTP, as a user calls it: charged, compensated, paused and resumed by its deadline."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import httpx
import pytest

from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.support.fixtures import started
from tests.integration.support.programs import wait_for


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A sidecar with `python -m samples.checkout`."""
    for programs in started(tmp_path_factory.mktemp("shop")):
        sidecar = programs.sidecar()
        programs.process("samples.checkout", sidecar)
        yield sidecar.http


def test_ok_is_charged_and_a_second_start_is_409(shop: httpx.Client) -> None:
    path = "/v1/checkout/c1"
    cart = shop.post("/v1/shopping-cart/c1/add", json={"productId": "p", "quantity": 3})
    assert cart.json() == {"cartId": "c1", "items": [{"productId": "p", "quantity": 3}], "checkedOut": False}
    assert shop.get(f"{path}/ankka:lifecycle").json()["status"] == "NotStarted"
    assert shop.get(f"{path}/status").json() == {"cartId": "c1", "status": "new", "mode": "ok", "reserved": 0}
    assert shop.post(f"{path}/start", content="ok", headers={"content-type": "text/plain"}).status_code == 204
    end = {"cartId": "c1", "status": "charged", "mode": "ok", "reserved": 3}
    assert shop.get(f"{path}/ankka:await").json() == end
    assert shop.get(f"{path}/status").json() == end
    assert shop.get(f"{path}/ankka:lifecycle").json()["status"] == "Completed"
    assert shop.get("/v1/shopping-cart/c1/get").json()["checkedOut"] is True
    is_problem(shop.post(f"{path}/start", json="ok"), 409, "CONFLICT", "checkout is already charged")
    assert journal_of(shop, path) == ["started", "transitioned", "ended"]
    items = shop.get("/v1/shopping-cart/c1/ankka:journal").json()["items"]
    assert [item["type"] for item in items] == ["ItemAdded", "CheckedOut"]


def test_fail_is_tried_twice_and_compensated(shop: httpx.Client) -> None:
    path = "/v1/checkout/c2"
    assert shop.post(f"{path}/start", json="fail").status_code == 204
    assert shop.get(f"{path}/ankka:await").json() == {"cartId": "c2", "status": "compensated", "mode": "fail", "reserved": 0}
    lifecycle = shop.get(f"{path}/ankka:lifecycle").json()
    assert (lifecycle["status"], lifecycle["retries"], lifecycle["failure"]) == ("Completed", {"charge": 1}, None)
    assert journal_of(shop, path) == ["started", "transitioned", "retried", "failed-over", "ended"]
    items = shop.get(f"{path}/ankka:journal").json()["items"]
    assert [(item["type"], item["step"], item["attempt"]) for item in items] == [
        ("started", "reserve", 1),
        ("transitioned", "charge", 1),
        ("retried", "charge", 2),
        ("failed-over", "charge", 2),
        ("ended", "compensate", 1),
    ]
    by_page = [shop.get(f"{path}/ankka:journal?limit=1&after={item['generation']}:{item['sequence']}").json()["items"] for item in items]
    assert [item for page in by_page for item in page] == items[1:]


def test_pause_is_resumed_by_its_deadline_after_1_5_s(shop: httpx.Client) -> None:
    path = "/v1/checkout/c3"
    assert shop.post(f"{path}/start", json="pause").status_code == 204
    wait_for(lambda: shop.get(f"{path}/ankka:lifecycle").json()["status"] == "Paused", "the pause")
    paused = shop.get(f"{path}/ankka:lifecycle").json()
    assert (paused["pendingStep"], paused["waitingFor"] is not None) == (None, True)
    assert shop.get(f"{path}/status").json()["status"] == "waiting"
    late = shop.get(f"{path}/ankka:await?timeout=0")
    is_problem(late, 504, "TIMEOUT", f"checkout/c3 has not ended within 0 s; it waits for {paused['waitingFor']}")
    assert [item["id"] for item in shop.get("/v1/instances?status=Paused").json()["items"]] == ["c3"]
    assert shop.get(f"{path}/ankka:await").json()["status"] == "charged"
    items = shop.get(f"{path}/ankka:journal").json()["items"]
    assert [item["type"] for item in items] == ["started", "transitioned", "paused", "resumed", "ended"]
    at = {item["type"]: datetime.fromisoformat(item["at"]) for item in items}
    assert datetime.fromisoformat(paused["pausedUntil"]) == datetime.fromisoformat(items[2]["detail"]["until"])
    assert 1.5 <= (at["resumed"] - at["paused"]).total_seconds() < 1.9
