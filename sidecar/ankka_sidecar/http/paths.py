"""Paths and query strings: taken apart in their raw form, so that an id may hold an encoded slash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote_to_bytes

from ankka_sidecar.http.problems import Scope, bad_request

MAX_PATH = 8_192
"""Bytes of a path at most; an id of 512 bytes takes 1,536 when all of it is percent-encoded."""

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def split_path(raw_path: bytes) -> list[str] | None:
    """The decoded parts of a path below `/v1/`; `None` for another path. What cannot be a path is a `Problem`.

    >>> split_path(b"/v1/checkout/a%2Fb/ankka%3Alifecycle")
    ['checkout', 'a/b', 'ankka:lifecycle']
    """
    if len(raw_path) > MAX_PATH:
        raise bad_request(f"the path has {len(raw_path):,} bytes; at most {MAX_PATH:,} are taken", 414)
    if not raw_path.startswith(b"/v1/"):
        return None
    return [_decoded(part) for part in raw_path[4:].split(b"/")]


def _decoded(part: bytes) -> str:
    if b"%" in part and _BAD_ESCAPE.search(part):
        raise bad_request(f"the path part {_shown(part)} is not percent-encoded: write a percent sign as %25")
    try:
        return unquote_to_bytes(part).decode("utf-8") if b"%" in part else part.decode("utf-8")
    except UnicodeDecodeError:
        raise bad_request(f"the path part {_shown(part)} is not percent-encoded UTF-8") from None


def _shown(part: bytes) -> str:
    return repr(part[:80].decode("ascii", "backslashreplace"))


def query_of(scope: Scope, known: Sequence[str]) -> dict[str, str]:
    """The query parameters, each at most once; an unknown one is a `Problem`, for it would be ignored otherwise."""
    text = scope["query_string"]
    if not text:
        return {}
    given: dict[str, str] = {}
    for name, value in parse_qsl(text.decode("latin-1"), keep_blank_values=True):
        if name not in known:
            raise bad_request(f"unknown query parameter {name[:80]!r}; known here: {', '.join(known) or 'none'}")
        if name in given:
            raise bad_request(f"the query parameter {name!r} is given twice")
        given[name] = value
    return given
