"""A key value entity whose state may be `None`: the one of the unit tests."""

from dataclasses import dataclass, replace
from datetime import timedelta

from ankka.codec import Done, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.key_value import KeyValueEffect, KeyValueReadOnlyEffect
from ankka.key_value_entity import KeyValueEntity, command, query


@dataclass(frozen=True)
class Profile:
    name: str
    age: int = 0


class ProfileEntity(KeyValueEntity[Profile | None]):
    component_id = "profile"
    state_codec = json_codec(Profile | None, "profile")

    def empty_state(self) -> Profile | None:
        return Profile(self.entity_id)

    @command("rename")
    def rename(self, name: str) -> KeyValueEffect[Profile | None, Profile | None]:
        if not name:
            return self.effects.error("a name is needed", ErrorCode.CONFLICT)
        return self.effects.update_state(Profile(name)).then_reply_state()

    @command("grow")
    async def grow(self) -> KeyValueEffect[Profile | None, int]:
        before = self.state or Profile("?")
        return self.effects.update_state(replace(before, age=before.age + 1)).then_reply(lambda after: after.age if after else -1)

    @command("clear")
    def clear(self) -> KeyValueEffect[Profile | None, Done]:
        return self.effects.update_state(None).then_no_reply()

    @command("lend")
    def lend(self) -> KeyValueEffect[Profile | None, Done]:
        return self.effects.update_state(self.state).expire_after(timedelta(seconds=2)).then_no_reply()

    @command("drop")
    def drop(self) -> KeyValueEffect[Profile | None, Profile | None]:
        return self.effects.update_state(None).delete_entity().then_reply_state()

    @command("spoil")
    def spoil(self) -> KeyValueEffect[Profile | None, Done]:
        return self.effects.update_state(Profile(3)).then_no_reply()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    @command("begin")
    def begin(self) -> KeyValueEffect[Profile | None, Done]:
        return self.effects.update_state(self.state)  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @command("touch")
    def touch(self) -> KeyValueEffect[Profile | None, Done]:
        return self.effects.no_reply()

    @query("read")
    def read(self) -> KeyValueReadOnlyEffect[Profile | None, Profile | None]:
        return self.effects.reply(self.state)

    @query("meddle")
    def meddle(self) -> KeyValueReadOnlyEffect[Profile | None, Done]:
        return self.effects.update_state(None).then_no_reply()  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
