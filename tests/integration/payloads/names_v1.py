"""An order whose state and events are unions of classes: the first version. `python -m tests.integration.payloads.names_v1`."""

from dataclasses import dataclass

from pydantic import BaseModel

from ankka import (
    Ankka,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
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
class Open:
    item: str = ""


@dataclass(frozen=True)
class Paid:
    item: str
    amount: int


class Put(BaseModel):
    label: str


@dataclass(frozen=True)
class Dropped:
    label: str


class OrderWorkflow(Workflow[Open | Paid]):
    component_id = "order"
    state_codec = json_codec(Open | Paid, "order")

    def empty_state(self) -> Open | Paid:
        return Open()

    @command("pay")
    def pay(self, amount: int) -> WorkflowEffect[Open | Paid, Done]:
        return self.effects.update_state(Paid("book", amount)).then_transition_to("ship", Paid("book", amount)).then_no_reply()

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Open | Paid, str]:
        return self.effects.reply(f"v1 {self.state}")

    @step("ship")
    def ship(self, paid: Open | Paid) -> WorkflowStepEffect[Open | Paid]:
        return self.step_effects.then_pause()


class ShelfEntity(EventSourcedEntity[list[str], Put | Dropped]):
    component_id = "shelf"
    state_codec = json_codec(list[str], "shelf")
    event_codec = json_codec(Put | Dropped, "shelf-event")

    def empty_state(self) -> list[str]:
        return []

    def apply_event(self, state: list[str], event: Put | Dropped) -> list[str]:
        return [*state, event.label] if isinstance(event, Put) else [one for one in state if one != event.label]

    @command("put")
    def put(self, label: str) -> EventSourcedEffect[list[str], Put | Dropped, Done]:
        return self.effects.persist(Put(label=label)).then_no_reply()

    @command("drop")
    def drop(self, label: str) -> EventSourcedEffect[list[str], Put | Dropped, Done]:
        return self.effects.persist(Dropped(label)).then_no_reply()

    @query("labels")
    def labels(self) -> ReadOnlyEffect[list[str], Put | Dropped, list[str]]:
        return self.effects.reply(self.state)


if __name__ == "__main__":
    Ankka.service().register(OrderWorkflow).register(ShelfEntity).start()
