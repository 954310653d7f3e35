"""A workflow whose steps do what a test tells them."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from ankka.codec import json_codec
from ankka.command_error import CommandError
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import StepRef, WorkflowStepEffect
from ankka.workflow import Recovery, StepSettings, Workflow, WorkflowSettings, step
from tests.unit.wrong import wrong

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


class Declined(Exception):
    pass


class CardDeclined(Declined):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@dataclass(frozen=True)
class State:
    text: str = ""


RAISED: dict[str, Callable[[], BaseException]] = {
    "declined": lambda: CardDeclined("no\x00 money \ud800"),
    "empty": ValueError,
    "unprintable": Unprintable,
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "stop-iteration": lambda: StopIteration("x"),
    "cancelled": lambda: asyncio.CancelledError("by itself"),
    "refused": lambda: CommandError("checked out", ErrorCode.CONFLICT),
    "group": lambda: ExceptionGroup("two", [ValueError("a"), KeyError("b")]),
    "long": lambda: ValueError("x" * 10_000),
}


class Steps(Workflow[State]):
    component_id = "steps"
    state_codec = json_codec(State, "state")
    settings = WorkflowSettings(
        steps={
            "raise": StepSettings(recovery=Recovery(max_retries=3, not_on=(Declined, "CommandError"))),
            "raise-sync": StepSettings(recovery=Recovery(max_retries=3, not_on=("tests.unit.dispatch.stepping.Declined",))),
        }
    )

    def empty_state(self) -> State:
        return State(self.entity_id)

    @step("next")
    async def next_(self, number: int) -> WorkflowStepEffect[State]:
        return self.step_effects.update_state(replace(self.state, text=f"{self.state.text} {number}")).then_transition_to(self.next_, number + 1)

    @step("sync")
    def sync(self) -> WorkflowStepEffect[State]:
        return self.step_effects.update_state(State(f"{VARIABLE.get()} {threading.current_thread() is threading.main_thread()}")).then_end()

    @step("awaitable")
    def awaitable(self) -> WorkflowStepEffect[State]:
        return wrong(self.next_(1))

    @step("pause")
    def pause(self) -> WorkflowStepEffect[State]:
        return self.step_effects.then_pause(after=timedelta(milliseconds=1500), on_timeout=StepRef("next", 4))

    @step("pause-for-ever")
    def pause_for_ever(self) -> WorkflowStepEffect[State]:
        return self.step_effects.pause()

    @step("fail")
    def fail(self) -> WorkflowStepEffect[State]:
        return self.step_effects.then_fail("no\x00 stock", ErrorCode.CONFLICT)

    @step("default")
    async def default(self, number: int | None = 9) -> WorkflowStepEffect[State]:
        return self.step_effects.update_state(State(f"{number}")).then_transition_to("optional")

    @step("optional")
    async def optional(self, number: int | None) -> WorkflowStepEffect[State]:
        return self.step_effects.update_state(State(f"{number}")).then_transition_to("default", 3)

    @step("raise")
    async def raise_(self, what: str) -> WorkflowStepEffect[State]:
        error = RAISED[what]()
        raise error

    @step("raise-sync")
    def raise_sync(self, what: str) -> WorkflowStepEffect[State]:
        error = RAISED[what]()
        raise error

    @step("spoil")
    async def spoil(self, what: str) -> WorkflowStepEffect[State]:
        match what:
            case "none":
                return wrong(None)
            case "command-effect":
                return wrong(self.effects.reply(1))
            case "open":
                return wrong(self.step_effects.update_state(self.state))
            case "state":
                return self.step_effects.update_state(State(wrong(3))).then_end()
            case "target":
                return self.step_effects.then_transition_to("syn" + "k")
            case "no-end":
                return self.step_effects.then_pause(on_timeout=StepRef("sync"))
            case "past":
                return self.step_effects.then_pause(timedelta(seconds=-1))
            case "seconds":
                return self.step_effects.then_pause(wrong(5))
            case _:
                return self.step_effects.then_pause(after=timedelta(seconds=1), on_timeout="next"[:])

    @step("wait")
    async def wait(self) -> WorkflowStepEffect[State]:
        await asyncio.Event().wait()
        return self.step_effects.then_end()

    @step("swallow")
    async def swallow(self) -> WorkflowStepEffect[State]:
        try:
            await asyncio.Event().wait()
        except BaseException:  # F79
            assert self.context.is_cancelled
        return self.step_effects.then_end()

    @step("angry")
    async def angry(self) -> WorkflowStepEffect[State]:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("in the way out")
