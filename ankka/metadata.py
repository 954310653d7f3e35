"""What a caller sends along with a call: text by name."""

from collections.abc import Iterator, Mapping


class Metadata(Mapping[str, str]):
    """Text by name that a caller sent along; immutable.

    >>> Metadata({"tenant": "acme"})["tenant"]
    'acme'
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, str] | None = None) -> None:
        self._entries = dict(entries or {})
        wrong = [part for entry in self._entries.items() for part in entry if not _is_text(part)]
        if wrong:
            raise ValueError(f"metadata is text by name; {wrong[0]!r} is no text")

    def __getitem__(self, name: str) -> str:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Metadata({self._entries!r})"


def _is_text(part: object) -> bool:
    """Whether it can be sent: a lone surrogate cannot."""
    if type(part) is not str:
        return False
    try:
        return part.isascii() or bool(part.encode())
    except UnicodeEncodeError:
        return False
