"""The service that the HTTP tests call: handlers of every input and reply type, and every way to go wrong.

`python -m tests.integration.http.handlers` runs it.
"""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from ankka import (
    DONE,
    Ankka,
    CommandError,
    Done,
    Error,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
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


@dataclass(frozen=True)
class Circle:
    radius: float


@dataclass(frozen=True)
class Square:
    side: float
    label: str = "square"


Shape = Circle | Square


@dataclass(frozen=True)
class Order:
    """An input that can be written in many ways."""

    tags: frozenset[str] = frozenset()
    prices: dict[str, float] = field(default_factory=dict[str, float])
    note: str | None = None


@dataclass(frozen=True)
class Notes:
    """The state: what was added, a blob of any size, and what the steps did."""

    total: int = 0
    blob: bytes = b""
    done: tuple[str, ...] = ()


class Everything(Workflow[Notes]):
    component_id = "everything"
    state_codec = json_codec(Notes, "notes")
    settings = WorkflowSettings(default_step_timeout=timedelta(seconds=20))

    def empty_state(self) -> Notes:
        return Notes()

    # --- one query per type, each answers its input -------------------------------------------------------------------

    @query("echo-str")
    def echo_str(self, value: str) -> WorkflowReadOnlyEffect[Notes, str]:
        return self.effects.reply(value)

    @query("echo-int")
    def echo_int(self, value: int) -> WorkflowReadOnlyEffect[Notes, int]:
        return self.effects.reply(value)

    @query("echo-float")
    def echo_float(self, value: float) -> WorkflowReadOnlyEffect[Notes, float]:
        return self.effects.reply(value)

    @query("echo-bool")
    def echo_bool(self, value: bool) -> WorkflowReadOnlyEffect[Notes, bool]:
        return self.effects.reply(value)

    @query("echo-bytes")
    def echo_bytes(self, value: bytes) -> WorkflowReadOnlyEffect[Notes, bytes]:
        return self.effects.reply(value)

    @query("echo-optional")
    def echo_optional(self, value: int | None) -> WorkflowReadOnlyEffect[Notes, int | None]:
        return self.effects.reply(value)

    @query("echo-shape")
    def echo_shape(self, value: Shape) -> WorkflowReadOnlyEffect[Notes, Shape]:
        return self.effects.reply(value)

    @query("echo-square")
    def echo_square(self, value: Square) -> WorkflowReadOnlyEffect[Notes, Square]:
        return self.effects.reply(value)

    @query("echo-list")
    def echo_list(self, value: list[int]) -> WorkflowReadOnlyEffect[Notes, list[int]]:
        return self.effects.reply(value)

    @query("greet")
    def greet(self, name: str = "world") -> WorkflowReadOnlyEffect[Notes, str]:
        return self.effects.reply(f"hello {name}")

    @query("total")
    def total(self) -> WorkflowReadOnlyEffect[Notes, int]:
        return self.effects.reply(self.state.total)

    @query("notes")
    def notes(self) -> WorkflowReadOnlyEffect[Notes, Notes]:
        return self.effects.reply(replace(self.state, blob=b""))

    @query("size")
    def size(self) -> WorkflowReadOnlyEffect[Notes, int]:
        return self.effects.reply(len(self.state.blob))

    @query("id")
    def id(self) -> WorkflowReadOnlyEffect[Notes, str]:
        return self.effects.reply(self.entity_id)

    @query("done")
    def done(self) -> WorkflowReadOnlyEffect[Notes, Done]:
        return self.effects.reply(DONE)

    @query("none")
    def none(self) -> WorkflowReadOnlyEffect[Notes, None]:
        return self.effects.reply(None)

    @query("letters")
    def letters(self, count: int) -> WorkflowReadOnlyEffect[Notes, str]:
        return self.effects.reply("x" * count)

    # --- commands -----------------------------------------------------------------------------------------------------

    @command("add")
    def add(self, amount: int) -> WorkflowEffect[Notes, int]:
        return self.effects.update_state(replace(self.state, total=self.state.total + amount)).then_reply(lambda state: state.total)

    @command("order")
    def order(self, order: Order) -> WorkflowEffect[Notes, int]:
        return self.effects.update_state(replace(self.state, total=self.state.total + 1)).then_reply(lambda state: state.total)

    @command("bump")
    def bump(self) -> WorkflowEffect[Notes, Done]:
        return self.effects.update_state(replace(self.state, total=self.state.total + 1)).then_reply(lambda _: DONE)

    @command("remove")
    def remove(self) -> WorkflowEffect[Notes, Done]:
        return self.effects.delete().then_reply(lambda _: DONE)

    @command("keep")
    def keep(self, blob: bytes) -> WorkflowEffect[Notes, Done]:
        return self.effects.update_state(replace(self.state, blob=blob)).then_reply(lambda _: DONE)

    @command("keep-and-show")
    def keep_and_show(self, blob: bytes) -> WorkflowEffect[Notes, Notes]:
        return self.effects.update_state(replace(self.state, blob=blob)).then_reply_state()

    @command("cancel")
    def cancel(self) -> WorkflowEffect[Notes, str]:
        return self.effects.update_state(self.state).then_reply(lambda _: "my own cancel")

    @command("await")
    def wait(self) -> WorkflowEffect[Notes, str]:
        return self.effects.reply("my own await")

    @command("slow")
    async def slow(self, seconds: float) -> WorkflowEffect[Notes, Done]:
        print(f"slow {self.entity_id} begins")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            print(f"slow {self.entity_id} was cancelled")
            raise
        return self.effects.update_state(replace(self.state, total=self.state.total + 1)).then_reply(lambda _: DONE)

    @query("slow-query")
    async def slow_query(self, seconds: float) -> WorkflowReadOnlyEffect[Notes, Done]:
        print(f"slow-query {self.entity_id} begins")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            print(f"slow-query {self.entity_id} was cancelled")
            raise
        return self.effects.reply(DONE)

    @command("refuse")
    def refuse(self, code: str) -> WorkflowEffect[Notes, Done]:
        return self.effects.error(f"refused with {code}", ErrorCode(code))

    @command("raise-refusal")
    def raise_refusal(self) -> WorkflowEffect[Notes, Done]:
        raise CommandError(Error(ErrorCode.CONFLICT, "raised as a refusal", {"wanted": 3}))

    # --- what is wrong ------------------------------------------------------------------------------------------------

    @command("raise")
    def raise_(self) -> WorkflowEffect[Notes, Done]:
        raise RuntimeError("the secret of this handler")

    @query("raise-in-query")
    def raise_in_query(self) -> WorkflowReadOnlyEffect[Notes, Done]:
        raise RuntimeError("the secret of this handler")

    @command("raise-in-reply")
    def raise_in_reply(self) -> WorkflowEffect[Notes, int]:
        return self.effects.update_state(replace(self.state, total=99)).then_reply(lambda _: 1 // 0)

    @command("return-none")
    def return_none(self) -> WorkflowEffect[Notes, Done]:
        return None  # type: ignore[return-value]

    @command("return-number")
    def return_number(self) -> WorkflowEffect[Notes, Done]:
        return 7  # type: ignore[return-value]

    @command("return-foreign")
    def return_foreign(self) -> WorkflowEffect[Notes, Done]:
        effect: Any = Counter().effects.persist(1).then_reply(lambda _: DONE)
        return effect  # type: ignore[no-any-return]

    @query("update-in-query")
    def update_in_query(self) -> WorkflowReadOnlyEffect[Notes, Done]:
        effect: Any = self.effects.update_state(replace(self.state, total=99)).then_reply(lambda _: DONE)
        return effect  # type: ignore[no-any-return]

    @command("bad-state")
    def bad_state(self) -> WorkflowEffect[Notes, Done]:
        state: Any = replace(self.state, total="no number")  # type: ignore[arg-type]
        return self.effects.update_state(state).then_reply(lambda _: DONE)

    @command("bad-reply")
    def bad_reply(self) -> WorkflowEffect[Notes, int]:
        reply: Any = "no number"
        return self.effects.update_state(replace(self.state, total=99)).then_reply(lambda _: reply)

    @command("bad-target")
    def bad_target(self) -> WorkflowEffect[Notes, Done]:
        name = "nowhere".strip()
        return self.effects.update_state(replace(self.state, total=99)).then_transition_to(name).then_reply(lambda _: DONE)

    # --- steps --------------------------------------------------------------------------------------------------------

    @command("start")
    def start(self, seconds: float) -> WorkflowEffect[Notes, Done]:
        """Run one step of that many seconds; a second start is refused."""
        if self.state.done:
            return self.effects.error("it has been started", ErrorCode.CONFLICT)
        return self.effects.update_state(replace(self.state, done=("started",))).then_transition_to("work", seconds).then_reply(lambda _: DONE)

    @command("rest")
    def rest(self, seconds: float) -> WorkflowEffect[Notes, Done]:
        """Run one step of that many seconds that leaves the state alone."""
        return self.effects.transition_to("sleep", seconds).then_reply(lambda _: DONE)

    @command("fail")
    def fail(self) -> WorkflowEffect[Notes, Done]:
        return self.effects.transition_to("break").then_reply(lambda _: DONE)

    @command("carry")
    def carry(self, blob: bytes) -> WorkflowEffect[Notes, Done]:
        """Take a blob as the input of a step, which makes it the state."""
        return self.effects.transition_to("store", blob).then_reply(lambda _: DONE)

    @step("work")
    async def work(self, seconds: float) -> WorkflowStepEffect[Notes]:
        await asyncio.sleep(seconds)
        return self.step_effects.update_state(replace(self.state, done=(*self.state.done, "worked"))).then_end()

    @step("sleep")
    async def sleep(self, seconds: float) -> WorkflowStepEffect[Notes]:
        await asyncio.sleep(seconds)
        return self.step_effects.then_end()

    @step("break")
    def break_(self) -> WorkflowStepEffect[Notes]:
        return self.step_effects.then_fail("it broke", ErrorCode.CONFLICT)

    @step("store")
    def store(self, blob: bytes) -> WorkflowStepEffect[Notes]:
        return self.step_effects.update_state(replace(self.state, blob=blob)).then_end()


class Counter(EventSourcedEntity[int, int]):
    component_id = "counter"
    state_codec = json_codec(int, "counter")
    event_codec = json_codec(int, "counted")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("count")
    def count(self, times: int) -> EventSourcedEffect[int, int, int]:
        """Persist that many events of 1, as one effect."""
        return self.effects.persist_all([1] * times).then_reply_state()

    @query("value")
    def value(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


service = Ankka.service().register(Everything).register(Counter)

if __name__ == "__main__":
    service.start()
