"""A service of entities that change, expire and go: `note` keeps values, `tally` events, and `desk` calls a note."""

from dataclasses import dataclass, replace
from datetime import timedelta

from ankka import (
    Ankka,
    Done,
    ErrorCode,
    EventSourcedEffect,
    EventSourcedEntity,
    KeyValueEffect,
    KeyValueEntity,
    KeyValueReadOnlyEffect,
    ReadOnlyEffect,
    command,
    json_codec,
    query,
)


@dataclass(frozen=True)
class Note:
    id: str
    text: str = ""
    edits: int = 0


class NoteEntity(KeyValueEntity[Note]):
    component_id = "note"
    state_codec = json_codec(Note, "note")

    def empty_state(self) -> Note:
        return Note(self.entity_id)

    @command("write")
    def write(self, text: str) -> KeyValueEffect[Note, Note]:
        """Replace the text."""
        if text == "bad":
            return self.effects.error("no bad words", ErrorCode.CONFLICT)
        return self.effects.update_state(replace(self.state, text=text, edits=self.state.edits + 1)).then_reply_state()

    @command("lend")
    def lend(self, seconds: float) -> KeyValueEffect[Note, Note]:
        kept = self.effects.update_state(replace(self.state, edits=self.state.edits + 1))
        return kept.expire_after(timedelta(seconds=seconds)).then_reply_state()

    @command("drop")
    def drop(self) -> KeyValueEffect[Note, Note]:
        return self.effects.delete_entity().then_reply_state()

    @query("read")
    def read(self) -> KeyValueReadOnlyEffect[Note, Note]:
        return self.effects.reply(self.state)


class Choice(KeyValueEntity[int | None]):
    component_id = "choice"
    state_codec = json_codec(int | None, "choice")

    def empty_state(self) -> int | None:
        return -1

    @command("set")
    def set(self, value: int | None) -> KeyValueEffect[int | None, Done]:
        return self.effects.update_state(value).then_no_reply()

    @query("read")
    def read(self) -> KeyValueReadOnlyEffect[int | None, str]:
        return self.effects.reply(repr(self.state))


class Tally(EventSourcedEntity[int, int]):
    component_id = "tally"
    state_codec = json_codec(int, "tally")
    event_codec = json_codec(int, "counted")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        return state + event

    @command("count")
    def count(self) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(1).then_reply_state()

    @command("lend")
    def lend(self, seconds: float) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(1).expire_after(timedelta(seconds=seconds)).then_reply_state()

    @query("read")
    def read(self) -> ReadOnlyEffect[int, int, int]:
        return self.effects.reply(self.state)


class Desk(KeyValueEntity[str]):
    component_id = "desk"
    state_codec = json_codec(str, "desk")

    def empty_state(self) -> str:
        return ""

    @command("copy")
    async def copy(self, note: str) -> KeyValueEffect[str, str]:
        """Take over the text of a note."""
        found = await self.context.client.for_key_value_entity(NoteEntity, note).call(NoteEntity.read).invoke()
        return self.effects.update_state(found.text).then_reply_state()


service = Ankka.service().register(NoteEntity).register(Choice).register(Tally).register(Desk)

if __name__ == "__main__":
    service.start()
