"""The engine's own view of a workflow, as the `ankka:lifecycle` query answers it."""

from datetime import datetime
from enum import StrEnum

import msgspec


class LifecycleStatus(StrEnum):
    """Where a workflow's run is. `is_terminal` of a lifecycle is true for the last two."""

    NOT_STARTED = "NotStarted"
    RUNNING = "Running"
    PAUSED = "Paused"
    COMPLETED = "Completed"
    FAILED = "Failed"


class WorkflowLifecycle(
    msgspec.Struct,
    frozen=True,
    rename={
        "step": "pendingStep",
        "next_attempt_at": "nextAttemptAt",
        "paused_until": "pausedUntil",
        "waiting_for": "waitingFor",
        "started_at": "startedAt",
        "updated_at": "updatedAt",
    },
):
    """What the engine knows of a workflow, whatever handlers its author declared.

    `step` is the pending step; `retries` counts them per step of the run; `failure` is the reason of a `Failed` run;
    `waiting_for` says in a sentence why nothing moves. Instants are aware datetimes in UTC.

    >>> WorkflowLifecycle(LifecycleStatus.COMPLETED).is_terminal
    True
    """

    status: LifecycleStatus = LifecycleStatus.NOT_STARTED
    step: str | None = None
    retries: dict[str, int] = {}
    failure: str | None = None
    attempt: int | None = None
    next_attempt_at: datetime | None = None
    paused_until: datetime | None = None
    held: bool = False
    waiting_for: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    run: int = 0

    @property
    def is_terminal(self) -> bool:
        """True once the run has completed or failed."""
        return self.status in (LifecycleStatus.COMPLETED, LifecycleStatus.FAILED)
