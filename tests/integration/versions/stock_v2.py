"""An entity of the second version: it knows one event more, and the first one has a new field."""

from dataclasses import dataclass

from ankka import Ankka, EventSourcedEffect, EventSourcedEntity, ReadOnlyEffect, command, json_codec, query


@dataclass(frozen=True)
class Added:
    number: int
    by: str = "somebody"


@dataclass(frozen=True)
class Removed:
    number: int


@dataclass(frozen=True)
class Counted:
    """Nobody persists it; a union of one class would be that class, without a tag."""

    number: int


Event = Added | Counted | Removed


class StockEntity(EventSourcedEntity[int, Event]):
    component_id = "stock"
    state_codec = json_codec(int, "stock")
    event_codec = json_codec(Event, "stock-event")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: Event) -> int:
        match event:
            case Added():
                return state + event.number
            case Removed():
                return state - event.number
            case Counted():
                return event.number

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, Event, int]:
        return self.effects.persist(Added(number, "v2")).then_reply_state()

    @command("remove")
    def remove(self, number: int) -> EventSourcedEffect[int, Event, int]:
        return self.effects.persist(Removed(number)).then_reply_state()

    @query("version")
    def version(self) -> ReadOnlyEffect[int, Event, str]:
        return self.effects.reply(f"v2 {self.state}")


if __name__ == "__main__":
    Ankka.service().register(StockEntity).start()
