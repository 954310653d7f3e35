"""A process that hosts the tests' components, attached to a stub sidecar."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from ankka.definition.component import Component
from ankka.process.address import Address
from ankka.process.hosting import Hosting
from ankka.process.registry import Registry
from tests.unit.client.shop import CartEntity, Notes, OrderWorkflow
from tests.unit.client.stub_sidecar import WELCOME, StubSession, StubSidecar, stub_sidecar


@dataclass
class Hosted:
    hosting: Hosting
    notes: Notes
    stub: StubSidecar
    keeper: "asyncio.Task[None]"


@asynccontextmanager
async def hosted(*more: type[Component[Any]], welcome_grace: int = 5_000_000) -> AsyncGenerator[tuple[Hosted, StubSession]]:
    registry = Registry()
    hosts: list[type[Component[Any]]] = [OrderWorkflow, CartEntity, *more]
    for component in hosts:
        registry.add(component, None)
    async with stub_sidecar(msgspec.structs.replace(WELCOME, cancel_grace=welcome_grace)) as stub:
        address = Address.parse(stub.url)

        async def locate() -> Address:
            return address

        notes = Notes()
        hosting = Hosting(registry.checked(), locate, resources=notes, steps=10, threads=2)
        keeper = asyncio.create_task(hosting.run())
        try:
            yield Hosted(hosting, notes, stub, keeper), await stub.session()
        finally:
            notes.thread_gate.set()
            keeper.cancel()
            await asyncio.wait([keeper])
