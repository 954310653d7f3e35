"""Scripted replies of a handler whose class is known: written as it writes them, and refused if it cannot reply them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ankka.codec import Done, EncodingError, json_codec
from ankka.effects.key_value import KeyValueReadOnlyEffect
from ankka.effects.workflow import WorkflowEffect, WorkflowStepEffect
from ankka.event_sourced_entity import command, query
from ankka.key_value_entity import KeyValueEntity
from ankka.testkit import WorkflowTestKit
from ankka.workflow import Workflow, step


@dataclass(frozen=True)
class Card:
    number: str


@dataclass(frozen=True)
class Voucher:
    code: str


class PaymentEntity(KeyValueEntity[int]):
    component_id = "payment"
    state_codec = json_codec(int, "payment")

    def empty_state(self) -> int:
        return 0

    @query("means")
    def means(self) -> KeyValueReadOnlyEffect[int, Card | Voucher]:
        raise NotImplementedError

    @query("limit")
    def limit(self) -> KeyValueReadOnlyEffect[int, int | None]:
        raise NotImplementedError


class AskingWorkflow(Workflow[str]):
    component_id = "asking"
    state_codec = json_codec(str, "asking")

    def empty_state(self) -> str:
        return ""

    @command("ask")
    def ask(self) -> WorkflowEffect[str, Done]:
        return self.effects.transition_to(self.means).then_no_reply()

    @step("means")
    async def means(self) -> WorkflowStepEffect[str]:
        payment = self.context.client.for_key_value_entity(PaymentEntity, "p1")
        by_name = self.context.client.for_key_value_entity("payment", "p1")
        typed = await payment.call(PaymentEntity.means).invoke()
        named = await by_name.call("means").invoke(reply=Card | Voucher)
        limit = await payment.call(PaymentEntity.limit).invoke()
        return self.step_effects.update_state(f"{typed} {named} {limit}").then_end()


@pytest.mark.parametrize("handler", ["means", PaymentEntity.means])
def test_a_member_of_a_union_comes_as_the_handler_would_reply_it(handler: str | Callable[..., Any]) -> None:
    kit = WorkflowTestKit.of(AskingWorkflow)
    kit.when(PaymentEntity, handler).reply(Voucher("x"))
    kit.when(PaymentEntity, PaymentEntity.limit).reply(None)
    kit.call("ask")
    assert kit.run().status == "Completed"
    assert kit.state == "Voucher(code='x') Voucher(code='x') None"


def test_what_the_handler_cannot_reply_is_refused_where_it_is_said() -> None:
    kit = WorkflowTestKit.of(AskingWorkflow)
    with pytest.raises(EncodingError, match=r"the reply of 'means' of type Card \| Voucher: \$: expected Card \| Voucher, got int 3"):
        kit.when(PaymentEntity, PaymentEntity.means).reply(3)
    with pytest.raises(EncodingError, match=r"expected Card \| Voucher, got Done DONE"):
        kit.when(PaymentEntity, "means").reply()
