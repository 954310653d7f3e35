"""The codec of most types: JSON, by a compiled plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ankka.codecs.codec import Codec
from ankka.codecs.engine import Engine
from ankka.codecs.errors import CodecError, Mismatch, UnresolvedType
from ankka.codecs.plain import not_utf8, parsed
from ankka.codecs.plan import Kind
from ankka.protocol.payload import JSON, NOTHING, TEXT, Payload

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")


class JsonCodec(Codec[T], Generic[T]):
    """Values as JSON. The type is compiled at once if all it names is defined, otherwise when it is first needed."""

    content_type = JSON

    def __init__(
        self,
        annotation: Any,
        manifest: str = "",
        tag: str = "type",
        names: Mapping[type, str] | None = None,
        aliases: Mapping[str, type] | None = None,
    ) -> None:
        self.type = annotation
        self.manifest = manifest
        self._union = (tag, names, aliases)
        self._engine: Engine | None = None
        try:
            self.resolve()
        except (CodecError, UnresolvedType):
            self._engine = None  # the class that has this codec reports it, with all else that is wrong with it

    def __repr__(self) -> str:
        return f"json_codec({self.type_name}, {self.manifest!r})"

    def resolve(self) -> None:
        self._resolved()

    def _resolved(self) -> Engine:
        if self._engine is None:
            self._engine = Engine(self.type, *self._union)
        return self._engine

    def encode(self, value: T) -> bytes:
        return self._encoded(value, "value")

    def _encoded(self, value: T, role: str) -> bytes:
        engine = self._engine or self._resolved()
        try:
            return engine.encode(value)
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from mismatch.__cause__

    def decode(self, data: bytes) -> T:
        return self._decoded(data, "value")

    def _decoded(self, data: bytes, role: str) -> T:
        engine = self._engine or self._resolved()
        try:
            return cast("T", engine.decode(data))
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from mismatch.__cause__

    def encode_payload(self, value: T, role: str = "value") -> Payload:
        return Payload(self._encoded(value, role), JSON, self.manifest)

    def decode_payload(self, payload: Payload, role: str = "value") -> T:
        if payload.content_type == JSON:
            return self._decoded(payload.data, role)
        engine = self._engine or self._resolved()
        try:
            if payload.content_type == NOTHING and engine.plan.kinds & Kind.NULL:
                return cast("T", engine.lift(None))
            if payload.content_type == TEXT:
                return cast("T", engine.lift(self._from_text(payload, engine.plan.kinds & ~Kind.NULL)))
        except Mismatch as mismatch:
            raise self.wrong(mismatch, role) from mismatch.__cause__
        raise self.wrong(self.not_taken(payload), role)

    def _from_text(self, payload: Payload, kinds: Kind) -> Any:
        """The JSON value that plain text stands for, where only one kind of value can be meant."""
        try:
            if kinds is Kind.STRING:
                return payload.data.decode()
            if kinds and not kinds & ~(Kind.NUMBER | Kind.BOOLEAN):
                return parsed(payload.data, self.type_name)
        except UnicodeDecodeError as error:
            raise not_utf8(error) from None
        raise self.not_taken(payload)

    def schema(self) -> dict[str, Any]:
        return self._resolved().schema()


def json_codec(
    type: TypeForm[T],
    manifest: str,
    *,
    tag: str = "type",
    names: Mapping[type[Any], str] | None = None,
    aliases: Mapping[str, type[Any]] | None = None,
) -> Codec[T]:
    """A codec that writes values as JSON and names them `manifest` in the journal.

    Dataclasses, unions of them, enums (by value), msgspec structs, TypedDicts and Pydantic models, and within them
    `str int float bool bytes Decimal datetime date time timedelta UUID list tuple set frozenset dict Optional Literal`.
    Classes in a union are told apart by a key `tag`, whose value is the class's name or what `names` says; `aliases`
    are names of the past that are still read. Names survive only what you write down: before a class is renamed, give
    it its old name in `names`, or put that among the `aliases`.

    Reading ignores fields it does not know and takes defaults for absent ones. A type that no codec can hold is
    reported when the component's class is defined, or by `resolve()`, at the latest at the first use: a `CodecError`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Added:
    ...     item: str
    ...     quantity: int = 1
    >>> @dataclass
    ... class Removed:
    ...     item: str
    >>> events = json_codec(Added | Removed, "cart-event")
    >>> events.encode(Added("apple"))
    b'{"type":"Added","item":"apple","quantity":1}'
    >>> events.decode(b'{"type":"Removed","item":"apple"}')
    Removed(item='apple')
    >>> events.encode(Added("apple", "no"))
    Traceback (most recent call last):
    ankka.codecs.errors.EncodingError: value 'cart-event': $.quantity: expected int, got str 'no'
    """
    return JsonCodec[T](type, manifest, tag, names, aliases)
