"""The application: `uvicorn samples.transfer.app:app`. It hosts the service and puts routes of its own before it.

A refusal of a handler is not caught here: `install_error_handlers` answers it with its code's status, 409 for `CONFLICT`.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Header

from ankka.fastapi import Client, install_error_handlers, lifespan
from samples.transfer.service import service
from samples.transfer.wallet import WalletEntity
from samples.transfer.workflow import Transfer, TransferState, TransferWorkflow

app = FastAPI(title="Money transfers", lifespan=lifespan(service))
install_error_handlers(app)

IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", pattern="^[ -~]{1,255}$")]


@dataclass(frozen=True)
class Amount:
    """An amount in cents."""

    amount: int


@dataclass(frozen=True)
class WalletView:
    """A wallet as its owner sees it."""

    wallet_id: str
    balance: int


@dataclass(frozen=True)
class LifecycleView:
    """The engine's own view of a transfer: whether it still runs, at which step, and why it failed if it did."""

    status: str
    step: str | None
    retries: dict[str, int]
    failure: str | None


@app.post("/transfers/{transfer_id}", status_code=202)
async def start_transfer(transfer_id: str, transfer: Transfer, client: Client, idempotency_key: IdempotencyKey = None) -> None:
    """Start it. Who gets this answer knows that it will run, whatever dies meanwhile; who gets none asks again, with the same key."""
    start = client.for_workflow(TransferWorkflow, transfer_id).call(TransferWorkflow.start)
    await start.with_idempotency_key(idempotency_key).invoke(transfer)


@app.get("/transfers/{transfer_id}")
async def transfer_status(transfer_id: str, client: Client) -> TransferState:
    """What the transfer has decided so far."""
    return await client.for_workflow(TransferWorkflow, transfer_id).call(TransferWorkflow.status).invoke()


@app.get("/transfers/{transfer_id}/lifecycle")
async def transfer_lifecycle(transfer_id: str, client: Client) -> LifecycleView:
    """Whether the engine still runs it."""
    lifecycle = await client.for_workflow(TransferWorkflow, transfer_id).lifecycle()
    return LifecycleView(lifecycle.status, lifecycle.step, lifecycle.retries, lifecycle.failure)


@app.post("/wallets/{wallet_id}", status_code=201)
async def open_wallet(wallet_id: str, client: Client) -> WalletView:
    """Open an empty wallet."""
    await client.for_event_sourced_entity(WalletEntity, wallet_id).call(WalletEntity.open).invoke()
    return WalletView(wallet_id, 0)


@app.post("/wallets/{wallet_id}/deposits")
async def deposit(wallet_id: str, deposited: Amount, client: Client, idempotency_key: IdempotencyKey = None) -> WalletView:
    """Put money in from outside. With an `Idempotency-Key` it goes in once, however often the request is sent."""
    call = client.for_event_sourced_entity(WalletEntity, wallet_id).call(WalletEntity.deposit)
    balance = await call.with_idempotency_key(idempotency_key).invoke(deposited.amount)
    return WalletView(wallet_id, balance)


@app.get("/wallets/{wallet_id}")
async def wallet(wallet_id: str, client: Client) -> WalletView:
    """What is in it."""
    balance = await client.for_event_sourced_entity(WalletEntity, wallet_id).call(WalletEntity.balance).invoke()
    return WalletView(wallet_id, balance)
