"""The service of the limit tests: entities that call each other, steps that call them, and values of any size.

`python -m tests.integration.limits.crowd`; `STEPS` and `SYNC_STEPS` are how many steps it runs at once.
"""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from ankka import (
    DONE,
    Ankka,
    CommandError,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    ReadOnlyEffect,
    StepRef,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowSettings,
    WorkflowStepEffect,
    command,
    default_codec_for,
    json_codec,
    query,
    step,
)

CALLS = 5


async def met(mine: str, others: str) -> None:
    """Make a file, and wait until somebody else has made the other one."""
    Path(mine).touch()  # noqa: ASYNC240
    while not Path(others).exists():  # noqa: ASYNC110, ASYNC240  # made by another process, or another command
        await asyncio.sleep(0.02)


class CallerWorkflow(Workflow[list[str]]):
    """Its steps call entities of the same process, or its own instance."""

    component_id = "caller"
    state_codec = json_codec(list[str], "caller")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=50))

    def empty_state(self) -> list[str]:
        return []

    @command("start")
    def start(self, name: str) -> WorkflowEffect[list[str], Done]:
        return self.effects.transition_to(name).then_reply(lambda _: DONE)

    @command("note")
    def note(self, text: str) -> WorkflowEffect[list[str], Done]:
        return self.effects.update_state([*self.state, text]).then_reply(lambda _: DONE)

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[list[str], list[str]]:
        return self.effects.reply(self.state)

    @step("calls")
    async def calls(self) -> WorkflowStepEffect[list[str]]:
        """Calls entities that call others."""
        relay = self.context.client.for_event_sourced_entity(RelayEntity, f"{self.entity_id}-a")
        for _ in range(CALLS):
            await relay.call(RelayEntity.relay).invoke([f"{self.entity_id}-b"])
        return self.step_effects.then_end()

    @step("calls-sync")
    def calls_sync(self) -> WorkflowStepEffect[list[str]]:
        relay = self.context.client.for_event_sourced_entity(RelayEntity, f"{self.entity_id}-a")
        for _ in range(CALLS):
            relay.call(RelayEntity.relay).invoke_sync([f"{self.entity_id}-b"])
        return self.step_effects.then_end()

    @step("fans-out")
    async def fans_out(self) -> WorkflowStepEffect[list[str]]:
        """More calls at once than a connection has credit for."""
        relays = [self.context.client.for_event_sourced_entity(RelayEntity, f"{self.entity_id}-{number}") for number in range(50)]
        await asyncio.gather(*(relays[number % 50].call(RelayEntity.relay).invoke([]) for number in range(5_000)))
        return self.step_effects.then_end()

    @step("itself")
    async def itself(self) -> WorkflowStepEffect[list[str]]:
        """Commands and queries of the instance whose step it is."""
        own = self.context.client.for_workflow(CallerWorkflow, self.entity_id)
        await own.call(CallerWorkflow.note).invoke("from its own step")
        seen = await own.call(CallerWorkflow.show).invoke()
        lifecycle = await own.lifecycle()
        return self.step_effects.update_state([*seen, str(lifecycle.step)]).then_end()


class RelayEntity(EventSourcedEntity[int, int]):
    """Counts the commands that it got; `relay` hands on to the next of a list first."""

    component_id = "relay"
    state_codec = json_codec(int, "relay")
    event_codec = json_codec(int, "got")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("relay")
    async def relay(self, path: list[str]) -> EventSourcedEffect[int, int, int]:
        if path:
            await self.context.client.for_event_sourced_entity(RelayEntity, path[0]).call(RelayEntity.relay).invoke(path[1:])
        return self.effects.persist(1).then_reply_state()

    @command("gated-relay")
    async def gated_relay(self, path: list[str]) -> EventSourcedEffect[int, int, int]:
        """`relay`, once the test opens the gate."""
        await met(f"begun-{self.entity_id}", "gate")
        return await self.relay(path)

    @command("meet")
    async def meet(self, other: str) -> EventSourcedEffect[int, int, int]:
        """Wait until the other one is in this command as well, then call it."""
        await met(f"met-{self.entity_id}", f"met-{other}")
        await self.context.client.for_event_sourced_entity(RelayEntity, other).call(RelayEntity.relay).invoke([])
        return self.effects.persist(1).then_reply_state()

    @command("relay-to-query")
    async def relay_to_query(self, path: list[str]) -> EventSourcedEffect[int, int, int]:
        """Calls the query of the next, which calls the command of the one behind it."""
        await self.context.client.for_event_sourced_entity(RelayEntity, path[0]).call(RelayEntity.asks).invoke(path[1:])
        return self.effects.persist(1).then_reply_state()

    @query("asks")
    async def asks(self, path: list[str]) -> ReadOnlyEffect[int, int, int]:
        """A query that calls: the query of the next, or the command of the last."""
        if path:
            relay = self.context.client.for_event_sourced_entity(RelayEntity, path[0])
            await (relay.call(RelayEntity.asks).invoke(path[1:]) if path[1:] else relay.call(RelayEntity.relay).invoke([]))
        return self.effects.reply(self.state)

    @query("count")
    def count(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


class BlobEntity(EventSourcedEntity[bytes, bytes]):
    """Holds the last bytes it got, as they are, so that sizes are exact."""

    component_id = "blob"
    state_codec = default_codec_for(bytes)
    event_codec = default_codec_for(bytes)

    def empty_state(self) -> bytes:
        return b""

    def apply_event(self, state: bytes, event: bytes) -> bytes:
        return event

    @command("keep")
    def keep(self, data: bytes) -> EventSourcedEffect[bytes, bytes, int]:
        return self.effects.persist(data).then_reply(len)

    @command("swap")
    def swap(self, data: bytes) -> EventSourcedEffect[bytes, bytes, bytes]:
        """Keeps the new ones, answers the old ones: the largest frames there are."""
        before = self.state
        return self.effects.persist(data).then_reply(lambda _: before)

    @query("size")
    def size(self) -> ReadOnlyEffect[bytes, bytes, int]:
        return self.effects.reply(len(self.state))

    @query("show")
    def show(self) -> ReadOnlyEffect[bytes, bytes, bytes]:
        return self.effects.reply(self.state)


class LogEntity(EventSourcedEntity[int, bytes]):
    """Remembers how much it got; its events are the bytes themselves."""

    component_id = "log"
    state_codec = json_codec(int, "log")
    event_codec = default_codec_for(bytes)

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: bytes) -> int:
        return state + len(event)

    @command("write")
    def write(self, size: int) -> EventSourcedEffect[int, bytes, int]:
        return self.effects.persist(b"x" * size).then_reply_state()

    @query("size")
    def size(self) -> ReadOnlyEffect[int, bytes, int]:
        return self.effects.reply(self.state)


class LargeWorkflow(Workflow[bytes]):
    """Its steps make values of the size they are told, on each way a value can take out of a step."""

    component_id = "large"
    state_codec = default_codec_for(bytes)
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=50))

    def empty_state(self) -> bytes:
        return b""

    @command("start")
    def start(self, what: tuple[str, int]) -> WorkflowEffect[bytes, Done]:
        name, size = what
        return self.effects.transition_to(name, size).then_reply(lambda _: DONE)

    @command("start-with")
    def start_with(self, size: int) -> WorkflowEffect[bytes, Done]:
        """Its step's input is as large."""
        return self.effects.transition_to("take", b"x" * size).then_reply(lambda _: DONE)

    @command("keep")
    def keep(self, size: int) -> WorkflowEffect[bytes, Done]:
        return self.effects.update_state(b"c" * size).then_reply(lambda _: DONE)

    @query("size")
    def size(self) -> WorkflowReadOnlyEffect[bytes, int]:
        return self.effects.reply(len(self.state))

    @step("make-state")
    async def make_state(self, size: int) -> WorkflowStepEffect[bytes]:
        return self.step_effects.update_state(b"x" * size).then_end()

    @step("make-input")
    async def make_input(self, size: int) -> WorkflowStepEffect[bytes]:
        return self.step_effects.then_transition_to("take", b"x" * size)

    @step("make-input-after-pause")
    async def make_input_after_pause(self, size: int) -> WorkflowStepEffect[bytes]:
        return self.step_effects.then_pause(after=timedelta(milliseconds=10), on_timeout=StepRef("take", b"x" * size))

    @step("take")
    async def take(self, data: bytes) -> WorkflowStepEffect[bytes]:
        return self.step_effects.update_state(b"%d" % len(data)).then_end()

    @step("call-with")
    async def call_with(self, size: int) -> WorkflowStepEffect[bytes]:
        """A call whose input is as large; what it is refused with becomes the state."""
        blob = self.context.client.for_event_sourced_entity(BlobEntity, self.entity_id)
        try:
            return self.step_effects.update_state(b"%d" % await blob.call(BlobEntity.keep).invoke(b"x" * size)).then_end()
        except CommandError as refused:
            return self.step_effects.update_state(f"{refused.error.code}: {refused.error.message}".encode()).then_end()

    @step("gated")
    async def gated(self, size: int) -> WorkflowStepEffect[bytes]:
        """Answers a state of that size when the test lets it."""
        await met(f"begun-{self.entity_id}", f"gate-{self.entity_id}")
        return self.step_effects.update_state(b"s" * size).then_end()


class LoopWorkflow(Workflow[int]):
    """Goes round until it is stopped."""

    component_id = "loop"
    state_codec = json_codec(int, "loop")

    def empty_state(self) -> int:
        return 0

    @command("start")
    def start(self) -> WorkflowEffect[int, Done]:
        return self.effects.transition_to("round").then_reply(lambda _: DONE)

    @command("add")
    def add(self) -> WorkflowEffect[int, int]:
        return self.effects.update_state(self.state + 1).then_reply_state()

    @query("count")
    def count(self) -> WorkflowReadOnlyEffect[int, int]:
        return self.effects.reply(self.state)

    @step("round")
    async def round(self) -> WorkflowStepEffect[int]:
        return self.step_effects.update_state(self.state + 1).then_transition_to("round")


def main() -> None:
    """Run it."""
    service = Ankka.service().register(CallerWorkflow).register(RelayEntity).register(BlobEntity).register(LogEntity)
    service.register(LargeWorkflow).register(LoopWorkflow)
    service.limits(steps=int(os.environ.get("STEPS", "1000")), sync_steps=int(os.environ.get("SYNC_STEPS", "64"))).start()


if __name__ == "__main__":
    main()
