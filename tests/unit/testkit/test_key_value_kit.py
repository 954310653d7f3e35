"""The key value kit on a profile."""

import pytest

from ankka.codec import DONE
from ankka.effects.common import Error, ErrorCode
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
    with pytest.raises(TypeError, match="CartEntity is no key value entity; use EventSourcedTestKit"):
        KeyValueTestKit.of(CartEntity)  # type: ignore[arg-type]  # pyright: ignore
