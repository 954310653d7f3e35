"""The rows that have a key, found by it and in its order, as a database's index finds them."""

from bisect import bisect_left, bisect_right, insort
from itertools import islice

from ankka_sidecar.ports.journal import Row


class KeyedRows:
    """One row per key."""

    def __init__(self) -> None:
        self._order: list[bytes] = []
        self._rows: dict[bytes, Row] = {}

    def get(self, key: bytes | None) -> Row | None:
        """The row with that key."""
        return None if key is None else self._rows.get(key)

    def add(self, row: Row) -> None:
        """`row` is stored; nothing if it has no key."""
        if row.key is None:
            return
        if row.key in self._rows:
            raise AssertionError(f"I4: {row.component}/{row.instance} was stored with key {row.key.hex()}, which another row has")
        insort(self._order, row.key)
        self._rows[row.key] = row

    def remove(self, key: bytes) -> None:
        """The row with that key has it no more."""
        del self._rows[key]
        del self._order[bisect_left(self._order, key)]

    def behind(self, prefix: bytes, after: bytes | None, limit: int) -> list[Row]:
        """The next rows behind the key `after` (`None`: from the first) whose key begins with `prefix`, by key."""
        begin = bisect_left(self._order, prefix) if after is None or after < prefix else bisect_right(self._order, after)
        found: list[Row] = []
        for key in islice(self._order, begin, begin + limit):
            if not key.startswith(prefix):
                break
            found.append(self._rows[key])
        return found
