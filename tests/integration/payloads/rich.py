"""A value of many types as state, event, input, step input and reply. `python -m tests.integration.payloads.rich`."""

import datetime as dt
import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, Literal, NotRequired, TypedDict, TypeVar
from uuid import UUID

import msgspec
from pydantic import BaseModel, Field

from ankka import (
    Ankka,
    Done,
    EventSourcedEffect,
    EventSourcedEntity,
    KeyValueEffect,
    KeyValueEntity,
    KeyValueReadOnlyEffect,
    ReadOnlyEffect,
    StepRef,
    Workflow,
    WorkflowEffect,
    WorkflowReadOnlyEffect,
    WorkflowStepEffect,
    command,
    json_codec,
    query,
    step,
)

T = TypeVar("T")


class Level(enum.IntEnum):
    NONE = 0
    HIGH = 2


class Named(TypedDict):
    name: str
    note: NotRequired[str | None]


class Point(msgspec.Struct, frozen=True, rename="camel"):
    x_axis: int = 0


class Customer(BaseModel):
    name: str = Field(alias="customerName")
    credit: Decimal = Decimal("0.00")


@dataclass(frozen=True)
class Small:
    a: int


@dataclass(frozen=True)
class Large(Small):
    b: str = ""


@dataclass(frozen=True)
class Box(Generic[T]):
    content: T
    next: "Box[T] | None" = None


@dataclass(frozen=True)
class Rich:
    price: Decimal
    at: dt.datetime
    took: dt.timedelta
    day: dt.date
    time: dt.time
    data: bytes
    id: UUID
    level: Level
    words: frozenset[str]
    pair: tuple[int, str | None]
    rest: tuple[Decimal, ...]
    by_number: dict[int, list[Small | Large | None]]
    box: Box[int | None]
    point: Point
    named: Named
    customer: Customer
    big: int
    small: float
    nothing: dict[str, str | None] = field(default_factory=dict[str, str | None])
    kind: Literal["a", 1, None] = None


RICH = Rich(
    Decimal("1.10"),
    dt.datetime(1969, 12, 31, 23, 59, 59, 1, dt.timezone(dt.timedelta(hours=9, minutes=30))),
    dt.timedelta(days=-1, microseconds=1),
    dt.date(1, 1, 1),
    dt.time(0, 0, 0, 1),
    b"\x00\xff",
    UUID(int=2**100),
    Level.NONE,
    frozenset({""}),
    (0, None),
    (Decimal("-0"), Decimal("1E+3")),
    {0: [Large(0), Small(0), None], -1: []},
    Box(None, Box(0)),
    Point(0),
    {"name": "", "note": None},
    Customer(customerName="", credit=Decimal("0.10")),
    -(2**70),
    -0.0,
    {"": None},
    1,
)


def is_rich(value: Rich) -> bool:
    """Equal to `RICH`, with equal types."""
    return value == RICH and repr(value) == repr(RICH)


class RichWorkflow(Workflow[Rich | None]):
    component_id = "rich"
    state_codec = json_codec(Rich | None, "rich")

    def empty_state(self) -> Rich | None:
        return None

    @command("start")
    def start(self, value: Rich) -> WorkflowEffect[Rich | None, Rich]:
        if not is_rich(value):
            return self.effects.error(f"came as {value}")
        return self.effects.update_state(value).then_transition_to("pause", value).then_reply(lambda state: state or value)

    @command("go")
    def go(self, value: Rich) -> WorkflowEffect[Rich | None, Done]:
        return self.effects.transition_to("check", value).then_no_reply()

    @query("show")
    def show(self) -> WorkflowReadOnlyEffect[Rich | None, Rich | None]:
        return self.effects.reply(self.state)

    @step("pause")
    def pause(self, value: Rich) -> WorkflowStepEffect[Rich | None]:
        return self.step_effects.then_pause(after=dt.timedelta(days=1), on_timeout=StepRef("check", value))

    @step("check")
    async def check(self, value: Rich) -> WorkflowStepEffect[Rich | None]:
        """What came as input, what lies in the state, and what an entity answers."""
        answer = await self.context.client.for_event_sourced_entity(RichEntity, self.entity_id).call(RichEntity.add).invoke(value)
        if self.state is None or not all(map(is_rich, (value, self.state, answer))):
            return self.step_effects.then_fail(f"came as {value}, {self.state} and {answer}")
        return self.step_effects.then_end()


class RichEntity(EventSourcedEntity[list[Rich], Rich]):
    component_id = "rich-entity"
    state_codec = json_codec(list[Rich], "rich-list")
    event_codec = json_codec(Rich, "rich-event")
    snapshot_every = 2

    def empty_state(self) -> list[Rich]:
        return []

    def apply_event(self, state: list[Rich], event: Rich) -> list[Rich]:
        return [*state, event]

    @command("add")
    def add(self, value: Rich) -> EventSourcedEffect[list[Rich], Rich, Rich]:
        return self.effects.persist(value).then_reply(lambda values: values[-1])

    @query("all")
    def all(self) -> ReadOnlyEffect[list[Rich], Rich, list[Rich]]:
        return self.effects.reply(self.state)


class RichValue(KeyValueEntity[dict[str, Rich]]):
    component_id = "rich-value"
    state_codec = json_codec(dict[str, Rich], "rich-value")

    def empty_state(self) -> dict[str, Rich]:
        return {}

    @command("put")
    def put(self, value: Rich) -> KeyValueEffect[dict[str, Rich], Done]:
        return self.effects.update_state({"": value}).then_no_reply()

    @query("get")
    def get(self) -> KeyValueReadOnlyEffect[dict[str, Rich], dict[str, Rich]]:
        return self.effects.reply(self.state)


if __name__ == "__main__":
    Ankka.service().register(RichWorkflow).register(RichEntity).register(RichValue).start()
