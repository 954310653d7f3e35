"""The engine's own view of a workflow, as the `ankka:lifecycle` query answers it."""

from datetime import datetime
from enum import StrEnum
from typing import Any

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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> dict[str, Any]:
        """So that a FastAPI route may return it: it is written as `ankka:lifecycle` answers it."""
        return {"type": "is-instance", "cls": cls, "serialization": {"type": "function-plain", "function": msgspec.to_builtins}}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: object, handler: object) -> dict[str, Any]:
        """What a description of such a route says of it, in one piece."""
        schema: dict[str, Any] = msgspec.json.schema(cls)["$defs"][cls.__name__]
        return {**schema, "properties": {**schema["properties"], "status": {"enum": [*LifecycleStatus]}}}
