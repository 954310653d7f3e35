"""One form for payloads that are equal once decoded: what keys and fingerprints are made of (W15, W16)."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ankka.codec import DONE, default_codec_for
from ankka.codecs.canonical import canonical
from ankka.protocol.payload import BYTES, JSON, NOTHING, TEXT, Payload


@dataclass(frozen=True)
class Item:
    name: str
    price: Decimal
    tags: frozenset[str] = frozenset()


def test_the_order_of_keys_does_not_count_at_any_depth() -> None:
    first = Payload(b'{"b":[{"y":1,"x":2}],"a":{"d":null,"c":0.10}}')
    second = Payload(b'{"a":{"c":0.1,"d":null},\n "b":[{"x":2,"y":1}]}')
    assert canonical(first) == canonical(second) == b'application/json\0{"a":{"c":0.1,"d":null},"b":[{"x":2,"y":1}]}'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Payload(b"[1,2]"), Payload(b"[2,1]")),
        (Payload(b"1"), Payload(b"1", TEXT)),
        (Payload(b"1", TEXT), Payload(b"1", BYTES)),
        (Payload(b"1"), Payload(b"1.0")),
        (Payload(b'"1"'), Payload(b"1")),
        (Payload(b"null"), None),
        (Payload(b"", NOTHING), None),
        (Payload(b"", TEXT), Payload(b"", NOTHING)),
        (Payload(b"123456789012345678901234567890"), Payload(b"123456789012345678901234567891")),
    ],
)
def test_different_values_stay_different(one: Payload, other: Payload | None) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("data", [b"", b"{", b"1e999", b'{"a":' * 100_000])
def test_what_is_no_json_is_taken_as_it_is(data: bytes) -> None:
    assert canonical(Payload(data)) == JSON.encode() + b"\0" + data


def test_sets_and_dicts_count_by_what_they_hold() -> None:
    codec = default_codec_for(dict[str, Item])
    one = {"a": Item("x", Decimal("1.50"), frozenset({"p", "q", "r"})), "b": Item("y", Decimal(2))}
    other = {"b": Item("y", Decimal(2)), "a": Item("x", Decimal("1.50"), frozenset({"r", "q", "p"}))}
    assert canonical(codec.encode_payload(one)) == canonical(codec.encode_payload(other))
    assert canonical(default_codec_for(type(DONE)).encode_payload(DONE)) == b"\0"


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


def _reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reordered(item) for key, item in reversed(value.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [_reordered(item) for item in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


@given(JSON_VALUES)
def test_any_spelling_of_a_value_has_the_same_form(value: Any) -> None:
    plain = Payload(json.dumps(value).encode())
    spaced = Payload(json.dumps(_reordered(value), indent=1, ensure_ascii=False).encode())
    assert canonical(plain) == canonical(spaced)
    content = canonical(plain).removeprefix(b"application/json\0")
    assert json.loads(content) == value
    assert canonical(Payload(content)) == canonical(plain)
