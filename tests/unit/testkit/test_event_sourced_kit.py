"""The event sourced kit on a shopping cart."""

import pytest

from ankka.codec import DONE
from ankka.effects.common import Error, ErrorCode
from ankka.testkit import EventSourcedTestKit
from tests.unit.shopping_cart import Cart, CartEntity, CheckedOut, Item, ItemAdded


def test_commands_events_and_state() -> None:
    kit = EventSourcedTestKit.of(CartEntity, "k1")
    assert (kit.state, kit.sequence, kit.deleted) == (Cart("k1"), 0, False)
    added = kit.call("add-item", Item("pen", 2))
    assert (added.reply, added.error, added.persisted) == (2, None, True)
    assert added.events == [ItemAdded(Item("pen", 2))]
    assert added.new_state == kit.state == Cart("k1", [Item("pen", 2)])
    assert kit.call(CartEntity.checkout).reply == Cart("k1", [Item("pen", 2)], True)
    assert kit.all_events == [ItemAdded(Item("pen", 2)), CheckedOut(2)]
    assert kit.sequence == 2


def test_what_leaves_nothing_in_the_journal() -> None:
    kit = EventSourcedTestKit.of(CartEntity)
    total = kit.call("total-quantity")
    assert (total.reply, total.events, total.persisted, total.new_state) == (0, [], False, None)
    assert kit.call("touch").reply == DONE
    assert kit.call("add-all", []).persisted is False  # F18
    kit.call("checkout")
    refused = kit.call("add-item", Item("pen", 1))
    assert (refused.error, refused.persisted) == (Error(ErrorCode.CONFLICT, "the cart is checked out"), False)
    assert kit.sequence == 1


def test_one_effect_with_several_events_is_one_in_sequence() -> None:
    kit = EventSourcedTestKit.of(CartEntity)
    assert len(kit.call("add-all", [Item("pen", 1), Item("ink", 2)]).events) == 2
    assert (kit.sequence, len(kit.all_events)) == (1, 2)


def test_replay() -> None:
    kit = EventSourcedTestKit.of(CartEntity, "k1")
    assert kit.replay(ItemAdded(Item("pen", 2)), CheckedOut(2)) == Cart("k1", [Item("pen", 2)], True)
    assert (kit.sequence, kit.all_events) == (2, [ItemAdded(Item("pen", 2)), CheckedOut(2)])
    assert kit.replay() == kit.state  # F18
    assert kit.sequence == 2


def test_delete() -> None:
    kit = EventSourcedTestKit.of(CartEntity, "k1")
    kit.call("add-item", Item("pen", 2))
    removed = kit.call("remove")
    assert (removed.reply, removed.new_state, kit.state) == (Cart("k1"), Cart("k1"), Cart("k1"))
    assert (kit.deleted, kit.all_events) == (True, [])
    kit.call("add-item", Item("pen", 1))
    assert not kit.deleted


async def test_inside_a_running_loop() -> None:
    kit = EventSourcedTestKit.of(CartEntity)
    assert kit.call("checkout").persisted


def test_an_input_of_another_type() -> None:
    error = EventSourcedTestKit.of(CartEntity).call("add-item", "pen").error
    assert error is not None
    assert error.code is ErrorCode.BAD_REQUEST


def test_what_is_no_entity() -> None:
    with pytest.raises(ValueError, match="it is no component"):
        EventSourcedTestKit.of(int)  # type: ignore[arg-type]  # pyright: ignore
