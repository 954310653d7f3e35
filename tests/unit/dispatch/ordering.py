"""A workflow whose handlers do what a test tells them, and how a command is given to its handler."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from ankka.codec import DONE, Done, json_codec
from ankka.codecs.by_value import payload_of
from ankka.command_error import CommandError
from ankka.definition.build import definition_of
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.process.dispatch import CommandAnswer, run_command
from ankka.protocol.errors import Error
from ankka.protocol.frames import Refused, RunCommand
from ankka.protocol.payload import Payload
from ankka.workflow import Workflow, command, query, step
from tests.unit.wrong import wrong

NOTHING = Payload(b"", "", "")
SECRET = "the secret text of an exception"


@dataclass(frozen=True)
class Order:
    id: str
    count: int = 0


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")

    def empty_state(self) -> Order:
        return Order(self.entity_id)

    @command("start")
    def start(self, count: int) -> WorkflowEffect[Order, Order]:
        return self.effects.update_state(replace(self.state, count=count)).then_transition_to("ship", count).then_reply_state()

    @command("start-later")
    async def start_later(self, count: int) -> WorkflowEffect[Order, int]:
        await asyncio.sleep(0)
        return self.effects.update_state(replace(self.state, count=count)).then_reply(lambda order: order.count + 1)

    @command("redirect")
    def redirect(self) -> WorkflowEffect[Order, Done]:
        return self.effects.transition_to("old-ship", 3).then_no_reply()

    @command("delete")
    def remove(self) -> WorkflowEffect[Order, Order]:
        return self.effects.delete().then_reply_state()

    @command("look")
    def look(self) -> WorkflowEffect[Order, int]:
        return self.effects.reply(self.state.count)

    @command("refuse")
    def refuse(self) -> WorkflowEffect[Order, Done]:
        return self.effects.error("not now", ErrorCode.CONFLICT)

    @command("default")
    def with_default(self, count: int = 7) -> WorkflowEffect[Order, int]:
        return self.effects.reply(count)

    @command("optional")
    def with_optional(self, count: int | None) -> WorkflowEffect[Order, bool]:
        return self.effects.reply(count is None)

    @command("spoil")
    def spoil(self, how: str) -> WorkflowEffect[Order, Done]:
        match how:
            case "raise":
                raise ValueError(SECRET)
            case "exit":
                raise SystemExit(SECRET)
            case "stop-iteration":
                raise StopIteration(SECRET)
            case "command-error":
                raise CommandError("no such cart", ErrorCode.NOT_FOUND, {"cart": "c1"})
            case "odd-error":
                return self.effects.error("no\x00 stock \ud800")
            case "odd-details":
                raise CommandError("no", ErrorCode.CONFLICT, {"cart": object()})
            case "none":
                return wrong(None)
            case "text":
                return wrong("done")
            case "no-reply":
                return wrong(self.effects.update_state(self.state))
            case "step-effect":
                return wrong(self.step_effects.then_end())
            case "state":
                return self.effects.update_state(Order(self.entity_id, wrong("no"))).then_no_reply()
            case "reply":
                return self.effects.update_state(self.state).then_reply(lambda _: wrong(3))
            case "reply-raises":
                return self.effects.update_state(self.state).then_reply(lambda _: wrong(1 // 0))
            case "reply-value":
                return self.effects.update_state(self.state).then_reply(wrong(DONE))
            case "unknown-step":
                return self.effects.transition_to("sh" + "op").then_no_reply()
            case "no-input":
                return self.effects.transition_to("ship"[:]).then_no_reply()
            case "step-input":
                return self.effects.transition_to("ship", wrong("three")).then_no_reply()
            case "not-a-step":
                target: Any = self.start
                name = {"start": target}["start"]
                return self.effects.transition_to(name).then_no_reply()
            case _:
                return self.effects.update_state(self.state).then_transition_to("plain"[:], how).then_no_reply()

    @command("spoil-later")
    async def spoil_later(self, how: str) -> WorkflowEffect[Order, Done]:
        if how == "cancelled":
            raise asyncio.CancelledError(SECRET)
        if how == "wait":
            await asyncio.Event().wait()
        return self.spoil(how)

    @query("count")
    def count(self) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply(self.state.count)

    @query("count-later")
    async def count_later(self) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply(self.state.count)

    @query("changes")
    def changes(self) -> WorkflowReadOnlyEffect[Order, int]:
        return wrong(self.effects.update_state(self.state).then_reply(lambda _: 1))

    @step("ship", aliases=("old-ship",))
    def ship(self, count: int) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_end()

    @step("plain")
    def plain(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_end()


ORDER = definition_of(OrderWorkflow)


def encoded(value: Any) -> Payload | None:
    return None if value is None else payload_of(value)


def command_of(handler: str, value: Any = None, state: Any = None, definition: Any = ORDER) -> RunCommand:
    payload = value if isinstance(value, Payload) else encoded(value)
    state_payload = None if state is None else definition.state_codec.encode_payload(state)
    return RunCommand(5, definition.component_id, "o1", handler, payload, state_payload, 3, 1_000_000, {"tenant": "acme"})


def ran(frame: RunCommand, definition: Any = ORDER) -> CommandAnswer:
    answer = run_command(definition, frame)
    return asyncio.run(answer) if isinstance(answer, Coroutine) else answer


def refusal(handler: str, value: Any = None, definition: Any = ORDER) -> Error:
    answer = ran(command_of(handler, value, definition=definition), definition)
    assert isinstance(answer, Refused)
    assert answer.request == 5
    return answer.error
