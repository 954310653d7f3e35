"""The event sourced kit on a shopping cart."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ankka.codec import DONE, Done
from ankka.effects.common import Error, ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.event_sourced_entity import command
from ankka.testkit import EventSourcedTestKit, WorkflowTestKit
from tests.unit.profile import ProfileEntity
from tests.unit.shopping_cart import Cart, CartEntity, CartEvent, CheckedOut, Item, ItemAdded
from tests.unit.testkit.orders import OrderWorkflow


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


class HoldingEntity(CartEntity):
    component_id = "holding"

    @command("hold")
    async def hold(self, item: Item) -> EventSourcedEffect[Cart, CartEvent, Done]:
        await asyncio.sleep(1)
        return self.effects.persist(ItemAdded(item)).expire_after(timedelta(minutes=15)).then_reply(lambda _: DONE)


def test_it_expires_when_its_time_is_over() -> None:
    kit = EventSourcedTestKit.of(HoldingEntity, "h1", now=datetime(2026, 5, 1, tzinfo=UTC))
    assert kit.call("hold", Item("pen", 2)).persisted
    assert kit.now == datetime(2026, 5, 1, 0, 0, 1, tzinfo=UTC), "the handler slept, in simulated time"
    kit.advance(timedelta(minutes=15, microseconds=-1))
    assert (kit.call("total-quantity").reply, kit.sequence, kit.deleted) == (2, 1, False)
    kit.advance(timedelta(microseconds=1))  # F92
    assert (kit.state, kit.sequence, kit.deleted, kit.all_events) == (Cart("h1"), 0, True, [])
    assert [entry.type for entry in kit.journal] == ["ItemAdded", "deleted"]
    kit.call("hold", Item("ink", 1))
    kit.advance(timedelta(days=2))
    assert kit.now == datetime(2026, 5, 3, 0, 15, 2, tzinfo=UTC)
    assert kit.deleted


def test_an_effect_without_an_expiry_ends_an_earlier_one() -> None:
    kit = EventSourcedTestKit.of(HoldingEntity, "h1")
    kit.call("hold", Item("pen", 2))
    kit.call("checkout")
    kit.advance(timedelta(days=1))
    assert kit.call("total-quantity").reply == 2


def test_w15_a_command_with_a_key_is_done_once() -> None:
    kit = EventSourcedTestKit.of(CartEntity)
    replies = [kit.call("add-item", Item("pen", 2), idempotency_key="k").reply for _ in range(2)]
    assert (replies, kit.sequence) == ([2, 2], 1)


def test_events_that_cannot_be_applied_are_not_replayed() -> None:
    class PickyEntity(CartEntity):
        component_id = "picky"

        def apply_event(self, state: Cart, event: CartEvent) -> Cart:
            if isinstance(event, CheckedOut):
                raise ValueError("not in this shop")
            return super().apply_event(state, event)

    kit = EventSourcedTestKit.of(PickyEntity, "p1")
    with pytest.raises(ValueError, match="apply_event or empty_state of picky/p1 failed"):
        kit.replay(ItemAdded(Item("pen", 1)), CheckedOut(1))
    assert (kit.sequence, kit.all_events) == (0, [])


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (ProfileEntity, r"ProfileEntity is a key value entity, not an event sourced entity; use KeyValueTestKit\.of\(ProfileEntity\)"),
        (OrderWorkflow, r"OrderWorkflow is a workflow, not an event sourced entity; use WorkflowTestKit\.of\(OrderWorkflow\)"),
    ],
)
def test_another_kind_of_component_is_refused(other: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        EventSourcedTestKit.of(other)
    with pytest.raises(TypeError, match="CartEntity is an event sourced entity, not a workflow"):
        WorkflowTestKit.of(CartEntity)  # type: ignore[arg-type]  # pyright: ignore
