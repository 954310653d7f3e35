"""The service of these tests: values of any kind in every kind of component. `python -m tests.integration.payloads.vault`."""

from datetime import timedelta

from ankka import (
    DONE,
    Ankka,
    CommandError,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    KeyValueEffect,
    KeyValueEntity,
    KeyValueReadOnlyEffect,
    ReadOnlyEffect,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowSettings,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)


class LedgerEntity(EventSourcedEntity[list[str], str]):
    component_id = "ledger"
    state_codec = json_codec(list[str], "lines")
    event_codec = json_codec(str, "line")
    snapshot_every = 3

    def empty_state(self) -> list[str]:
        return []

    def apply_event(self, state: list[str], event: str) -> list[str]:
        return [*state, event]

    @command("add")
    def add(self, line: str) -> EventSourcedEffect[list[str], str, int]:
        return self.effects.persist(line).then_reply(len)

    @command("add-and-show")
    def add_and_show(self, line: str) -> EventSourcedEffect[list[str], str, list[str]]:
        return self.effects.persist(line).then_reply_state()

    @query("lines")
    def lines(self) -> ReadOnlyEffect[list[str], str, list[str]]:
        return self.effects.reply(self.state)


class BoxEntity(KeyValueEntity[bytes]):
    component_id = "box"
    state_codec = json_codec(bytes, "content")

    def empty_state(self) -> bytes:
        return b""

    @command("put")
    def put(self, content: bytes) -> KeyValueEffect[bytes, int]:
        return self.effects.update_state(content).then_reply(len)

    @query("content")
    def content(self) -> KeyValueReadOnlyEffect[bytes, bytes]:
        return self.effects.reply(self.state)


class VaultWorkflow(Workflow[str]):
    """Its step writes its own id into the ledger of that id; `wait` waits for a command."""

    component_id = "vault"
    state_codec = json_codec(str, "vault")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=20))

    def empty_state(self) -> str:
        return ""

    @command("start")
    def start(self, name: str) -> WorkflowEffect[str, Done]:
        """Go to the step of that name."""
        return self.effects.update_state("started").then_transition_to(name).then_reply(lambda _: DONE)

    @query("id")
    def id(self) -> WorkflowReadOnlyEffect[str, str]:
        return self.effects.reply(self.entity_id)

    @query("state")
    def show(self) -> WorkflowReadOnlyEffect[str, str]:
        return self.effects.reply(self.state)

    @step("write")
    async def write(self) -> WorkflowStepEffect[str]:
        lines = self.context.client.for_event_sourced_entity(LedgerEntity, self.entity_id)
        await lines.call(LedgerEntity.add).invoke(self.entity_id)
        return self.step_effects.update_state("written").then_end()

    @step("read")
    async def read(self) -> WorkflowStepEffect[str]:
        """Read the ledger of its id, and say what it said."""
        lines = self.context.client.for_event_sourced_entity(LedgerEntity, self.entity_id)
        try:
            found = await lines.call(LedgerEntity.lines).invoke()
        except CommandError as refused:
            return self.step_effects.update_state(f"{refused.error.code}: {refused.error.message}").then_end()
        return self.step_effects.update_state(f"{sum(map(len, found))}").then_end()

    @step("wait")
    async def wait(self) -> WorkflowStepEffect[str]:
        return self.step_effects.then_pause()

    @step("fail")
    async def fail(self) -> WorkflowStepEffect[str]:
        raise CommandError("not now")


if __name__ == "__main__":
    Ankka.service().register(VaultWorkflow).register(LedgerEntity).register(BoxEntity).start()
