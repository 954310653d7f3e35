"""The key value kit on a profile."""

from datetime import timedelta

import pytest

from ankka.codec import DONE, Done
from ankka.effects.common import Error, ErrorCode
from ankka.effects.key_value import KeyValueEffect
from ankka.key_value_entity import command
from ankka.testkit import KeyValueTestKit
from ankka.testkit.key_value_kit import KeyValueCall
from tests.unit.profile import Profile, ProfileEntity
from tests.unit.shopping_cart import CartEntity


def test_commands_and_state() -> None:
    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    assert (kit.state, kit.sequence, kit.deleted) == (Profile("p1"), 0, False)
    assert kit.call("rename", "Aino") == KeyValueCall(Profile("Aino"), None, True, Profile("Aino"))
    assert kit.call(ProfileEntity.grow).reply == 1
    assert (kit.state, kit.sequence) == (Profile("Aino", 1), 2)


def test_what_leaves_nothing_in_the_journal() -> None:
    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    assert kit.call("read") == KeyValueCall(Profile("p1"))
    assert kit.call("touch") == KeyValueCall(DONE)
    assert kit.call("rename", "") == KeyValueCall(error=Error(ErrorCode.CONFLICT, "a name is needed"))
    assert kit.call("drop") == KeyValueCall(Profile("p1")), "nothing lived"
    assert (kit.sequence, kit.deleted) == (0, False)


def test_none_is_a_state_like_any_other() -> None:
    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    assert kit.call("clear") == KeyValueCall(DONE, None, True, None)
    assert (kit.state, kit.call("read").reply) == (None, None)


def test_delete() -> None:
    kit = KeyValueTestKit.of(ProfileEntity, "p1")
    kit.call("rename", "Aino")
    assert kit.call("drop") == KeyValueCall(Profile("p1"), None, True, Profile("p1")), "the reply is made from the empty state"
    assert (kit.state, kit.sequence, kit.deleted) == (Profile("p1"), 0, True)
    kit.call("rename", "Aino")
    assert (kit.sequence, kit.deleted) == (1, False)


async def test_inside_a_running_loop() -> None:
    assert KeyValueTestKit.of(ProfileEntity).call("grow").changed


def test_an_input_of_another_type() -> None:
    error = KeyValueTestKit.of(ProfileEntity).call("rename", 3).error
    assert error is not None
    assert error.code is ErrorCode.BAD_REQUEST


def test_another_kind_of_entity_is_refused() -> None:
    with pytest.raises(TypeError, match=r"CartEntity is an event sourced entity, not a key value entity; use EventSourcedTestKit\.of\(CartEntity\)"):
        KeyValueTestKit.of(CartEntity)  # type: ignore[arg-type]  # pyright: ignore


class SessionEntity(ProfileEntity):
    component_id = "session"

    @command("touch-for-a-while")
    def touch_for_a_while(self) -> KeyValueEffect[Profile | None, Done]:
        return self.effects.update_state(Profile("there")).expire_after(timedelta(minutes=15)).then_reply(lambda _: DONE)


def test_it_expires_when_its_time_is_over() -> None:
    kit = KeyValueTestKit.of(SessionEntity, "s1")
    kit.call("touch-for-a-while")
    kit.advance(timedelta(minutes=10))
    kit.call("touch-for-a-while")
    kit.advance(timedelta(minutes=15, microseconds=-1))
    assert kit.state == Profile("there")
    kit.advance(timedelta(microseconds=1))  # F92
    assert (kit.state, kit.sequence, kit.deleted) == (Profile("s1"), 0, True)
    assert [entry.type for entry in kit.journal] == ["updated", "updated", "deleted"]
