"""A version whose state has a new field without a default: it cannot read what earlier versions have written."""

from dataclasses import dataclass

from ankka import Ankka, Workflow, WorkflowReadOnlyEffect, WorkflowStepEffect, json_codec, query, step


@dataclass(frozen=True)
class Order:
    owner: str
    item: str = ""


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")

    def empty_state(self) -> Order:
        return Order("nobody")

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Order, Order]:
        return self.effects.reply(self.state)

    @step("hold", aliases=("reserve",))
    async def hold(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_end()


if __name__ == "__main__":
    Ankka.service().register(OrderWorkflow).start()
