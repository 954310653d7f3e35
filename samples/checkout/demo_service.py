"""The service of the demonstration: the checkout as it is, with a ledger of step runs and a charge that can be slow.

The ledger stands outside the engine (a file), so that it counts every run of a step, whatever the journal says.
"""

import asyncio
from pathlib import Path

from ankka.effects.workflow import WorkflowStepEffect
from ankka.service import Ankka
from ankka.workflow import step
from samples.checkout.cart import ShoppingCartEntity
from samples.checkout.workflow import Checkout, CheckoutWorkflow

LEDGER = Path("ledger.txt")
SLOW = "slow"
"""Checkouts whose id begins so take `SLOW_SECONDS` to be charged."""
SLOW_SECONDS = 2.0


def note(step_name: str, entity_id: str, attempt: int) -> None:
    """Write a line: this step of this checkout runs, as this attempt."""
    with LEDGER.open("a") as ledger:
        ledger.write(f"{entity_id} {step_name} {attempt}\n")


class CountedCheckout(CheckoutWorkflow):
    """The checkout, each step of which is noted in the ledger."""

    @step("reserve")
    async def reserve(self) -> WorkflowStepEffect[Checkout]:
        note("reserve", self.entity_id, self.context.attempt)
        return await super().reserve()

    @step("charge")
    async def charge(self) -> WorkflowStepEffect[Checkout]:
        note("charge", self.entity_id, self.context.attempt)
        if self.entity_id.startswith(SLOW):
            await asyncio.sleep(SLOW_SECONDS)
        return await super().charge()

    @step("compensate")
    def compensate(self) -> WorkflowStepEffect[Checkout]:
        note("compensate", self.entity_id, self.context.attempt)
        return super().compensate()


if __name__ == "__main__":
    Ankka.service().register(CountedCheckout).register(ShoppingCartEntity).start()
