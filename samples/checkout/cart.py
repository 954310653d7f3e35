"""The shopping cart: an event sourced entity that the checkout calls."""

from dataclasses import dataclass, replace

from ankka.codec import json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
from ankka.event_sourced_entity import EventSourcedEntity, command, query


@dataclass(frozen=True)
class LineItem:
    """So many of one product."""

    productId: str
    quantity: int


@dataclass(frozen=True)
class ShoppingCart:
    """What a cart holds, and whether it was checked out."""

    cartId: str
    items: tuple[LineItem, ...] = ()
    checkedOut: bool = False

    @property
    def total_quantity(self) -> int:
        """How many things are in it."""
        return sum(item.quantity for item in self.items)


@dataclass(frozen=True)
class ItemAdded:
    """Something was put into the cart."""

    item: LineItem


@dataclass(frozen=True)
class CheckedOut:
    """The cart was bought: nothing changes in it any more."""


CartEvent = ItemAdded | CheckedOut


class ShoppingCartEntity(EventSourcedEntity[ShoppingCart, CartEvent]):
    """A cart, by its id."""

    component_id = "shopping-cart"
    state_codec = json_codec(ShoppingCart, "shopping-cart")
    event_codec = json_codec(CartEvent, "shopping-cart-event")

    def empty_state(self) -> ShoppingCart:
        return ShoppingCart(self.entity_id)

    def apply_event(self, state: ShoppingCart, event: CartEvent) -> ShoppingCart:
        match event:
            case ItemAdded(added):
                others = tuple(item for item in state.items if item.productId != added.productId)
                before = sum(item.quantity for item in state.items if item.productId == added.productId)
                return replace(state, items=(*others, replace(added, quantity=before + added.quantity)))
            case CheckedOut():
                return replace(state, checkedOut=True)

    @command("add")
    def add(self, item: LineItem) -> EventSourcedEffect[ShoppingCart, CartEvent, ShoppingCart]:
        """Put something in."""
        if self.state.checkedOut:
            return self.effects.error("the cart is checked out", ErrorCode.CONFLICT)
        if item.quantity < 1:
            return self.effects.error(f"a quantity of {item.quantity} cannot be added; it must be 1 or more")
        return self.effects.persist(ItemAdded(item)).then_reply_state()

    @query("total-quantity")
    def total_quantity(self) -> ReadOnlyEffect[ShoppingCart, CartEvent, int]:
        """How many things are in it."""
        return self.effects.reply(self.state.total_quantity)

    @query("get")
    def get(self) -> ReadOnlyEffect[ShoppingCart, CartEvent, ShoppingCart]:
        """The whole cart."""
        return self.effects.reply(self.state)

    @command("checkout")
    def checkout(self) -> EventSourcedEffect[ShoppingCart, CartEvent, ShoppingCart]:
        """Buy it; a second time is refused."""
        if self.state.checkedOut:
            return self.effects.error("the cart is already checked out", ErrorCode.CONFLICT)
        return self.effects.persist(CheckedOut()).then_reply_state()
