"""Pages of a listing, the same for every journal: the limit, and the opaque cursor that continues behind a page."""

import msgspec

from ankka_sidecar.ports.journal import MAX_PAGE, Found, InvalidQuery, Page, Query


def position_of(query: Query) -> tuple[str, str] | None:
    """(component, instance) behind which `query` continues; `InvalidQuery` if its limit or cursor cannot be.

    >>> position_of(Query()) is None
    True
    """
    if not 1 <= query.limit <= MAX_PAGE:
        raise InvalidQuery(f"limit {query.limit}: expected 1 to {MAX_PAGE}")
    if query.after is None:
        return None
    try:
        return msgspec.json.decode(bytes.fromhex(query.after), type=tuple[str, str])
    except (ValueError, msgspec.MsgspecError):
        raise InvalidQuery(f"cursor {query.after[:100]!r} is not one that a page gave; pass a page's `next` unchanged") from None


def page_of(found: list[Found], limit: int) -> Page:
    """A page of at most `limit` of what was found, where one more than `limit` was looked for."""
    if len(found) <= limit:
        return Page(items=tuple(found))
    items = tuple(found[:limit])
    last = items[-1]
    return Page(items=items, next=msgspec.json.encode((last.component, last.instance)).hex())
