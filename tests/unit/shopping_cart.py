"""An event sourced cart: the entity of the unit tests."""

from dataclasses import dataclass, field, replace

from ankka.codec import DONE, Done, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
from ankka.event_sourced_entity import EventSourcedEntity, command, query


@dataclass(frozen=True)
class Item:
    product: str
    quantity: int


@dataclass(frozen=True)
class ItemAdded:
    item: Item


@dataclass(frozen=True)
class CheckedOut:
    total: int


CartEvent = ItemAdded | CheckedOut


@dataclass(frozen=True)
class Cart:
    id: str
    items: list[Item] = field(default_factory=list[Item])
    checked_out: bool = False

    @property
    def total(self) -> int:
        return sum(item.quantity for item in self.items)


class CartEntity(EventSourcedEntity[Cart, CartEvent]):
    component_id = "shopping-cart"
    state_codec = json_codec(Cart, "cart")
    event_codec = json_codec(CartEvent, "cart-event")

    def empty_state(self) -> Cart:
        return Cart(self.entity_id)

    def apply_event(self, state: Cart, event: CartEvent) -> Cart:
        match event:
            case ItemAdded(item):
                return replace(state, items=[*state.items, item])
            case CheckedOut():
                return replace(state, checked_out=True)

    @command("add-item")
    def add_item(self, item: Item) -> EventSourcedEffect[Cart, CartEvent, int]:
        if self.state.checked_out:
            return self.effects.error("the cart is checked out", ErrorCode.CONFLICT)
        return self.effects.persist(ItemAdded(item)).then_reply(lambda cart: cart.total)

    @command("add-all")
    def add_all(self, items: list[Item]) -> EventSourcedEffect[Cart, CartEvent, Cart]:
        return self.effects.persist_all(ItemAdded(item) for item in items).then_reply_state()

    @command("checkout")
    async def checkout(self) -> EventSourcedEffect[Cart, CartEvent, Cart]:
        if self.state.checked_out:
            return self.effects.error("the cart is checked out", ErrorCode.CONFLICT)
        return self.effects.persist(CheckedOut(self.state.total)).then_reply_state()

    @command("remove")
    def remove(self) -> EventSourcedEffect[Cart, CartEvent, Cart]:
        return self.effects.persist(CheckedOut(0)).delete_entity().then_reply_state()

    @command("touch")
    def touch(self) -> EventSourcedEffect[Cart, CartEvent, Done]:
        return self.effects.reply(DONE)

    @query("total-quantity")
    def total_quantity(self) -> ReadOnlyEffect[Cart, CartEvent, int]:
        return self.effects.reply(self.state.total)
