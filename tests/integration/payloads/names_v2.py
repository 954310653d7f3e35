"""The second version: every class is renamed, a Pydantic field too. With `FORGOT=1` nothing says what the names were before."""

import os
from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

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

FORGOT = "FORGOT" in os.environ


@dataclass(frozen=True)
class Basket:
    item: str = ""


@dataclass(frozen=True)
class Settled:
    item: str
    amount: int


class Added(BaseModel):
    name: str = Field(validation_alias=AliasChoices("name", "label"))


@dataclass(frozen=True)
class Removed:
    label: str


_STATES: dict[str, type[Any]] = {} if FORGOT else {"Open": Basket, "Paid": Settled}
_EVENTS: dict[str, type[Any]] = {} if FORGOT else {"Put": Added, "Dropped": Removed}


class OrderWorkflow(Workflow[Basket | Settled]):
    component_id = "order"
    state_codec = json_codec(Basket | Settled, "order", aliases=_STATES)

    def empty_state(self) -> Basket | Settled:
        return Basket()

    @command("pay")
    def pay(self, amount: int) -> WorkflowEffect[Basket | Settled, Done]:
        return self.effects.update_state(Settled("pen", amount)).then_no_reply()

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[Basket | Settled, str]:
        return self.effects.reply(f"v2 {self.state}")

    @step("ship")
    def ship(self, paid: Basket | Settled) -> WorkflowStepEffect[Basket | Settled]:
        return self.step_effects.then_pause()


class ShelfEntity(EventSourcedEntity[list[str], Added | Removed]):
    component_id = "shelf"
    state_codec = json_codec(list[str], "shelf")
    event_codec = json_codec(Added | Removed, "shelf-event", names={Removed: "removed"}, aliases=_EVENTS)

    def empty_state(self) -> list[str]:
        return []

    def apply_event(self, state: list[str], event: Added | Removed) -> list[str]:
        return [*state, event.name] if isinstance(event, Added) else [one for one in state if one != event.label]

    @command("put")
    def put(self, label: str) -> EventSourcedEffect[list[str], Added | Removed, Done]:
        return self.effects.persist(Added.model_validate({"name": label})).then_no_reply()

    @query("labels")
    def labels(self) -> ReadOnlyEffect[list[str], Added | Removed, list[str]]:
        return self.effects.reply(self.state)


if __name__ == "__main__":
    Ankka.service().register(OrderWorkflow).register(ShelfEntity).start()
