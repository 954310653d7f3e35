"""Reading a list page by page, as far as it is wanted."""

from collections.abc import Iterator

import msgspec

from ankka.cli.api import Api

PAGE_MOST = 1_000


class Page(msgspec.Struct, frozen=True):
    """One page as the sidecar answers it; `next` is where the following one begins."""

    items: list[msgspec.Raw]
    next: str | None = None


def pages(api: Api, path: str, query: dict[str, str], size: int = PAGE_MOST) -> Iterator[Page]:
    """The pages of a list, in order."""
    after: str | None = None
    while True:
        asked = {**query, "limit": str(size), **({"after": after} if after else {})}
        page = msgspec.json.decode(api.get(path, asked).data, type=Page)
        yield page
        if page.next is None:
            return
        after = page.next
