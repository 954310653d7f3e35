"""A value whose type nobody has declared: the input of a call by names."""

from typing import Any, Final, Union, cast, get_origin

from ankka.codecs.errors import CodecError, EncodingError
from ankka.codecs.plan import type_of
from ankka.codecs.selecting import default_codec_for
from ankka.protocol.payload import Payload

_CONTAINERS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset, dict)


def payload_of(value: object) -> Payload:
    """The payload of a value by its own type; a container's type is said by what is in it.

    Raises `EncodingError`, or `CodecError` where there can be no codec for its type.

    >>> from datetime import date
    >>> payload_of({"from": date(2026, 5, 1)}).data, payload_of({"b", "a"}).data
    (b'{"from":"2026-05-01"}', b'["a","b"]')
    """
    try:
        return default_codec_for(type_of(value)).encode_payload(value)
    except (CodecError, EncodingError):
        if type_of(value) not in _CONTAINERS:
            raise
        found = _type_of_all_in(value)
        if found is type_of(value):
            raise
    return default_codec_for(found).encode_payload(value)


def _type_of_all_in(value: Any) -> Any:
    """The type of a value, with those of its items in it; an empty container is as it is."""
    of: Any = type_of(value)
    if of not in _CONTAINERS or (not value and of not in (set, frozenset)):
        return of
    items: tuple[Any, ...] = (None,)
    if of is dict:
        items = (_union(value), _union(value.values()))
    elif of is tuple:
        items = tuple(_type_of_all_in(item) for item in value)
    elif value:
        items = (_union(value),)
    return cast("Any", of)[items]


def _union(items: Any) -> Any:
    """The union of the items' types; of an empty container beside a filled one the filled one's."""
    found = dict.fromkeys(_type_of_all_in(item) for item in items)
    filled = {get_origin(one) for one in found}
    return cast("Any", Union)[tuple(one for one in found if one not in filled)]
