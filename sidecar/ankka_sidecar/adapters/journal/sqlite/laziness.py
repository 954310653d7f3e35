"""Steps and instants that reach the listing later than the journal, because most are outdated before anyone looks."""

import time
from typing import Final

from ankka_sidecar.adapters.journal.sqlite.group import Lazy
from ankka_sidecar.ports.journal import MAX_ITEMS, Item

DELAY_SECONDS: Final = 0.5
"""After this long a value goes with the next group, or alone; the port promises 1 s."""


class Laziness:
    """What waits, oldest first. A newer value of an instance takes the place, and the age, of the older one."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], tuple[float, Lazy]] = {}
        self._not_before = 0.0

    def note(self, item: Item) -> None:
        """`item` is stored: remember what its listing lacks, or forget what it has got with it."""
        row = item.row
        key = (row.component, row.instance)
        if item.listing is not None:
            self._waiting.pop(key, None)
            return
        there = self._waiting.get(key)
        due = there[0] if there is not None else time.monotonic() + DELAY_SECONDS
        self._waiting[key] = (due, (row.component, row.instance, row.generation, row.sequence, row.at, item.step))

    def due(self, everything: bool = False) -> list[Lazy]:
        """What is due, at most a group of it; or what there is, due or not."""
        now = time.monotonic()
        if now < self._not_before and not everything:
            return []
        found: list[Lazy] = []
        for due, lazy in self._waiting.values():
            if len(found) == MAX_ITEMS or (due > now and not everything):
                break
            found.append(lazy)
        return found

    def written(self, lazy: list[Lazy]) -> None:
        """These are in the listing; what has become newer since stays."""
        for one in lazy:
            there = self._waiting.get((one[0], one[1]))
            if there is not None and there[1] is one:
                del self._waiting[one[0], one[1]]

    def postpone(self) -> None:
        """Writing failed: no further try for a while."""
        self._not_before = time.monotonic() + DELAY_SECONDS

    def seconds_left(self) -> float | None:
        """How long until something is due; `None` if nothing waits."""
        if not self._waiting:
            return None
        due = next(iter(self._waiting.values()))[0]
        return max(0.0, max(due, self._not_before) - time.monotonic())
