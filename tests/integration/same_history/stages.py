"""Where a scenario is played: in a kit, or with a real sidecar and a real process. Both are told the same."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from ankka.client import WorkflowLifecycle
from ankka.effects.common import ErrorCode
from ankka.testkit import JournalEntry, WorkflowTestKit
from tests.integration.same_history.jobs import DeskEntity, Job, JobWorkflow
from tests.integration.support.programs import Sidecar, wait_for

INSTANTS = ("notBefore", "until")
"""What of an entry's detail is another instant in each playing."""


@dataclass(frozen=True)
class Entry:
    """An entry of a timeline, without what differs from playing to playing."""

    type: str
    run: int | None
    step: str | None
    attempt: int | None
    detail: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class End:
    """Where a scenario ended."""

    status: str
    step: str | None
    failure: str | None
    retries: dict[str, int]
    run: int
    state: Job
    taken: int


class Stage(Protocol):
    """What a scenario can do."""

    def call(self, handler: str, text: str | None = None, key: str | None = None) -> str | None:
        """A command, with an idempotency key if one is given; the code of its refusal, `None` if it was done."""
        ...

    def open(self) -> None:
        """The gate opens."""
        ...

    def until_over(self) -> None:
        """Wait until the run has ended."""
        ...

    def until_paused(self) -> None:
        """Wait until it is paused."""
        ...

    def until_gated(self) -> None:
        """Wait until the step `gated` runs."""
        ...

    def until_out_of_time(self) -> None:
        """Wait until the workflow's own timeout has passed."""
        ...

    def timeline(self) -> list[Entry]:
        """What is journalled of the present life; of a deleted one its deletion."""
        ...

    def end(self) -> End:
        """Where it stands."""
        ...


class KitStage:
    """In a `WorkflowTestKit`: the desk's answers are scripted."""

    def __init__(self, workflow: type[JobWorkflow], instance: str) -> None:
        self.kit = WorkflowTestKit.of(workflow, instance)
        self.kit.when(DeskEntity, DeskEntity.take).reply()
        self.kit.when(DeskEntity, DeskEntity.refuse).refuse(ErrorCode.UNAVAILABLE, "closed")
        self.kit.when(DeskEntity, DeskEntity.hang).hang()
        self.kit.when(DeskEntity, DeskEntity.is_open).reply(False)

    def call(self, handler: str, text: str | None = None, key: str | None = None) -> str | None:
        error = self.kit.call(handler, text, idempotency_key=key).error
        return None if error is None else error.code

    def open(self) -> None:
        self.kit.when(DeskEntity, DeskEntity.is_open).reply(True)

    def until_over(self) -> None:
        assert self.kit.run().is_terminal

    def until_paused(self) -> None:
        assert self.kit.run(until="Paused").status == "Paused"

    def until_out_of_time(self) -> None:
        assert self.kit.advance(timedelta(seconds=1)).is_terminal, "`run` does not go beyond a pause without a time"

    def until_gated(self) -> None:
        life = self.kit.advance(timedelta(milliseconds=50))
        assert (life.status, life.step) == ("Running", "gated")

    def timeline(self) -> list[Entry]:
        return entries_of(as_json(self.kit.journal))

    def end(self) -> End:
        taken = sum(int(call.input) for call in self.kit.calls if call.handler == "take")
        return end_of(self.kit.lifecycle, self.kit.state, taken)


class RealStage:
    """With a sidecar and a process."""

    def __init__(self, sidecar: Sidecar, workflow: type[JobWorkflow], instance: str) -> None:
        self.sidecar = sidecar
        self.path = f"/v1/{workflow.component_id}/{quote(instance)}"
        self.desk = f"/v1/desk/{quote(instance)}"

    def call(self, handler: str, text: str | None = None, key: str | None = None) -> str | None:
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = self.sidecar.http.post(f"{self.path}/{handler}", headers=headers, **({} if text is None else {"json": text}))  # type: ignore[arg-type]
        return None if answer.status_code == 204 else str(answer.json()["code"])

    def open(self) -> None:
        assert self.sidecar.http.post(f"{self.desk}/open").status_code == 204

    def until_over(self) -> None:
        wait_for(lambda: self._life().is_terminal, f"the end of {self.path}")

    def until_paused(self) -> None:
        wait_for(lambda: self._life().status == "Paused", f"the pause of {self.path}")

    def until_out_of_time(self) -> None:
        self.until_over()

    def until_gated(self) -> None:
        def runs() -> bool:
            life = self._life()
            return life.step == "gated" and life.waiting_for is None

        wait_for(runs, f"step gated of {self.path}")

    def timeline(self) -> list[Entry]:
        return entries_of(self._get(f"{self.path}/ankka:journal")["items"])

    def end(self) -> End:
        state = self._get(f"{self.path}/state")
        return end_of(self._life(), Job(state["status"], tuple(state["notes"])), int(self._get(f"{self.desk}/taken")))

    def _life(self) -> WorkflowLifecycle:
        return msgspec.json.decode(self.sidecar.http.get(f"{self.path}/ankka:lifecycle").raise_for_status().content, type=WorkflowLifecycle)

    def _get(self, path: str) -> Any:
        return self.sidecar.http.get(path).raise_for_status().json()


def as_json(journal: list[JournalEntry]) -> list[dict[str, Any]]:
    """A kit's journal as the sidecar sends it."""
    items: list[dict[str, Any]] = json.loads(json.dumps([asdict(entry) for entry in journal], default=str))
    return items


def entries_of(items: list[dict[str, Any]]) -> list[Entry]:
    """The timeline of the newest life: rows of a deleted one are pruned in their time."""
    life = [item for item in items if item["generation"] == items[-1]["generation"]] if items else []
    if life and life[-1]["type"] == "deleted":
        life = life[-1:]
    return [
        Entry(
            item["type"], item["run"], item["step"], item["attempt"], {name: value for name, value in item["detail"].items() if name not in INSTANTS}
        )
        for item in life
    ]


def end_of(life: WorkflowLifecycle, state: Job, taken: int) -> End:
    """A lifecycle, a state and what the desk was asked for."""
    return End(life.status, life.step, life.failure, life.retries, life.run, state, taken)
