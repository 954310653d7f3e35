"""The shopping cart by hand: what each command journals, answers and refuses."""

from ankka.effects.common import Error, ErrorCode
from ankka.testkit import EventSourcedTestKit
from samples.checkout.cart import CartEvent, CheckedOut, ItemAdded, LineItem, ShoppingCart, ShoppingCartEntity


def cart() -> EventSourcedTestKit[ShoppingCart, CartEvent]:
    return EventSourcedTestKit.of(ShoppingCartEntity, "k1")


def test_adding_journals_an_event_and_answers_the_cart() -> None:
    kit = cart()
    call = kit.call("add", LineItem("book", 2))
    assert call.persisted
    assert call.events == [ItemAdded(LineItem("book", 2))]
    assert call.reply == call.new_state == ShoppingCart("k1", (LineItem("book", 2),))


def test_the_same_product_twice_is_one_line() -> None:
    kit = cart()
    kit.call("add", LineItem("book", 2))
    kit.call("add", LineItem("pen", 1))
    assert kit.call("add", LineItem("book", 3)).reply == ShoppingCart("k1", (LineItem("pen", 1), LineItem("book", 5)))
    assert kit.call("total-quantity").reply == 6


def test_a_quantity_below_one_is_refused_and_journals_nothing() -> None:
    kit = cart()
    call = kit.call("add", LineItem("book", 0))
    assert call.error == Error(ErrorCode.BAD_REQUEST, "a quantity of 0 cannot be added; it must be 1 or more")
    assert not call.persisted
    assert (kit.sequence, kit.all_events) == (0, [])


def test_a_new_cart_is_empty() -> None:
    kit = cart()
    assert kit.state == kit.call("get").reply == ShoppingCart("k1")
    assert kit.call("total-quantity").reply == 0


def test_a_cart_is_bought_once() -> None:
    kit = cart()
    kit.call("add", LineItem("book", 1))
    call = kit.call(ShoppingCartEntity.checkout)
    assert call.events == [CheckedOut()]
    assert call.reply == ShoppingCart("k1", (LineItem("book", 1),), checkedOut=True)
    assert kit.call("checkout").error == Error(ErrorCode.CONFLICT, "the cart is already checked out")
    assert kit.call("add", LineItem("pen", 1)).error == Error(ErrorCode.CONFLICT, "the cart is checked out")
    assert kit.sequence == 2


def test_a_cart_is_what_its_events_come_to() -> None:
    state = cart().replay(ItemAdded(LineItem("book", 1)), ItemAdded(LineItem("book", 1)), CheckedOut())
    assert state == ShoppingCart("k1", (LineItem("book", 2),), checkedOut=True)
