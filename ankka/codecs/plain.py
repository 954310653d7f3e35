"""Codecs of whole values that are not JSON: primitives as text, bytes as they are, and nothing at all."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from ankka.codecs.codec import Codec
from ankka.codecs.describing import shortened
from ankka.codecs.done import DONE, Done
from ankka.codecs.engine import Engine
from ankka.codecs.errors import Mismatch, unexpected
from ankka.protocol.payload import BYTES, JSON, NOTHING, TEXT, Payload

T = TypeVar("T")

PRIMITIVES: Final = (str, int, float, bool)


def parsed(data: bytes, expected: str) -> Any:
    """The JSON value that plain text stands for; a `Mismatch` that says `expected` if it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        text = data.decode()
    raise Mismatch(f"expected {expected}, got {f'text {shortened(text)}' if text else 'an empty text'}")


def counted(size: int) -> str:
    """A number of bytes, in words."""
    return "1 byte" if size == 1 else f"{size:,} bytes"


def not_utf8(error: UnicodeDecodeError) -> Mismatch:
    """The mismatch of bytes that are no text."""
    return Mismatch(f"not UTF-8: {error}")


class TextCodec(Codec[T], Generic[T]):
    """`str` as it is, in UTF-8; `int`, `float` and `bool` exactly as in JSON."""

    content_type = TEXT

    def __init__(self, annotation: Any, of: type) -> None:
        self.type = annotation
        self.primitive: str | None = of.__name__
        self._raw = of is str
        self._engine = Engine(annotation)

    def encode(self, value: T) -> bytes:
        return self._encoded(value, "value")

    def _encoded(self, value: T, role: str) -> bytes:
        try:
            if self._raw and self._engine.plan.proven:
                self._engine.plan.check(value)
                return cast("str", value).encode()
            data = self._engine.encode(value)
            return cast("str", value).encode() if self._raw else data
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from None

    def decode(self, data: bytes) -> T:
        return self._decoded(data, "value")

    def _decoded(self, data: bytes, role: str) -> T:
        try:
            if self._raw:
                return cast("T", self._engine.lift(data.decode()))
            return cast("T", self._engine.lift(parsed(data, self._engine.plan.name)))
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from None
        except UnicodeDecodeError as error:
            raise self.wrong(not_utf8(error), role) from None

    def encode_payload(self, value: T, role: str = "value") -> Payload:
        return Payload(self._encoded(value, role), TEXT, self.manifest)

    def decode_payload(self, payload: Payload, role: str = "value") -> T:
        if payload.content_type == TEXT:
            return self._decoded(payload.data, role)
        if payload.content_type != JSON:
            raise self.wrong(self.not_taken(payload), role)
        try:
            return cast("T", self._engine.decode(payload.data))
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from None

    def schema(self) -> dict[str, Any]:
        return self._engine.schema()


class BytesCodec(Codec[bytes]):
    """`bytes` as they are; as JSON they come as base64."""

    content_type = BYTES

    def __init__(self, annotation: Any) -> None:
        self.type = annotation
        self._engine = Engine(annotation)

    def encode(self, value: bytes) -> bytes:
        return self._checked(value, "value")

    def _checked(self, value: bytes, role: str) -> bytes:
        try:
            self._engine.plan.check(value)
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from None
        return value

    def decode(self, data: bytes) -> bytes:
        return bytes(data)

    def encode_payload(self, value: bytes, role: str = "value") -> Payload:
        return Payload(self._checked(value, role), BYTES, self.manifest)

    def decode_payload(self, payload: Payload, role: str = "value") -> bytes:
        if payload.content_type == BYTES:
            return payload.data
        if payload.content_type != JSON:
            raise self.wrong(self.not_taken(payload), role)
        try:
            return cast("bytes", self._engine.decode(payload.data))
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from None

    def schema(self) -> dict[str, Any]:
        return self._engine.schema()


class NothingCodec(Codec[T], Generic[T]):
    """`Done` and `None`: no bytes at all."""

    content_type = NOTHING

    def __init__(self, value: T) -> None:
        self.type: Any = Done if value is DONE else type(None)
        self._value = value

    def encode(self, value: T) -> bytes:
        return self._empty(value, "value")

    def _empty(self, value: T, role: str) -> bytes:
        if value is not self._value:
            raise self.wrong(unexpected(repr(self._value), value), role)
        return b""

    def decode(self, data: bytes) -> T:
        if data:
            raise self.wrong(Mismatch(f"expected nothing, got {counted(len(data))}"))
        return self._value

    def encode_payload(self, value: T, role: str = "value") -> Payload:
        return Payload(self._empty(value, role), NOTHING, self.manifest)

    def decode_payload(self, payload: Payload, role: str = "value") -> T:
        if payload.content_type == JSON and self._is_null(payload.data):
            return self._value
        if payload.data:
            raise self.wrong(Mismatch(f"expected nothing, got {counted(len(payload.data))} of {payload.content_type or 'no type'}"), role)
        return self._value

    def _is_null(self, data: bytes) -> bool:
        try:
            return msgspec.json.decode(data) is None
        except msgspec.DecodeError:
            return False

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}
