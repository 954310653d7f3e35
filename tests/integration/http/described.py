"""A service whose types are worth describing: unions, Pydantic models, recursion, and one name for two things.

`python -m tests.integration.http.described` runs it; with WITHOUT_SHELF in the environment without its second component.
"""

import os
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ankka import (
    DONE,
    Ankka,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    KeyValueEffect,
    KeyValueEntity,
    KeyValueReadOnlyEffect,
    ReadOnlyEffect,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    command,
    json_codec,
    query,
)


@dataclass(frozen=True)
class Circle:
    radius: float


@dataclass(frozen=True)
class Square:
    side: float


@dataclass(frozen=True)
class Tree:
    name: str
    children: "tuple[Tree, ...]" = ()


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str] = []


class Owner(BaseModel):
    name: str
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Library:
    """Has an `Item` of its own."""

    @dataclass(frozen=True)
    class Item:
        title: str


@dataclass(frozen=True)
class Item:
    sku: str
    quantity: int = 1


class Drawing(Workflow[Tree]):
    component_id = "drawing"
    state_codec = json_codec(Tree, "tree")

    def empty_state(self) -> Tree:
        return Tree("root")

    @command("draw")
    def draw(self, shape: Circle | Square) -> WorkflowEffect[Tree, Done]:
        """Draw a shape.

        It is kept.
        """
        return self.effects.update_state(self.state).then_reply(lambda _: DONE)

    @query("tree")
    def tree(self) -> WorkflowReadOnlyEffect[Tree, Tree]:
        return self.effects.reply(self.state)

    @query("first/of all")
    def first(self, item: Item | None = None) -> WorkflowReadOnlyEffect[Tree, str]:
        return self.effects.reply(str(item))


class Owners(KeyValueEntity[Owner]):
    component_id = "owners"
    state_codec = json_codec(Owner, "owner")

    def empty_state(self) -> Owner:
        return Owner(name="", pet=Cat())

    @command("register")
    def register(self, owner: Owner) -> KeyValueEffect[Owner, Owner]:
        return self.effects.update_state(owner).then_reply_state()

    @query("photo")
    def photo(self, width: int) -> KeyValueReadOnlyEffect[Owner, bytes]:
        return self.effects.reply(b"x" * width)

    @query("pet")
    def pet(self) -> KeyValueReadOnlyEffect[Owner, int | None]:
        return self.effects.reply(None)


class Shelf(EventSourcedEntity[list[Item], Item]):
    component_id = "shelf"
    state_codec = json_codec(list[Item], "shelf")
    event_codec = json_codec(Item, "item")

    def empty_state(self) -> list[Item]:
        return []

    def apply_event(self, state: list[Item], event: Item) -> list[Item]:
        return [*state, event]

    @command("put")
    def put(self, item: Item) -> EventSourcedEffect[list[Item], Item, list[Item]]:
        return self.effects.persist(item).then_reply_state()

    @command("rename")
    def rename(self, item: Library.Item) -> EventSourcedEffect[list[Item], Item, Done]:
        return self.effects.reply(DONE)

    @query("count")
    def count(self) -> ReadOnlyEffect[list[Item], Item, int]:
        return self.effects.reply(len(self.state))


service = Ankka.service().register(Drawing).register(Owners)
if "WITHOUT_SHELF" not in os.environ:
    service = service.register(Shelf)

if __name__ == "__main__":
    service.start()
