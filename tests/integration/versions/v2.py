"""The second version: a renamed step with an alias, a removed one, other fields, a new command, one component less."""

from dataclasses import dataclass, replace

from ankka import (
    DONE,
    Ankka,
    Done,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)


@dataclass(frozen=True)
class Order:
    item: str = ""
    title: str = "untitled"
    gift: bool = False


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")

    def empty_state(self) -> Order:
        return Order()

    @command("start")
    def start(self, name: str) -> WorkflowEffect[Order, Done]:
        """Go to the step of that name."""
        return self.effects.update_state(Order("book")).then_transition_to(name).then_reply(lambda _: DONE)

    @command("go")
    def go(self, name: str) -> WorkflowEffect[Order, Done]:
        return self.effects.transition_to(name).then_reply(lambda _: DONE)

    @command("rename")
    def rename(self, item: str) -> WorkflowEffect[Order, str]:
        return self.effects.update_state(replace(self.state, item=item)).then_reply(lambda _: "v2")

    @command("wrap")
    def wrap(self) -> WorkflowEffect[Order, str]:
        """Only this version has it."""
        return self.effects.update_state(replace(self.state, gift=True)).then_reply(lambda _: "v2")

    @query("version")
    def version(self) -> WorkflowReadOnlyEffect[Order, str]:
        return self.effects.reply("v2")

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Order, Order]:
        return self.effects.reply(self.state)

    @step("rest")
    async def rest(self) -> WorkflowStepEffect[Order]:
        """Wait for a command."""
        return self.step_effects.then_pause()

    @step("hold", aliases=("reserve",))
    async def hold(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.update_state(replace(self.state, item=f"{self.state.item}, held by v2")).then_end()


if __name__ == "__main__":
    Ankka.service().register(OrderWorkflow).start()
