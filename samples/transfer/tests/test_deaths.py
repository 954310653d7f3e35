"""Faults, restarts and kills between a call and the end of its step: the money moves once all the same."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ankka.effects.workflow import WorkflowStepEffect
from ankka.service import Ankka
from ankka.testkit import IntegrationTestKit
from ankka.workflow import step
from samples.transfer.wallet import WalletEntity
from samples.transfer.workflow import Transfer, TransferState, TransferWorkflow

pytestmark = pytest.mark.slow

RENT = Transfer("ada", "bob", 300)


class Held:
    """Holds a step back when its wallet has answered and the step has not yet."""

    def __init__(self) -> None:
        self.at: set[str] = set()
        self.faults = 0
        self.attempts: list[tuple[str, int]] = []
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    def runs_of(self, name: str) -> int:
        """How often the step came by."""
        return sum(1 for passed, _ in self.attempts if passed == name)

    async def pass_by(self, name: str, attempt: int) -> None:
        """Where a step is between its call and its end."""
        self.attempts.append((name, attempt))
        if name in self.at:
            self.at.discard(name)
            self.reached.set()
            await self.released.wait()
        if name == "deposit" and attempt <= self.faults:
            raise RuntimeError("the answer was lost")


class HeldTransfer(TransferWorkflow):
    """The transfer as it is, held back as the test says."""

    @step("withdraw")
    async def withdraw(self, transfer: Transfer) -> WorkflowStepEffect[TransferState]:
        effect = await super().withdraw(transfer)
        await self.context.resources.pass_by("withdraw", self.context.attempt)
        return effect

    @step("deposit")
    async def deposit(self, transfer: Transfer) -> WorkflowStepEffect[TransferState]:
        effect = await super().deposit(transfer)
        await self.context.resources.pass_by("deposit", self.context.attempt)
        return effect

    @step("compensate")
    async def compensate(self) -> WorkflowStepEffect[TransferState]:
        effect = await super().compensate()
        await self.context.resources.pass_by("compensate", self.context.attempt)
        return effect


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
async def kit(held: Held) -> AsyncGenerator[IntegrationTestKit]:
    """The service with steps that can be held back, and two wallets with 1,000 cents and none."""

    @asynccontextmanager
    async def resources() -> AsyncGenerator[Held]:
        yield held

    service = Ankka.service(lifespan=resources).register(HeldTransfer).register(WalletEntity)
    async with IntegrationTestKit.start(service) as kit:
        for wallet in ("ada", "bob"):
            await kit.client.for_event_sourced_entity(WalletEntity, wallet).call(WalletEntity.open).invoke()
        await kit.client.for_event_sourced_entity(WalletEntity, "ada").call(WalletEntity.deposit).invoke(1000)
        yield kit


async def moved(kit: IntegrationTestKit) -> tuple[str, list[int], dict[str, list[str]]]:
    """How the transfer ended, what is in the wallets, and what was done with each of them."""
    end = await kit.client.for_workflow(HeldTransfer, "t1").await_end(reply=TransferState)
    wallets = ("ada", "bob")
    balances = [await kit.client.for_event_sourced_entity(WalletEntity, wallet).call(WalletEntity.balance).invoke() for wallet in wallets]
    done: dict[str, list[Any]] = {wallet: [entry.type for entry in await kit.journal_of(WalletEntity, wallet)] for wallet in wallets}
    return end.status, balances, done


ONCE = ("completed", [700, 300], {"ada": ["Opened", "Deposited", "Withdrawn"], "bob": ["Opened", "Deposited"]})


async def start(kit: IntegrationTestKit) -> None:
    await kit.client.for_workflow(HeldTransfer, "t1").call(HeldTransfer.start).invoke(RENT)


async def test_a_deposit_that_is_tried_again_goes_in_once(kit: IntegrationTestKit, held: Held) -> None:
    # W16
    held.faults = 1
    await start(kit)
    assert await moved(kit) == ONCE
    assert held.attempts == [("withdraw", 1), ("deposit", 1), ("deposit", 2)]


@pytest.mark.parametrize("name", ["withdraw", "deposit"])
async def test_a_sidecar_killed_between_the_call_and_the_end_of_its_step(kit: IntegrationTestKit, held: Held, name: str) -> None:
    # W16, I3: the running attempt goes on, and brings its result to the next sidecar
    held.at = {name}
    await start(kit)
    await held.reached.wait()
    await kit.kill_sidecar()
    held.released.set()
    assert await moved(kit) == ONCE
    assert held.attempts == [("withdraw", 1), ("deposit", 1)]


@pytest.mark.parametrize("name", ["withdraw", "deposit"])
async def test_everything_restarted_between_the_call_and_the_end_of_its_step(kit: IntegrationTestKit, held: Held, name: str) -> None:
    # W11, W16: the step runs again, no retry is used, the wallet is not called again
    held.at = {name}
    await start(kit)
    await held.reached.wait()
    await kit.restart()
    assert await moved(kit) == ONCE
    assert held.runs_of(name) == 2
    lifecycle = await kit.client.for_workflow(HeldTransfer, "t1").lifecycle()
    assert lifecycle.retries == {}


async def test_a_compensation_that_is_interrupted_puts_the_money_back_once(kit: IntegrationTestKit, held: Held) -> None:
    # W16
    held.at = {"compensate"}
    await kit.client.for_workflow(HeldTransfer, "t1").call(HeldTransfer.start).invoke(Transfer("ada", "nobody", 300))
    await held.reached.wait()
    await kit.restart()
    status, balances, done = await moved(kit)
    assert (status, balances) == ("compensated", [1000, 0])
    assert done["ada"] == ["Opened", "Deposited", "Withdrawn", "Deposited"]
    assert held.runs_of("compensate") == 2
