"""Which codec a type has, and how it reads payloads of other content types than its own."""

import subprocess
import sys
from typing import Any, NewType
from uuid import UUID

import pydantic
import pytest

from ankka.codec import DONE, Codec, CodecError, Done, EncodingError, default_codec_for, json_codec
from ankka.codecs.by_value import payload_of
from ankka.protocol.payload import BYTES, JSON, NOTHING, TEXT, Payload
from tests.unit.codec.codec_samples import Added, Event, Mode, Order, Removed

Name = NewType("Name", str)

WHOLE: list[tuple[Any, Any, bytes, str, str | None]] = [
    (str, "ok\n\u2028é", "ok\n\u2028é".encode(), TEXT, "str"),
    (Name, Name("a"), b"a", TEXT, "str"),
    (int, 10**30, b"1" + b"0" * 30, TEXT, "int"),
    (float, 1.0, b"1.0", TEXT, "float"),
    (bool, False, b"false", TEXT, "bool"),
    (bytes, b"\x00\xff", b"\x00\xff", BYTES, None),
    (Done, DONE, b"", NOTHING, None),
    (None, None, b"", NOTHING, None),
    (str | None, "ok", b'"ok"', JSON, None),
    (Mode, Mode.OK, b'"ok"', JSON, None),
    (Order, Order("o"), b'{"id":"o","lines":[],"note":null}', JSON, None),
]


@pytest.mark.parametrize(("annotation", "value", "data", "content_type", "primitive"), WHOLE, ids=lambda item: str(item)[:30])
def test_default_codec(annotation: Any, value: Any, data: bytes, content_type: str, primitive: str | None) -> None:
    codec: Codec[Any] = default_codec_for(annotation)
    assert codec is default_codec_for(annotation)
    assert codec.encode_payload(value) == Payload(data, content_type)
    back = codec.decode_payload(Payload(data, content_type))
    assert back == value
    assert type(back) is type(value)
    spec = codec.spec()
    assert (spec.content_type, spec.primitive, spec.schema) == (content_type, primitive, codec.schema())


OTHERS: list[tuple[Any, Payload, Any]] = [
    (str, Payload(b'"ok"', JSON), "ok"),
    (str, Payload(b"", TEXT), ""),
    (int, Payload(b"3", JSON), 3),
    (float, Payload(b"3", TEXT), 3.0),
    (bool, Payload(b"true", JSON), True),
    (bytes, Payload(b'"/w=="', JSON), b"\xff"),
    (str | None, Payload(b"ok", TEXT), "ok"),
    (str | None, Payload(b"", TEXT), ""),
    (str | None, Payload(b"", NOTHING), None),
    (int | None, Payload(b"3", TEXT), 3),
    (Mode, Payload(b"ok", TEXT), Mode.OK),
    (UUID, Payload(b"12345678-1234-5678-1234-567812345678", TEXT), UUID("12345678-1234-5678-1234-567812345678")),
    (Done, Payload(b"null", JSON), DONE),
    (Done, Payload(b"", JSON), DONE),
    (None, Payload(b"", TEXT), None),
]


@pytest.mark.parametrize(("annotation", "payload", "value"), OTHERS, ids=lambda item: str(item)[:30])
def test_payload_of_another_content_type_is_read_where_it_is_unambiguous(annotation: Any, payload: Payload, value: Any) -> None:
    back = default_codec_for(annotation).decode_payload(payload)
    assert back == value
    assert type(back) is type(value)


WRONG: list[tuple[Any, Payload, str]] = [
    (str, Payload(b"", NOTHING), "a value is required, str, and there is none"),
    (Order, Payload(b"", NOTHING), "a value is required, Order, and there is none"),
    (Order, Payload(b"x", TEXT), "expected application/json, got text/plain"),
    (str | int, Payload(b"3", TEXT), "expected application/json, got text/plain"),
    (int, Payload(b"x3", TEXT), "expected int, got text 'x3'"),
    (int, Payload(b"", TEXT), "expected int, got an empty text"),
    (float, Payload(b"1,5", TEXT), "expected float, got text '1,5'"),
    (bool, Payload(b"True", TEXT), "expected bool, got text 'True'"),
    (int, Payload(b"9" * 100 + b"x", TEXT), f"expected int, got text '{'9' * 27}…{'9' * 27}x'"),
    (int, Payload(b"[" * 100_000, TEXT), f"expected int, got text '{'[' * 27}…{'[' * 28}'"),
    (int, Payload(b"\xff", TEXT), "not UTF-8: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    (int | None, Payload(b"x3", TEXT), "expected int | None, got text 'x3'"),
    (int | None, Payload(b"\xff", TEXT), "not UTF-8: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    (int, Payload(b"x3", JSON), "not JSON: invalid character (byte 0)"),
    (int, Payload(b"", JSON), "empty, where JSON is expected"),
    (int, Payload(b'"3"', JSON), "expected int, got str '3'"),
    (int, Payload(b"true", TEXT), "expected int, got bool True"),
    (str, Payload(b"3", JSON), "expected str, got int 3"),
    (str, Payload(b"\xff", TEXT), "not UTF-8: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    (bytes, Payload(b"x", TEXT), "expected application/octet-stream, got text/plain"),
    (Done, Payload(b"3", JSON), "expected nothing, got 1 byte of application/json"),
    (Done, Payload(b"300", JSON), "expected nothing, got 3 bytes of application/json"),
]


@pytest.mark.parametrize(("annotation", "payload", "reason"), WRONG, ids=lambda item: str(item)[:30])
def test_payload_that_does_not_fit_is_refused(annotation: Any, payload: Payload, reason: str) -> None:
    with pytest.raises(EncodingError) as caught:
        default_codec_for(annotation).decode_payload(payload, "input")
    assert caught.value.reason == reason
    assert str(caught.value).startswith("input of type ")


@pytest.mark.parametrize(
    ("annotation", "value"), [(str, 3), (str, "\ud800"), (int, True), (float, float("inf")), (bytes, "x"), (Done, None), (None, DONE)]
)
def test_whole_value_of_another_type_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(EncodingError):
        default_codec_for(annotation).encode_payload(value)


BY_VALUE: list[tuple[Any, bytes]] = [
    ("a", b"a"),
    ([1, "a", None, 1.5, {"b": [True]}], b'[1,"a",null,1.5,{"b":[true]}]'),
    ([], b"[]"),
    ({}, b"{}"),
    (set[str](), b"[]"),
    ((), b"[]"),
    ([Added("a"), Added("b")], b'[{"item":"a","quantity":1},{"item":"b","quantity":1}]'),
    ([Added("a"), Removed("b"), None], b'[{"type":"Added","item":"a","quantity":1},{"type":"Removed","item":"b"},null]'),
    ({UUID(int=1): {Added("b"), Added("a")}}, b'{"00000000-0000-0000-0000-000000000001":[{"item":"a","quantity":1},{"item":"b","quantity":1}]}'),
    ((1, Added("a"), {"b", "a"}), b'[1,{"item":"a","quantity":1},["a","b"]]'),
    ([[Added("a")], []], b'[[{"item":"a","quantity":1}],[]]'),
    ({3: "a"}, b'{"3":"a"}'),
    (frozenset({2, 1}), b"[1,2]"),
]


@pytest.mark.parametrize(("value", "data"), BY_VALUE, ids=[str(number) for number in range(len(BY_VALUE))])
def test_a_value_of_no_declared_type_is_encoded_by_what_it_is(value: Any, data: bytes) -> None:
    assert payload_of(value).data == data


@pytest.mark.parametrize("value", [object(), [object()], {1: 1j}, ["\ud800"], [Added("a"), {"b": "c"}], float("nan"), {("a", 1): 2}])
def test_a_value_of_no_declared_type_that_cannot_be_encoded_is_refused(value: Any) -> None:
    with pytest.raises((EncodingError, CodecError)):
        payload_of(value)


def test_manifest_travels_with_the_payload() -> None:
    assert json_codec(Event, "cart-event").encode_payload(Added("a")).manifest == "cart-event"


def test_codec_of_ones_own_is_checked_before_anything_leaves() -> None:
    class Shout(Codec[str]):
        manifest = "shout"
        content_type = TEXT

        def encode(self, value: str) -> bytes:
            return value.upper().encode()

        def decode(self, data: bytes) -> str:
            return data.decode()

        def schema(self) -> dict[str, Any]:
            return {"type": "string"}

    assert Shout().encode_payload("A") == Payload(b"A", TEXT, "shout")
    with pytest.raises(EncodingError, match=r"state 'shout': \$: str 'a' would come back as str 'A'"):
        Shout().encode_payload("a", "state")


def test_schema_names_every_class_once_and_says_what_is_required() -> None:
    schema = json_codec(Order, "order").schema()
    assert schema["$ref"] == "#/$defs/Order"
    assert schema["$defs"]["Order"]["required"] == ["id"]
    assert schema["$defs"]["Line"]["properties"]["price"] == {"type": "string", "format": "decimal", "default": "0.00"}
    cases = json_codec(Event, "event").schema()["oneOf"]
    assert [case["allOf"][1]["properties"]["type"]["const"] for case in cases] == ["Added", "AddedTwice", "Removed"]


def test_fingerprint_changes_with_the_form_of_the_data_and_not_otherwise() -> None:
    assert json_codec(Order, "a").fingerprint() == json_codec(Order, "b").fingerprint()
    assert json_codec(Order, "a").fingerprint() != json_codec(Event, "a").fingerprint()
    assert json_codec(set[int], "a").fingerprint() != json_codec(list[int], "a").fingerprint()


def test_an_edited_docstring_does_not_change_the_fingerprint() -> None:  # F73
    def model(words: str, of: Any = str) -> Codec[Any]:
        cls: Any = pydantic.create_model("Model", __doc__=words, description=(of, pydantic.Field(description=words)))
        return json_codec(cls, "a")

    assert model("One.").schema() != model("Two.").schema()
    assert model("One.").fingerprint() == model("Two.").fingerprint() != model("One.", int).fingerprint()


def test_importing_the_codecs_does_not_load_pydantic() -> None:
    code = "import ankka.codec, sys; ankka.codec.default_codec_for(dict[str, int]); print('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
