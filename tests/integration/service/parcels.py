"""A service that tests start as a program: `python -m tests.integration.service.parcels [parcel] [depot] [parcel-as-entity]`.

Every step writes a line to `ledger` in the working folder; `hold` waits until a file `gate` is there.
"""

import asyncio
import logging
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ankka import (
    DONE,
    Ankka,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)


@dataclass(frozen=True)
class Parcel:
    parcel_id: str
    status: str = "new"
    mode: str = ""


def note(line: str) -> None:
    with Path("ledger").open("a", encoding="utf-8") as ledger:
        ledger.write(f"{line}\n")


async def gate_is_open() -> None:
    gate = Path("gate")
    while not gate.exists():  # noqa: ASYNC110, ASYNC240 - a test opens it from another process
        await asyncio.sleep(0.01)


class ParcelWorkflow(Workflow[Parcel]):
    component_id = "parcel"
    state_codec = json_codec(Parcel, "parcel")

    def empty_state(self) -> Parcel:
        return Parcel(self.entity_id)

    @command("send")
    def send(self, mode: str) -> WorkflowEffect[Parcel, Done]:
        if self.state.status != "new":
            return self.effects.error("sent already", ErrorCode.CONFLICT)
        return self.effects.update_state(replace(self.state, status="sent", mode=mode)).then_transition_to("pack").then_reply(lambda _: DONE)

    @query("status")
    def status(self) -> WorkflowReadOnlyEffect[Parcel, Parcel]:
        return self.effects.reply(self.state)

    @step("pack")
    def pack(self) -> WorkflowStepEffect[Parcel]:
        note(f"pack {self.entity_id} {self.context.attempt}")
        following = self.state.mode if self.state.mode in ("hold", "stuck") else "ship"
        return self.step_effects.update_state(replace(self.state, status="packed")).then_transition_to(following)

    @step("hold")
    async def hold(self) -> WorkflowStepEffect[Parcel]:
        note(f"hold {self.entity_id} {self.context.attempt}")
        await gate_is_open()
        return self.step_effects.then_transition_to("ship")

    @step("stuck")
    def stuck(self) -> WorkflowStepEffect[Parcel]:
        note(f"stuck {self.entity_id} {self.context.attempt}")
        time.sleep(600)
        return self.step_effects.then_end()

    @step("ship")
    async def ship(self) -> WorkflowStepEffect[Parcel]:
        note(f"ship {self.entity_id} {self.context.attempt}")
        if self.state.mode == "depot":
            await self.context.client.for_event_sourced_entity(DepotEntity, "main").call(DepotEntity.store).invoke(1)
        return self.step_effects.update_state(replace(self.state, status="shipped")).then_end()


class DepotEntity(EventSourcedEntity[int, int]):
    component_id = "depot"
    state_codec = json_codec(int, "depot")
    event_codec = json_codec(int, "stored")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("store")
    def store(self, quantity: int) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(quantity).then_reply_state()

    @query("stored")
    def stored(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


class ParcelEntity(DepotEntity):
    component_id = "parcel"


COMPONENTS: dict[str, type[Any]] = {"parcel": ParcelWorkflow, "depot": DepotEntity, "parcel-as-entity": ParcelEntity}


def main() -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    service = Ankka.service()
    for name in sys.argv[1:] or ["parcel"]:
        service.register(COMPONENTS[name])
    service.start()
    print(f"ended {os.getpid()}", flush=True)


if __name__ == "__main__":
    main()
