"""F66, for replies: one over the limit is refused once, with its size and the limit's name, and leaves nothing behind.

The other ways that values take are in `tests/integration/limits/test_sizes.py`.
"""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from ankka import CommandError, ComponentClient, ErrorCode
from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.payloads.conftest import VAULT
from tests.integration.payloads.vault import LedgerEntity, VaultWorkflow
from tests.integration.support.programs import Programs, Sidecar

KIB, MIB = 1024, 1024 * 1024
SOON = timedelta(seconds=30)
SAID = ("the reply has 180,", "at most 102,400 are taken (max-payload)")


@pytest.fixture
def tight(programs: Programs) -> Sidecar:
    """A sidecar that takes less in one value than three events of its ledger `l` have."""
    sidecar = programs.sidecar("--max-payload", "100KiB", "--max-state", "400KiB")
    programs.process(VAULT, sidecar)
    for number in range(3):
        assert sidecar.http.post("/v1/ledger/l/add", json="x" * 60_000).json() == number + 1
    return sidecar


def test_a_query_over_http_and_a_command_that_leaves_nothing(tight: Sidecar) -> None:  # F66
    http: httpx.Client = tight.http
    is_problem(http.get("/v1/ledger/l/lines"), 413, "TOO_LARGE", *SAID)
    is_problem(http.post("/v1/ledger/l/add-and-show", json="y"), 413, "TOO_LARGE", *SAID)
    assert len(journal_of(http, "/v1/ledger/l")) == 3
    keyed = {"Idempotency-Key": "k"}
    for _ in range(2):  # a refusal is not stored by its key
        is_problem(http.post("/v1/ledger/l/add-and-show", json="y", headers=keyed), 413, "TOO_LARGE", *SAID)
    assert http.post("/v1/ledger/small/add-and-show", json="y", headers=keyed).json() == ["y"]
    assert http.post("/v1/ledger/l/add", json="z").json() == 4


async def test_a_call_by_the_client_and_from_a_step(tight: Sidecar) -> None:  # F66
    async with ComponentClient(tight.url) as client:
        with pytest.raises(CommandError, match="the reply has 180,") as refused:
            await client.for_event_sourced_entity(LedgerEntity, "l").call(LedgerEntity.lines).invoke()
        assert refused.value.error.code is ErrorCode.TOO_LARGE
        workflow = client.for_workflow(VaultWorkflow, "l")
        end = await workflow.call(VaultWorkflow.start).then_await_end(SOON).invoke("read")
        assert end.startswith("TOO_LARGE: the reply has 180,")
    assert journal_of(tight.http, "/v1/vault/l") == ["started", "ended"]


async def test_ten_mib_pass_on_every_way_when_the_limits_are_16(programs: Programs) -> None:  # F66
    sidecar = programs.sidecar("--max-payload", "16MiB", "--max-state", "16MiB")
    programs.process(VAULT, sidecar)
    ten = 10 * MIB
    assert sidecar.http.post("/v1/ledger/l/add-and-show", json="x" * ten).json() == ["x" * ten]
    assert sidecar.http.get("/v1/ledger/l/lines").json() == ["x" * ten]
    async with ComponentClient(sidecar.url) as client:
        assert await client.for_event_sourced_entity(LedgerEntity, "l").call(LedgerEntity.lines).invoke() == ["x" * ten]
        end = await client.for_workflow(VaultWorkflow, "l").call(VaultWorkflow.start).then_await_end(SOON).invoke("read")
        assert end == f"{ten}"
