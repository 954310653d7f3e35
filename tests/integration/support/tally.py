"""An entity for services whose tests only count: a sum of what was added."""

from ankka import EventSourcedEffect, EventSourcedEntity, ReadOnlyEffect, command, json_codec, query


class TallyEntity(EventSourcedEntity[int, int]):
    """Each `add` is an event; a snapshot is taken every 100 effects, as of any entity."""

    component_id = "tally"
    state_codec = json_codec(int, "tally")
    event_codec = json_codec(int, "added")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(number).then_reply_state()

    @query("sum")
    def sum(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)
