"""What every codec can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from ankka.codecs.comparing import compare
from ankka.codecs.describing import type_name
from ankka.codecs.errors import EncodingError, Mismatch
from ankka.codecs.schemas import fingerprint
from ankka.protocol.payload import NOTHING, Payload
from ankka.protocol.spec import TypeSpec

T = TypeVar("T")


class Codec(ABC, Generic[T]):
    """Turns values of one type into bytes and back.

    `manifest` names the type in the journal; it stays when the class is renamed. `content_type` says what the bytes
    are. A codec of your own implements `encode`, `decode` and `schema`; `encode_payload` then decodes what was
    encoded and compares it, before anything leaves the process.
    """

    manifest: str = ""
    content_type: str
    type: Any = object
    """The annotation of the values."""
    primitive: str | None = None
    """`str`, `int`, `float` or `bool` where a value travels as plain text."""

    @abstractmethod
    def encode(self, value: T) -> bytes:
        """The bytes of a value. Raises `EncodingError`."""

    @abstractmethod
    def decode(self, data: bytes) -> T:
        """The value of these bytes. Raises `EncodingError`."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the values."""

    def resolve(self) -> None:
        """Make sure that the type can be held. Raises `CodecError` with all problems, or `UnresolvedType`."""

    @property
    def type_name(self) -> str:
        """The type, for messages."""
        return type_name(self.type)

    def encode_payload(self, value: T, role: str = "value") -> Payload:
        """The value as it leaves the process, proven to come back equal; `role` is for the message (`state`, `reply`)."""
        data = self.encode(value)
        try:
            compare(value, self.decode(data))
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from None
        return Payload(data, self.content_type, self.manifest)

    def decode_payload(self, payload: Payload, role: str = "value") -> T:
        """The value of a payload, by the content type the payload has."""
        if payload.content_type == self.content_type:
            return self.decode(payload.data)
        raise self.wrong(self.not_taken(payload), role)

    def not_taken(self, payload: Payload) -> Mismatch:
        """What is wrong with a payload of another content type than this codec's."""
        if payload.content_type == NOTHING:
            return Mismatch(f"a value is required, {self.type_name}, and there is none")
        return Mismatch(f"expected {self.content_type or 'no content'}, got {payload.content_type}")

    def spec(self, *, optional: bool = False) -> TypeSpec:
        """The type as it is declared to the sidecar."""
        return TypeSpec(self.type_name, self.content_type, self.schema(), self.primitive, optional)

    def fingerprint(self) -> str:
        """A digest of the schema, the same in every process: which form of the data this code reads and writes."""
        return fingerprint(self.schema())

    def wrong(self, mismatch: Mismatch, role: str = "value") -> EncodingError:
        """The error of a mismatch in a value of this codec."""
        subject = f"{role} {self.manifest!r}" if self.manifest else f"{role} of type {self.type_name}"
        return EncodingError(subject, mismatch.path, mismatch.reason)
