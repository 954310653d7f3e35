"""The service of the tests of a step's calls (W16): a workflow that moves money between wallets and fails as its plan says.

`python -m tests.chaos.payments`, in the folder of its ledger, to which each run of a step and of a wallet's handler adds
a line; `DIES_AT=place:visit` makes it kill itself there (`dying.py`).
"""

import asyncio
import random
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import tenacity

from ankka import (
    DONE,
    Ankka,
    Backoff,
    Calls,
    CommandError,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
    Recovery,
    StepSettings,
    Workflow,
    WorkflowEffect,
    WorkflowSettings,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)
from tests.chaos import dying

LEDGER = Path("ledger")
EQUAL, DIFFERENT = 5, 5
"""Calls that `spread` makes at once."""


def note(line: str) -> None:
    """Add a line to the ledger."""
    with LEDGER.open("a") as ledger:
        ledger.write(line + "\n")


@dataclass(frozen=True)
class Plan:
    """What to do, from where to where, and how often to fail behind it."""

    step: str
    source: str = ""
    target: str = ""
    failures: int = 0


@dataclass(frozen=True)
class Payment:
    """The plan, and whether it is done."""

    plan: Plan = Plan("")
    is_done: bool = False


class Boom(Exception):
    """What the steps raise."""


class PaymentWorkflow(Workflow[Payment]):
    """See the module."""

    component_id = "payment"
    state_codec = json_codec(Payment, "payment")
    settings = WorkflowSettings(
        default_step_timeout=timedelta(seconds=30),
        steps={
            "transfer": StepSettings(recovery=Recovery(max_retries=5)),
            "patient": StepSettings(recovery=Recovery(max_retries=2)),
            "deleted": StepSettings(recovery=Recovery(max_retries=2)),
            "changing": StepSettings(recovery=Recovery(max_retries=2)),
            "spread": StepSettings(recovery=Recovery(max_retries=50, backoff=Backoff(timedelta(milliseconds=5)))),
        },
    )

    def empty_state(self) -> Payment:
        return Payment()

    @command("start")
    def start(self, plan: Plan) -> WorkflowEffect[Payment, Done]:
        """Begin."""
        if self.state.plan.step:
            return self.effects.error("it is on its way", ErrorCode.CONFLICT)
        return self.effects.update_state(Payment(plan)).transition_to(plan.step).then_reply(lambda _: DONE)

    # --- steps -----------------------------------------------------------------------------------------------------

    @step("transfer")
    async def transfer(self) -> WorkflowStepEffect[Payment]:
        """Withdraw 10, deposit 10, then fail as often as the plan says."""
        plan = self._begins()
        await self._wallet(plan.source).call("withdraw").invoke(10, reply=int)
        await self._wallet(plan.target).call("deposit").invoke(10, reply=int)
        return self._ends(plan)

    @step("patient")
    async def patient(self) -> WorkflowStepEffect[Payment]:
        """A call whose time is over before its reply is tried again by the step itself: it has no other key."""
        plan = self._begins()
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, CommandError) and error.error.code is ErrorCode.TIMEOUT),
            stop=tenacity.stop_after_attempt(100),
            wait=tenacity.wait_fixed(0.02),
        )
        slow = self._wallet(plan.source).call("withdraw-slowly").with_timeout(timedelta(milliseconds=60))
        await attempts(slow.invoke, 10, reply=int)
        return self._ends(plan)

    @step("deleted")
    async def deleted(self) -> WorkflowStepEffect[Payment]:
        """Its first attempt hangs behind its call, so that somebody can delete the wallet it has paid into."""
        plan = self._begins()
        await self._wallet(plan.target).call("deposit").invoke(10, reply=int)
        if self.context.attempt == 1:
            await asyncio.Event().wait()
        return self._ends(plan)

    @step("changing")
    async def changing(self) -> WorkflowStepEffect[Payment]:
        """Its second attempt pays into another wallet than its first: what the engine can only warn of."""
        plan = self._begins()
        await self._wallet(f"{plan.target}-{self.context.attempt}").call("deposit").invoke(10, reply=int)
        return self._ends(plan)

    @step("spread")
    async def spread(self) -> WorkflowStepEffect[Payment]:
        """Equal and different calls at once; one attempt in ten ends in the middle of them."""
        plan = self._begins()
        fate = random.Random(f"{self.entity_id} {self.context.attempt}")
        dies_after = fate.uniform(0, 0.02) if fate.random() < 0.1 else None
        wallet = self._wallet(plan.target)
        equal = [wallet.call("deposit").invoke(1, reply=int) for _ in range(EQUAL)]
        different = [wallet.call("deposit").invoke(100 + number, reply=int) for number in range(DIFFERENT)]
        calls = asyncio.gather(*equal, *different)
        if dies_after is None:
            await calls
        else:
            await asyncio.wait([calls], timeout=dies_after)
            calls.cancel()
            raise Boom("in the middle of its calls")
        return self._ends(plan)

    def _begins(self) -> Plan:
        note(f"step {self.entity_id} {self.context.attempt}")
        dying.at("step running")
        dying.after_return("step answered")
        return self.state.plan

    def _ends(self, plan: Plan) -> WorkflowStepEffect[Payment]:
        if self.context.attempt <= plan.failures:
            raise Boom(f"attempt {self.context.attempt} fails behind its calls")
        return self.step_effects.update_state(replace(self.state, is_done=True)).then_end()

    def _wallet(self, name: str) -> Calls:
        return self.context.client.for_event_sourced_entity("wallet", name)


class WalletEntity(EventSourcedEntity[int, int]):
    """Holds an amount."""

    component_id = "wallet"
    state_codec = json_codec(int, "wallet")
    event_codec = json_codec(int, "changed")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        dying.at("event applying")
        return state + event

    @command("deposit")
    def deposit(self, amount: int) -> EventSourcedEffect[int, int, int]:
        """Add to it; the balance."""
        return self._changed("deposit", amount)

    @command("withdraw")
    def withdraw(self, amount: int) -> EventSourcedEffect[int, int, int]:
        """Take from it; the balance."""
        if amount > self.state:
            return self.effects.error(f"there are only {self.state}")
        return self._changed("withdraw", -amount)

    @command("withdraw-slowly")
    async def withdraw_slowly(self, amount: int) -> EventSourcedEffect[int, int, int]:
        """The same, slower than its caller waits."""
        await asyncio.sleep(0.2)
        return self._changed("withdraw-slowly", -amount)

    @query("balance")
    def balance(self) -> ReadOnlyEffect[int, int, int]:
        """What is in it."""
        return self.effects.reply(self.state)

    def _changed(self, handler: str, amount: int) -> EventSourcedEffect[int, int, int]:
        note(f"wallet {self.entity_id} {handler} {amount}")
        dying.at("command running")
        dying.after_return("command answered")
        return self.effects.persist(amount).then_reply(lambda balance: balance)


if __name__ == "__main__":
    dying.install()
    Ankka.service().register(PaymentWorkflow).register(WalletEntity).start()
