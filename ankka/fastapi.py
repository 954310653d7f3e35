"""Ankka in a FastAPI application: the process hosts components while the application runs, and its routes call them.

    service = Ankka.service().register(CheckoutWorkflow)
    app = FastAPI(lifespan=lifespan(service))
    install_error_handlers(app)

    @app.post("/checkouts/{id}")
    async def start(id: str, client: Client) -> None:
        await client.for_workflow("checkout", id).call("start").invoke("ok")

Only this module knows FastAPI; it comes with `ankka-engine[fastapi]`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from fastapi import Depends, FastAPI, Request, Response
from fastapi.encoders import ENCODERS_BY_TYPE
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from ankka.client import ComponentClient, WorkflowLifecycle
from ankka.codec import Done
from ankka.command_error import CommandError
from ankka.service import ServiceBuilder

__all__ = ["Client", "component_client", "install_error_handlers", "lifespan"]

ATTACHED_WITHIN = 5.0
"""Seconds the application's start waits for the sidecar; after that it serves, and calls wait for themselves."""

logger: logging.Logger = logging.getLogger("ankka")

ENCODERS_BY_TYPE.update({WorkflowLifecycle: msgspec.to_builtins, Done: lambda _: None})  # for routes that do not say what they return

Inner = Callable[[FastAPI], AbstractAsyncContextManager[Mapping[str, Any] | None]]


def lifespan(service: ServiceBuilder, *, inner: Inner | None = None) -> Callable[[FastAPI], AbstractAsyncContextManager[Mapping[str, Any]]]:
    """The lifespan of an application that hosts `service`: it attaches at start, and drains when the application stops.

    `inner` is the application's own lifespan, entered while the service runs; what it yields is the application's state.
    With several workers each is a process of the service. If the sidecar refuses the service, the start fails with all
    its reasons; if it does not answer, the application starts all the same and the service keeps trying.

    >>> from ankka.service import Ankka
    >>> app = FastAPI(lifespan=lifespan(Ankka.service()))
    """

    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncGenerator[Mapping[str, Any]]:
        async with service.running() as running:
            try:
                async with asyncio.timeout(ATTACHED_WITHIN):
                    await running.attached()
            except TimeoutError:
                logger.warning("the sidecar has not answered for %g s; the application starts without it", ATTACHED_WITHIN)
            app.state.ankka_client = running.client
            if inner is None:
                yield {}
            else:
                async with inner(app) as state:
                    yield state or {}

    return run


def component_client(connection: HTTPConnection) -> ComponentClient:
    """The component client of the application a request (or WebSocket) came to; for `Depends`, and by hand."""
    client = getattr(connection.app.state, "ankka_client", None)
    if client is None:
        raise RuntimeError("this application hosts no service: make it with FastAPI(lifespan=lifespan(service))")
    assert isinstance(client, ComponentClient)
    return client


Client = Annotated[ComponentClient, Depends(component_client)]
"""The type of a route's parameter that wants the component client."""


def install_error_handlers(app: FastAPI) -> None:
    """Let a refusal that a route does not catch be answered as the sidecar would: a problem with the code's status."""
    app.add_exception_handler(CommandError, _on_refusal)


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, CommandError)
    refused = error.error
    status = refused.code.http_status
    document: dict[str, Any] = {
        "type": f"urn:ankka:error:{refused.code.lower().replace('_', '-')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": refused.message,
        "code": str(refused.code),
    }
    if refused.details:
        document["details"] = refused.details
    return JSONResponse(document, status, media_type="application/problem+json")
