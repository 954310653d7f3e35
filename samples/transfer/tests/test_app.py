"""The application over a real sidecar: what its routes answer, and where the money is in the end."""

from typing import Any

import httpx
import pytest

from ankka.client import CommandError
from ankka.effects.common import ErrorCode
from ankka.testkit import IntegrationTestKit
from samples.transfer.workflow import Transfer, TransferState, TransferWorkflow

pytestmark = pytest.mark.slow

RENT = {"from_wallet": "ada", "to_wallet": "bob", "amount": 300}


async def open_wallet(http: httpx.AsyncClient, wallet: str, balance: int) -> None:
    """Open a wallet and put money in."""
    assert (await http.post(f"/wallets/{wallet}")).status_code == 201
    if balance:
        answer = await http.post(f"/wallets/{wallet}/deposits", json={"amount": balance})
        assert answer.json() == {"wallet_id": wallet, "balance": balance}


async def balances(http: httpx.AsyncClient, *wallets: str) -> list[int]:
    """What is in each of these wallets."""
    return [(await http.get(f"/wallets/{wallet}")).json()["balance"] for wallet in wallets]


async def end_of(kit: IntegrationTestKit, transfer: str) -> TransferState:
    """What became of a transfer, once it has ended."""
    return await kit.client.for_workflow(TransferWorkflow, transfer).await_end(reply=TransferState)


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and text of a problem."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    return answer.status_code, problem["code"], problem["detail"]


async def test_the_money_is_moved(kit: IntegrationTestKit, http: httpx.AsyncClient) -> None:
    await open_wallet(http, "ada", 1000)
    await open_wallet(http, "bob", 0)
    assert (await http.post("/transfers/t1", json=RENT)).status_code == 202
    assert await end_of(kit, "t1") == TransferState(Transfer("ada", "bob", 300), "completed")
    assert await balances(http, "ada", "bob") == [700, 300]
    assert (await http.get("/transfers/t1")).json() == {"transfer": RENT, "status": "completed"}
    assert (await http.get("/transfers/t1/lifecycle")).json() == {"status": "Completed", "step": None, "retries": {}, "failure": None}


async def test_what_was_not_started_says_so(http: httpx.AsyncClient) -> None:
    assert (await http.get("/transfers/t1")).json() == {"transfer": None, "status": "not-started"}
    assert (await http.get("/transfers/t1/lifecycle")).json()["status"] == "NotStarted"


async def test_a_deposit_that_is_refused_twice_is_compensated(kit: IntegrationTestKit, http: httpx.AsyncClient) -> None:
    await open_wallet(http, "ada", 1000)
    await http.post("/transfers/t1", json={**RENT, "to_wallet": "nobody"})
    assert (await end_of(kit, "t1")).status == "compensated"
    assert await balances(http, "ada") == [1000]
    assert (await http.get("/transfers/t1/lifecycle")).json() == {"status": "Completed", "step": None, "retries": {"deposit": 1}, "failure": None}
    rows = [entry.type for entry in await kit.journal_of(TransferWorkflow, "t1")]
    assert rows == ["started", "transitioned", "retried", "failed-over", "ended"]
    moves = [entry.type for entry in await kit.journal_of("wallet", "ada")]
    assert moves == ["Opened", "Deposited", "Withdrawn", "Deposited"]


async def test_insufficient_funds_fail_the_transfer_and_move_nothing(kit: IntegrationTestKit, http: httpx.AsyncClient) -> None:
    await open_wallet(http, "ada", 299)
    await open_wallet(http, "bob", 0)
    assert (await http.post("/transfers/t1", json=RENT)).status_code == 202
    with pytest.raises(CommandError, match="insufficient funds: wallet 'ada' holds 299, 300 are asked for") as failed:
        await end_of(kit, "t1")
    assert failed.value.error.code is ErrorCode.WORKFLOW_FAILED
    assert await balances(http, "ada", "bob") == [299, 0]
    lifecycle = (await http.get("/transfers/t1/lifecycle")).json()
    assert (lifecycle["status"], lifecycle["retries"]) == ("Failed", {})
    assert "insufficient funds" in lifecycle["failure"]
    assert (await http.get("/transfers/t1")).json()["status"] == "started", "what the workflow has decided; that it failed is the engine's view"


async def test_a_transfer_from_a_wallet_that_does_not_exist_fails(kit: IntegrationTestKit, http: httpx.AsyncClient) -> None:
    await open_wallet(http, "bob", 0)
    await http.post("/transfers/t1", json=RENT)
    with pytest.raises(CommandError, match="there is no wallet 'ada'"):
        await end_of(kit, "t1")
    assert await balances(http, "bob") == [0]


async def test_a_start_that_is_sent_again_with_its_key_is_answered_as_the_first(kit: IntegrationTestKit, http: httpx.AsyncClient) -> None:
    await open_wallet(http, "ada", 1000)
    await open_wallet(http, "bob", 0)
    key = {"Idempotency-Key": "rent-12"}
    for _ in range(2):
        assert (await http.post("/transfers/t1", json=RENT, headers=key)).status_code == 202
    await end_of(kit, "t1")
    assert await balances(http, "ada", "bob") == [700, 300]


async def test_a_transfer_is_started_once(kit: IntegrationTestKit, http: httpx.AsyncClient) -> None:
    await open_wallet(http, "ada", 1000)
    await open_wallet(http, "bob", 0)
    await http.post("/transfers/t1", json=RENT)
    assert refused(await http.post("/transfers/t1", json=RENT)) == (409, "CONFLICT", "transfer already started")
    await end_of(kit, "t1")
    assert refused(await http.post("/transfers/t1", json={**RENT, "amount": 1})) == (409, "CONFLICT", "transfer already started")
    assert await balances(http, "ada", "bob") == [700, 300]


@pytest.mark.parametrize("amount", [0, -300])
async def test_an_amount_that_the_workflow_refuses_is_400(http: httpx.AsyncClient, amount: int) -> None:
    answer = await http.post("/transfers/t1", json={**RENT, "amount": amount})
    assert refused(answer) == (400, "BAD_REQUEST", "transfer amount must be greater than zero")
    assert (await http.get("/transfers/t1/lifecycle")).json()["status"] == "NotStarted"


@pytest.mark.parametrize("transfer", [{**RENT, "amount": "much"}, {**RENT, "amount": 1.5}, {"amount": 300}, []])
async def test_what_is_no_transfer_is_422(http: httpx.AsyncClient, transfer: object) -> None:
    assert (await http.post("/transfers/t1", json=transfer)).status_code == 422
    assert (await http.get("/transfers/t1/lifecycle")).json()["status"] == "NotStarted"


async def test_wallets_refuse_with_the_status_of_their_code(http: httpx.AsyncClient) -> None:
    assert refused(await http.get("/wallets/ada")) == (404, "NOT_FOUND", "there is no wallet 'ada'")
    assert refused(await http.post("/wallets/ada/deposits", json={"amount": 5})) == (404, "NOT_FOUND", "there is no wallet 'ada'")
    await open_wallet(http, "ada", 0)
    assert refused(await http.post("/wallets/ada")) == (409, "CONFLICT", "wallet 'ada' is open already")
    assert refused(await http.post("/wallets/ada/deposits", json={"amount": 0}))[:2] == (400, "BAD_REQUEST")


async def test_a_deposit_with_a_key_goes_in_once(http: httpx.AsyncClient) -> None:
    await open_wallet(http, "ada", 0)
    key = {"Idempotency-Key": "salary-11"}
    for _ in range(2):
        answer = await http.post("/wallets/ada/deposits", json={"amount": 500}, headers=key)
        assert answer.json() == {"wallet_id": "ada", "balance": 500}
    assert refused(await http.post("/wallets/ada/deposits", json={"amount": 501}, headers=key))[:2] == (409, "CONFLICT")
    assert (await http.post("/wallets/ada/deposits", json={"amount": 500}, headers={"Idempotency-Key": "x" * 256})).status_code == 422
    assert await balances(http, "ada") == [500]
