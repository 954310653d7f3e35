"""Commands of a key value entity, from frame to frame."""

import inspect

import pytest

from ankka.definition.build import definition_of
from ankka.process.dispatch import run_command, run_query
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import EntityCommandDone, Refused, Replied, RunCommand, RunQuery
from ankka.protocol.payload import JSON, Payload
from ankka.protocol.spec import ComponentKind
from tests.unit.profile import Profile, ProfileEntity

DEFINITION = definition_of(ProfileEntity)
AINO = DEFINITION.state_codec.encode_payload(Profile("Aino", 3))


async def run(handler: str, state: Payload | None = AINO, input: bytes | None = None) -> EntityCommandDone | Replied | Refused:
    given = None if input is None else Payload(input, JSON)
    answer = run_command(DEFINITION, RunCommand(7, "profile", "p1", handler, given, state, 3, 1_000_000))
    done = await answer if inspect.isawaitable(answer) else answer
    assert isinstance(done, EntityCommandDone | Replied | Refused)
    return done


def test_it_is_declared_as_what_it_is() -> None:
    spec = DEFINITION.spec()
    assert (spec.kind, spec.steps, spec.manifest) == (ComponentKind.KEY_VALUE_ENTITY, (), "profile")
    assert {handler.name: handler.read_only for handler in spec.handlers}["rename"] is False


async def test_an_update_is_the_whole_state_and_no_event() -> None:
    done = await run("grow")
    assert isinstance(done, EntityCommandDone)
    assert (done.request, done.events, done.delete, done.expire_after) == (7, (), False, None)
    assert done.state == DEFINITION.state_codec.encode_payload(Profile("Aino", 4))
    assert done.reply.data == b"4"


async def test_none_is_an_update_too() -> None:
    done = await run("clear")
    assert isinstance(done, EntityCommandDone)
    assert done.state == DEFINITION.state_codec.encode_payload(None)


async def test_an_expiry_is_in_microseconds() -> None:
    done = await run("lend")
    assert isinstance(done, EntityCommandDone)
    assert (done.state, done.expire_after) == (AINO, 2_000_000)


async def test_after_a_deletion_the_state_is_the_empty_one() -> None:  # W10
    done = await run("drop")
    assert isinstance(done, EntityCommandDone)
    assert (done.state, done.delete, done.expire_after) == (None, True, None)
    assert DEFINITION.state_codec.decode_payload(done.reply) == Profile("p1")


async def test_a_reply_alone_changes_nothing() -> None:
    assert isinstance(await run("touch"), Replied)


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        ("spoil", "the state 'spoil' of profile/p1 sets cannot be encoded"),
        ("begin", "returned an effect without a reply"),
        ("meddle", "a query changes nothing"),
    ],
)
async def test_an_effect_that_cannot_be_used(handler: str, says: str) -> None:  # W2
    refused = await run(handler)
    assert isinstance(refused, Refused)
    assert refused.error.code is ErrorCode.INTERNAL
    assert says in refused.error.message


def test_a_query_sees_the_state() -> None:
    answer = run_query(DEFINITION, RunQuery(7, "profile", "p1", "read", None, AINO, 3, 1_000_000))
    assert isinstance(answer, Replied)
    assert DEFINITION.state_codec.decode_payload(answer.reply) == Profile("Aino", 3)
