"""Commands of an event sourced entity, and the folding of its events."""

import pytest

from ankka.codec import default_codec_for, json_codec
from ankka.definition.build import definition_of
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.process.dispatch import fold
from ankka.protocol.errors import Error
from ankka.protocol.frames import EntityCommandDone, Fold, Folded, Refused, Replied
from ankka.protocol.payload import Payload
from ankka.workflow import command
from tests.unit.dispatch.ordering import NOTHING, SECRET, command_of, ran, refusal
from tests.unit.shopping_cart import Cart, CartEntity, CartEvent, CheckedOut, Item, ItemAdded
from tests.unit.wrong import wrong

CART = definition_of(CartEntity)


def test_events_state_and_reply_of_an_entity() -> None:
    item = Item("pen", 2)
    cart = Cart("o1", [Item("ink", 1)])
    answer = ran(command_of("add-item", item, cart, CART), CART)
    assert CART.event_codec is not None
    event = CART.event_codec.encode_payload(ItemAdded(item))
    state = CART.state_codec.encode_payload(Cart("o1", [Item("ink", 1), item]))
    assert answer == EntityCommandDone(5, default_codec_for(int).encode_payload(3), (event,), state)


def test_an_entity_that_is_deleted_has_the_empty_state() -> None:
    answer = ran(command_of("remove", None, Cart("o1", [Item("ink", 1)]), CART), CART)
    assert isinstance(answer, EntityCommandDone)
    assert (answer.delete, answer.state, len(answer.events)) == (True, None, 1)
    assert answer.reply == default_codec_for(Cart).encode_payload(Cart("o1"))


def test_no_events_at_all_are_a_reply() -> None:  # F18
    answer = ran(command_of("add-all", Payload(b"[]"), definition=CART), CART)
    assert answer == Replied(5, default_codec_for(Cart).encode_payload(Cart("o1")))
    assert ran(command_of("touch", definition=CART), CART) == Replied(5, NOTHING)


def fold_of(*events: CartEvent, state: Cart | None = None) -> Folded | Refused:
    assert CART.event_codec is not None
    payloads = tuple(CART.event_codec.encode_payload(event) for event in events)
    return fold(CART, Fold(8, "shopping-cart", "o1", None if state is None else CART.state_codec.encode_payload(state), payloads))


def test_fold_applies_the_events_in_order() -> None:
    expected = Cart("o1", [Item("pen", 2)], checked_out=True)
    assert fold_of(ItemAdded(Item("pen", 2)), CheckedOut(2)) == Folded(8, CART.state_codec.encode_payload(expected))
    assert fold_of(CheckedOut(2), state=Cart("o1", [Item("pen", 2)])) == Folded(8, CART.state_codec.encode_payload(expected))
    assert fold_of() == Folded(8, CART.state_codec.encode_payload(Cart("o1")))  # F18


def test_an_event_that_cannot_be_read_is_named() -> None:
    answer = fold(CART, Fold(8, "shopping-cart", "o1", None, (Payload(b'{"type":"Stolen"}', manifest="cart-event"),)))
    assert isinstance(answer, Refused)
    assert answer.error.code is ErrorCode.INTERNAL
    assert answer.error.message.startswith("event 1 of 1 of shopping-cart/o1 cannot be read: ")


class Careless(EventSourcedEntity[int, int]):
    component_id = "careless"
    state_codec = json_codec(int, "careless")
    event_codec = json_codec(int, "added")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        if event == 0:
            return wrong(None)
        if event < 0:
            raise ValueError(SECRET)
        with pytest.raises(RuntimeError):
            _ = self.state
        with pytest.raises(RuntimeError):
            _ = self.context
        assert self.entity_id == "o1"
        return state + event

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, int, int]:
        assert self.context.metadata["tenant"] == "acme"
        assert (self.context.entity_id, self.context.component_id, self.context.sequence_number) == ("o1", "careless", 3)
        return self.effects.persist(number).then_reply_state()

    @command("kind")
    def kind(self) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(wrong("three")).then_reply_state()


def test_apply_event_that_goes_wrong_journals_nothing() -> None:
    careless = definition_of(Careless)
    none = "apply_event of 'careless' returned None for int, expected the state after it"
    assert refusal("add", 0, careless) == Error(ErrorCode.INTERNAL, none)
    assert refusal("add", -1, careless) == Error(ErrorCode.INTERNAL, "'add' of careless/o1 failed; the log of its process has the reason")
    assert refusal("kind", definition=careless).message.startswith("event 1 of 'kind' of careless/o1 cannot be encoded: ")
    assert ran(command_of("add", 2, 3, careless), careless) == EntityCommandDone(
        5, default_codec_for(int).encode_payload(5), (json_codec(int, "added").encode_payload(2),), json_codec(int, "careless").encode_payload(5)
    )
