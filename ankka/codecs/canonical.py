"""Encoded values in one form: the same bytes for payloads that are equal once they are decoded."""

import msgspec

from ankka.protocol.payload import JSON, Payload

_parse = msgspec.json.Decoder().decode
_written = msgspec.json.Encoder(order="sorted").encode


def canonical(payload: Payload | None) -> bytes:
    r"""A payload in one form: its content type, and its JSON with the keys of all objects in order; no payload is empty.

    The items of an array stay as they are; those of a set were put in order when it was encoded. What is no JSON,
    though it says so, is taken as it is.

    >>> canonical(Payload(b'{ "b": 1, "a": [2, 1] }'))
    b'application/json\x00{"a":[2,1],"b":1}'
    >>> canonical(Payload(b"ok", "text/plain")), canonical(Payload(b"", "")), canonical(None)
    (b'text/plain\x00ok', b'\x00', b'')
    """
    if payload is None:
        return b""
    data = payload.data
    if payload.content_type == JSON:
        try:
            data = _written(_parse(data))
        except (msgspec.MsgspecError, RecursionError):
            data = payload.data
    return b"%b\0%b" % (payload.content_type.encode(), data)
