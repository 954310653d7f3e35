"""A step that is retried or sent again does not repeat the calls it had already made (W16, I3, I4): real programs, really killed.

See `payments.py` for the service. A wallet's handler may run twice only where the first run's effect never reached the
journal; its effect is there once in any case.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.chaos.bank import Bank, effects
from tests.chaos.dying import PLACES
from tests.integration.support.programs import Programs, wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.slow]

# --- without a kill ----------------------------------------------------------------------------------------------


def test_w16_each_wallet_is_asked_once_in_three_attempts(programs: Programs) -> None:
    bank = Bank(programs)
    bank.fill("t-a", 100)
    bank.pay("t", "transfer", failures=2)
    assert bank.until_done("t")["retries"] == {"transfer": 2}
    ledger = bank.ledger()
    assert [ledger[f"step t {attempt}"] for attempt in (1, 2, 3, 4)] == [1, 1, 1, 0]
    assert (ledger["wallet t-a withdraw -10"], ledger["wallet t-b deposit 10"]) == (1, 1), "each wallet's handler ran once"
    assert (bank.balance("t-a"), bank.balance("t-b")) == (90, 10)
    assert "unrepeated" not in str(bank.items("payment/t"))
    bank.close()


def test_w16_a_retry_of_the_steps_own_around_an_uncertain_call_has_its_effect_once(programs: Programs) -> None:
    bank = Bank(programs)
    bank.fill("p-a", 100)
    bank.pay("p", "patient", failures=1)
    bank.until_done("p")
    assert effects(bank, "p-a") == [100, -10]
    assert bank.ledger()["wallet p-a withdraw-slowly -10"] == 1
    bank.close()


def test_w16_a_target_that_was_deleted_in_between_is_not_paid_again(programs: Programs) -> None:
    bank = Bank(programs)
    bank.pay("d", "deleted")
    wait_for(lambda: bank.balance("d-b") == 10, "the first attempt has paid")
    assert bank.ask("DELETE", "wallet/d-b").status_code == 204
    bank.process.kill()
    bank.until_done("d")
    assert bank.ledger()["wallet d-b deposit 10"] == 1, "the recorded reply outlived the wallet"
    assert bank.balance("d-b") == 0
    bank.close()


def test_w16_a_call_that_a_later_attempt_does_not_repeat_is_named(programs: Programs) -> None:
    bank = Bank(programs)
    bank.pay("c", "changing", failures=1)
    bank.until_done("c")
    [ended] = [item for item in bank.items("payment/c") if item["type"] == "ended"]
    assert ended["detail"]["unrepeated"] == ["wallet/c-b-1 deposit"]
    assert (bank.balance("c-b-1"), bank.balance("c-b-2")) == (10, 10)
    wait_for(lambda: "did not repeat calls" in bank.sidecar.output, "the warning in the log")
    bank.close()


def test_w16_a_visit_older_than_its_replies_says_so(programs: Programs) -> None:
    bank = Bank(programs, "--step-call-retention", "1ms")
    bank.fill("o-a", 100)
    bank.pay("o", "transfer", failures=1)
    bank.until_done("o")
    [retried] = [item for item in bank.items("payment/o") if item["type"] == "retried"]
    assert retried["detail"]["forgotten"] is True
    assert effects(bank, "o-b") == [10, 10], "a reply that is not kept cannot be given"
    wait_for(lambda: "step-call-retention" in bank.sidecar.output, "the warning in the log")
    bank.close()


# --- kill -9 at every place ----------------------------------------------------------------------------------------

POINTS: Final = {
    "append.before": range(1, 7),
    "append.after": range(1, 7),
    "commit.before": range(3, 9),  # the first ones are the start's own
    "commit.after": range(3, 9),
    "listing.before": range(1, 4),
    "command.before-send": range(1, 4),
    "step.before-send": range(1, 4),
    "step.after-send": range(1, 4),
    "step.answered": range(1, 4),
    "ack.before-send": range(1, 4),
    "reply.before-send": range(1, 7),
    "find.before": range(1, 5),
}
"""The points between a payment's start and its end, and the visits to each."""


def judge(bank: Bank, handlers_may_run_again: int) -> None:
    """Every effect is there once, whatever died."""
    bank.until_done("t")
    if not bank.kills:
        bank.sidecar.kill()  # that visit did not come this time: this is a kill behind everything
    assert effects(bank, "t-a") == [100, -10]
    assert effects(bank, "t-b") == [10]
    assert (bank.balance("t-a"), bank.balance("t-b")) == (90, 10)
    ledger = bank.ledger()
    for line in ("wallet t-a withdraw -10", "wallet t-b deposit 10"):
        assert 1 <= ledger[line] <= 1 + handlers_may_run_again, ledger
    assert "unrepeated" not in str(bank.items("payment/t"))
    bank.close()


@pytest.mark.parametrize(("point", "visit"), [(point, visit) for point, visits in POINTS.items() for visit in visits])
def test_w16_the_sidecar_dies_at(programs: Programs, point: str, visit: int) -> None:  # F15 F42 F75
    bank = Bank(programs)
    bank.fill("t-a", 100)
    assert bank.sidecar.kill() == -9
    bank.sidecar.environment = {"ANKKA_FAULTS": f"{point}:{visit}=kill"}
    bank.sidecar = programs.again(bank.sidecar)
    bank.pay("t", "transfer", failures=2)
    judge(bank, handlers_may_run_again=1)


VISITS: Final = {place: 4 if place.startswith("step") else 3 for place in PLACES if place.startswith(("step", "command"))}


@pytest.mark.parametrize(("place", "visit"), [(place, visit) for place, visits in VISITS.items() for visit in range(1, visits + 1)])
def test_w16_the_process_dies_at(programs: Programs, place: str, visit: int) -> None:  # F05 F75
    bank = Bank(programs, dies=f"{place}:{visit}")
    bank.fill("t-a", 100)
    bank.pay("t", "transfer", failures=2)
    judge(bank, handlers_may_run_again=1)


# --- many ----------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_w16_a_thousand_steps_gather_equal_and_different_calls_and_every_counter_is_exact(programs: Programs) -> None:  # F75
    """One attempt in ten ends in the middle; the process is killed three times, the sidecar twice."""
    many = int(os.environ.get("ANKKA_TEST_MANY", "1000"))
    bank = Bank(programs)
    names = [f"m{number}" for number in range(many)]
    for number, name in enumerate(names, 1):
        bank.pay(name, "spread")
        if number in (many // 5, many // 2, many * 4 // 5):
            bank.process.kill()
        if number in (many // 3, many * 2 // 3):
            bank.sidecar.kill()
    for name in names:
        bank.until_done(name, within=120)
    expected = sorted([1] * 5 + [100, 101, 102, 103, 104])
    wrong = {name: found for name in names if (found := sorted(effects(bank, f"{name}-b"))) != expected}
    assert not wrong, wrong
    retried = sum(view["retries"].get("spread", 0) for view in map(bank.lifecycle, names))
    assert retried >= many // 20, f"{retried} retries: the case tests nothing"
    bank.close()


def test_f42_a_start_that_is_repeated_while_everything_dies_is_one_start(programs: Programs, tmp_path: Path) -> None:
    bank = Bank(programs)
    for number in range(5):
        bank.fill("f-a", 10 * (number + 1))
        bank.sidecar.kill()
        bank.fill("f-a", 10 * (number + 1))
        bank.process.kill()
        bank.fill("f-a", 10 * (number + 1))
    assert effects(bank, "f-a") == [10, 20, 30, 40, 50]
    bank.close()
