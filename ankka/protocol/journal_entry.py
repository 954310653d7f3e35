"""A line of an instance's timeline, as `GET …/ankka:journal` has it; the kits and `ankka show` give the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One journalled fact of one instance: a workflow's effect, or one event of an entity.

    `type` is one of `started`, `transitioned`, `retried`, `failed-over`, `interrupted`, `paused`, `resumed`, `ended`,
    `failed`, `updated`, `deleted` and so on; for an entity's event it is the event's name. `run`, `step` and `attempt`
    are `None` where there is none (an entity has no runs). `detail` holds what else the fact says, keys in camelCase.

    >>> from datetime import UTC
    >>> entry = JournalEntry(1_767_225_600_000_000, 3, datetime(2026, 1, 1, tzinfo=UTC), "retried", 1, "charge", 2, {"error": "declined"})
    >>> (entry.sequence, entry.type, entry.attempt, entry.detail["error"])
    (3, 'retried', 2, 'declined')
    """

    generation: int
    """Which life of the instance this is: the instant it began, in µs; after a deletion comes a higher one."""
    sequence: int
    """The position in the instance's journal, 1 is the first; the events that one command persisted share it."""
    at: datetime
    """When it was journalled, aware, in UTC; simulated time in a unit kit."""
    type: str
    run: int | None = None
    step: str | None = None
    attempt: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])
