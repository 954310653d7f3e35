"""`ankka.fastapi`: an application hosts components and calls them, over a real sidecar."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request

from ankka.client import WorkflowLifecycle
from ankka.codec import DONE, Done
from ankka.fastapi import Client, install_error_handlers, lifespan
from ankka.process.connection import SessionRejected
from ankka.service import Ankka, ServiceBuilder
from samples.checkout.cart import LineItem, ShoppingCart, ShoppingCartEntity
from samples.checkout.workflow import Checkout, CheckoutWorkflow
from tests.integration.support.programs import Programs


def service() -> ServiceBuilder:
    return Ankka.service().register(CheckoutWorkflow).register(ShoppingCartEntity)


def make_app(**more: Any) -> FastAPI:
    app = FastAPI(lifespan=lifespan(service(), **more))
    install_error_handlers(app)

    @app.post("/checkouts/{checkout_id}")
    async def start(checkout_id: str, client: Client) -> None:
        await client.for_workflow(CheckoutWorkflow, checkout_id).call(CheckoutWorkflow.start).invoke("ok")

    @app.get("/checkouts/{checkout_id}")
    async def status(checkout_id: str, client: Client) -> Checkout:
        return await client.for_workflow(CheckoutWorkflow, checkout_id).call(CheckoutWorkflow.status).invoke()

    @app.post("/carts/{cart_id}")
    async def add(cart_id: str, item: LineItem, client: Client) -> ShoppingCart:
        return await client.for_event_sourced_entity("shopping-cart", cart_id).call("add").invoke(item, reply=ShoppingCart)

    @app.post("/paused/{checkout_id}")
    async def pause(checkout_id: str, client: Client) -> Done:
        return await client.for_workflow("checkout", checkout_id).call("start").invoke("pause")

    @app.get("/lifecycles/{checkout_id}")
    async def lifecycle(checkout_id: str, client: Client) -> WorkflowLifecycle:
        return await client.for_workflow("checkout", checkout_id).lifecycle()

    @app.get("/either/{checkout_id}", response_model=None)
    async def either(checkout_id: str, client: Client) -> object:
        return [DONE, await client.for_workflow("checkout", checkout_id).lifecycle()]

    @app.get("/state")
    async def state(request: Request) -> str:
        name: str = request.state.name
        return name

    return app


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncGenerator[httpx.AsyncClient]:
    async with app.router.lifespan_context(app) as state:
        transport = httpx.ASGITransport(app if not state else _with_state(app, state))
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            yield client


def _with_state(app: FastAPI, state: Mapping[str, Any]) -> Any:
    async def with_state(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "state": dict(state)}, receive, send)

    return with_state


async def test_routes_call_the_components_the_application_hosts(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_SIDECAR", programs.sidecar().url)
    async with serving(make_app()) as app:
        assert (await app.post("/carts/c1", json={"productId": "book", "quantity": 2})).json()["items"] == [{"productId": "book", "quantity": 2}]
        assert (await app.post("/checkouts/c1")).status_code == 200
        assert (await app.get("/checkouts/c1")).json()["cartId"] == "c1"


async def test_a_route_may_return_a_lifecycle_and_done(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    sidecar = programs.sidecar()
    monkeypatch.setenv("ANKKA_SIDECAR", sidecar.url)
    async with serving(make_app()) as app, httpx.AsyncClient(base_url=sidecar.url, trust_env=False) as engine:
        started = await app.post("/paused/c1")
        assert (started.status_code, started.json()) == (200, None)
        assert (await engine.get("/v1/checkout/c1/ankka:await")).status_code == 200
        engines_own = (await engine.get("/v1/checkout/c1/ankka:lifecycle")).json()
        assert (await app.get("/lifecycles/c1")).json() == engines_own
        assert (await app.get("/either/c1")).json() == [None, engines_own]
        described = (await app.get("/openapi.json")).json()["paths"]
        said = described["/lifecycles/{checkout_id}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert said["properties"].keys() == engines_own.keys()
        assert said["properties"]["status"]["enum"] == ["NotStarted", "Running", "Paused", "Completed", "Failed"]
        assert described["/paused/{checkout_id}"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]["type"] == "null"


async def test_a_refusal_is_a_problem_with_the_codes_status(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_SIDECAR", programs.sidecar().url)
    async with serving(make_app()) as app:
        await app.post("/checkouts/c1")
        again = await app.post("/checkouts/c1")
        assert (again.status_code, again.headers["content-type"]) == (409, "application/problem+json")
        assert again.json()["code"] == "CONFLICT"
        assert again.json()["detail"].startswith("checkout is already ")


async def test_the_applications_own_lifespan_runs_inside(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_SIDECAR", programs.sidecar().url)
    happened: list[str] = []

    @asynccontextmanager
    async def own(app: FastAPI) -> AsyncGenerator[Mapping[str, Any]]:
        happened.append("opened")
        yield {"name": "shop"}
        happened.append("closed")

    async with serving(make_app(inner=own)) as app:
        assert (await app.get("/state")).json() == "shop"
        assert happened == ["opened"]
    assert happened == ["opened", "closed"]


async def test_a_service_that_is_refused_keeps_the_application_from_starting(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    sidecar = programs.sidecar()
    programs.process("samples.checkout", sidecar)
    monkeypatch.setenv("ANKKA_SIDECAR", sidecar.url)

    class Cart(CheckoutWorkflow):
        component_id = "shopping-cart"

    app = FastAPI(lifespan=lifespan(Ankka.service().register(Cart)))
    with pytest.raises(SessionRejected, match="'shopping-cart' is of the kind workflow here"):
        async with serving(app):
            pass


async def test_without_the_lifespan_a_route_says_what_is_missing() -> None:
    app = FastAPI()

    @app.get("/")
    async def root(client: Client) -> None:
        raise AssertionError(client)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        with pytest.raises(RuntimeError, match=r"make it with FastAPI\(lifespan=lifespan\(service\)\)"):
            await client.get("/")
