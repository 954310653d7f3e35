"""An entity of the first version: it knows two events."""

from dataclasses import dataclass

from ankka import Ankka, EventSourcedEffect, EventSourcedEntity, ReadOnlyEffect, command, json_codec, query


@dataclass(frozen=True)
class Added:
    number: int


@dataclass(frozen=True)
class Counted:
    """Nobody persists it; a union of one class would be that class, without a tag."""

    number: int


Event = Added | Counted


class StockEntity(EventSourcedEntity[int, Event]):
    component_id = "stock"
    state_codec = json_codec(int, "stock")
    event_codec = json_codec(Event, "stock-event")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: Event) -> int:
        return state + event.number if isinstance(event, Added) else event.number

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, Event, int]:
        return self.effects.persist(Added(number)).then_reply_state()

    @query("version")
    def version(self) -> ReadOnlyEffect[int, Event, str]:
        return self.effects.reply(f"v1 {self.state}")


if __name__ == "__main__":
    Ankka.service().register(StockEntity).start()
