"""Which input a keyed command was given: equal for inputs that are equal once decoded, and for no others (W15)."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import pytest
from pydantic import BaseModel, field_serializer, field_validator

from ankka.codec import json_codec
from ankka.definition.build import definition_of
from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
from ankka.effects.key_value import KeyValueEffect
from ankka.effects.workflow import WorkflowEffect
from ankka.event_sourced_entity import EventSourcedEntity, command, query
from ankka.key_value_entity import KeyValueEntity
from ankka.process.dispatch import run_command
from ankka.process.dispatch_fingerprint import fingerprint
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import EntityCommandDone, Fingerprint, Fingerprinted, Refused, Replied, RunCommand, WorkflowCommandDone
from ankka.protocol.payload import JSON, NOTHING, TEXT, Payload
from ankka.workflow import Workflow

KEY = b"u0123456789abcdef"


@dataclass
class Line:
    sku: str
    quantity: int = 1


@dataclass
class Basket:
    lines: list[Line]
    tags: set[str]


class Unwritable(BaseModel):
    text: str

    @field_serializer("text")
    def _text(self, text: str) -> str:
        raise ValueError(f"{text} cannot be written")


class Picky(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def _checked(cls, text: str) -> str:
        raise SystemExit(text)


class Baskets(EventSourcedEntity[int, int]):
    component_id = "baskets"
    state_codec = json_codec(int, "baskets")
    event_codec = json_codec(int, "filled")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("fill")
    def fill(self, basket: Basket) -> EventSourcedEffect[int, int, int]:
        count = len(basket.lines)
        basket.lines.clear()  # what it was given counts, not what it makes of it
        return self.effects.persist(count).then_reply_state()

    @command("look")
    def look(self, basket: Basket) -> EventSourcedEffect[int, int, int]:
        return self.effects.reply(len(basket.lines))

    @command("note")
    def note(self, text: str | None = "nothing") -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(len(text or "")).then_reply_state()

    @command("clear")
    def clear(self) -> EventSourcedEffect[int, int, int]:
        return self.effects.delete_entity().then_reply_state()

    @command("odd")
    def odd(self, given: Unwritable) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(len(given.text)).then_reply_state()

    @command("picky")
    def picky(self, given: Picky) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(len(given.text)).then_reply_state()

    @query("size")
    def size(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


class Settings(KeyValueEntity[int]):
    component_id = "settings"
    state_codec = json_codec(int, "settings")

    def empty_state(self) -> int:
        return 0

    @command("set")
    async def set(self, value: int) -> KeyValueEffect[int, int]:
        return self.effects.update_state(value).then_reply_state()


class Flow(Workflow[int]):
    component_id = "flow"
    state_codec = json_codec(int, "flow")

    def empty_state(self) -> int:
        return 0

    @command("set")
    def set(self, value: int) -> WorkflowEffect[int, int]:
        return self.effects.update_state(value).then_reply_state()


def ran(handler: str, given: Payload | None, component: Any = Baskets, key: bytes | None = KEY) -> Any:
    definition = definition_of(component)
    return run_command(definition, RunCommand(1, definition.component_id, "b1", handler, given, None, 0, 1_000_000, key=key))


def told(handler: str, given: Payload | None, component: Any = Baskets) -> bytes:
    definition = definition_of(component)
    answer = fingerprint(definition, Fingerprint(7, definition.component_id, "b1", handler, given, 1_000_000))
    assert isinstance(answer, Fingerprinted)
    assert answer.request == 7
    assert len(answer.fingerprint) == 16
    return answer.fingerprint


BASKET = Payload(b'{"lines":[{"sku":"a","quantity":1}],"tags":["x","y","z"]}')


@pytest.mark.parametrize(
    "same",
    [
        b'{"tags":["z","x","y"],"lines":[{"quantity":1,"sku":"a"}]}',
        b'{"lines": [ {"sku": "\\u0061"} ], "tags": ["x", "y", "z", "x"]}',
        b'{"lines":[{"sku":"a","quantity":1,"new-field":7}],"tags":["x","y","z"]}',
    ],
)
def test_w15_inputs_that_are_equal_once_decoded_have_the_same_fingerprint(same: bytes) -> None:
    assert told("fill", Payload(same)) == told("fill", BASKET)


@pytest.mark.parametrize(
    ("handler", "other"),
    [
        ("fill", b'{"lines":[{"sku":"a","quantity":2}],"tags":["x","y","z"]}'),
        ("fill", b'{"lines":[{"sku":"a"},{"sku":"a"}],"tags":["x","y","z"]}'),
        ("fill", b'{"lines":[{"sku":"a"}],"tags":["x","y"]}'),
        ("look", BASKET.data),
    ],
)
def test_w15_other_inputs_and_other_handlers_have_another(handler: str, other: bytes) -> None:
    assert told(handler, Payload(other)) != told("fill", BASKET)


@pytest.mark.parametrize(
    ("component", "handler", "given"),
    [
        (Baskets, "fill", BASKET),
        (Baskets, "note", Payload(b'"hello"')),
        (Baskets, "note", Payload(b"hello", TEXT)),
        (Baskets, "note", Payload(b"null")),
        (Baskets, "note", None),
        (Baskets, "clear", None),
        (Baskets, "clear", Payload(b"", NOTHING)),
        (Baskets, "odd", Payload(b'{"text":"x"}')),
        (Flow, "set", Payload(b"3", TEXT)),
        (Flow, "set", Payload(b"3", JSON)),
    ],
)
def test_w15_a_command_with_a_key_answers_the_fingerprint_that_is_told_for_its_input(component: Any, handler: str, given: Payload | None) -> None:
    answer = ran(handler, given, component)
    assert isinstance(answer, EntityCommandDone | WorkflowCommandDone)
    assert answer.fingerprint == told(handler, given, component)


async def test_w15_an_async_handlers_too() -> None:
    coming = cast("Coroutine[Any, Any, Any]", ran("set", Payload(b"3", TEXT), Settings))
    answer = await coming
    assert answer == EntityCommandDone(1, answer.reply, state=answer.state, fingerprint=told("set", Payload(b"3", TEXT), Settings))


def test_w15_how_an_input_is_spelled_does_not_count() -> None:
    spellings = [Payload(b'"hello"'), Payload(b"hello", TEXT), Payload(b'"h\\u0065llo"')]
    assert len({told("note", given) for given in spellings}) == 1
    assert told("note", Payload(b"null")) == told("note", Payload(b" null "))
    assert len({told("note", given) for given in (Payload(b"null"), Payload(b'""'), None)}) == 3, "absent, None and empty stay different"
    assert told("clear", None) == told("clear", Payload(b"", NOTHING))


def test_w15_an_input_that_cannot_be_written_again_is_told_by_what_it_was_read_from() -> None:
    assert told("odd", Payload(b'{"text":"x"}')) == told("odd", Payload(b'{ "text": "x" }')) != told("odd", Payload(b'{"text":"y"}'))


def test_a_command_without_a_key_has_no_fingerprint_and_neither_has_what_changes_nothing() -> None:
    answer = ran("fill", BASKET, key=None)
    assert isinstance(answer, EntityCommandDone)
    assert answer.fingerprint == b""
    assert isinstance(ran("look", BASKET), Replied)
    assert isinstance(ran("size", None), Replied)


def _of(handler: str, given: Payload | None) -> Callable[[], Any]:
    return lambda: fingerprint(definition_of(Baskets), Fingerprint(7, "baskets", "b1", handler, given, 1_000_000))


@pytest.mark.parametrize(
    ("handler", "given", "code"),
    [
        ("fill", Payload(b'{"lines":7}'), ErrorCode.BAD_REQUEST),
        ("fill", None, ErrorCode.BAD_REQUEST),
        ("clear", Payload(b"7"), ErrorCode.BAD_REQUEST),
        ("fil", BASKET, ErrorCode.NOT_FOUND),
        ("picky", Payload(b'{"text":"x"}'), ErrorCode.INTERNAL),
    ],
)
def test_an_input_that_cannot_be_read_is_refused_as_its_command_is(handler: str, given: Payload | None, code: ErrorCode) -> None:
    asked, commanded = _of(handler, given)(), ran(handler, given)
    assert isinstance(asked, Refused)
    assert isinstance(commanded, Refused)
    assert (asked.request, asked.error.code, commanded.error.code) == (7, code, code)
    if code is not ErrorCode.INTERNAL:
        assert asked.error == commanded.error


def test_the_fingerprint_is_pinned() -> None:
    # it lies in journals: another value would be a CONFLICT for a retry across an upgrade
    assert told("fill", BASKET).hex() == "db40fc22d6045219e6ec60d9b1bb2ce8"
    assert told("clear", None).hex() == "dba3039bd162e32562e8d503ae766f46"
