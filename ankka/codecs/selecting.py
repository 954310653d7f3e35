"""Which codec an input or a reply has."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ankka.codecs.codec import Codec
from ankka.codecs.done import DONE, Done
from ankka.codecs.hints import unwrapped
from ankka.codecs.json_codec import JsonCodec
from ankka.codecs.plain import PRIMITIVES, BytesCodec, NothingCodec, TextCodec

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")


def default_codec_for(type: TypeForm[T]) -> Codec[T]:
    """The codec of a handler's input or reply, or of a step's input.

    `str`, `int`, `float` and `bool` are text, `bytes` are as they are, `Done` and `None` are nothing at all, and all
    else is JSON. Raises `CodecError` for a type that no codec can hold, `UnresolvedType` for one not defined yet.

    >>> default_codec_for(str).encode("ok"), default_codec_for(str | None).encode("ok")
    (b'ok', b'"ok"')
    """
    try:
        hash(type)
    except TypeError:
        return _made(type)
    return cast("Codec[T]", _cached(cast("Any", type)))


def _made(annotation: Any) -> Codec[Any]:
    bare = unwrapped(annotation)
    codec: Codec[Any]
    if bare is Done:
        codec = NothingCodec(DONE)
    elif bare is type(None):
        codec = NothingCodec(None)
    elif bare in PRIMITIVES:
        codec = TextCodec(annotation, bare)
    elif bare is bytes:
        codec = BytesCodec(annotation)
    else:
        codec = JsonCodec(annotation)
    codec.resolve()
    return codec


_cached = lru_cache(maxsize=1024)(_made)
