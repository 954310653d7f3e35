"""Key value entities: a command replaces the state, and the last one journalled is the state."""

from typing import Any, ClassVar, Generic, TypeVar, cast

from ankka.context import CommandContext
from ankka.definition.component import Component, EffectTypes
from ankka.definition.marks import command, query
from ankka.definition.problems import RegistrationError
from ankka.effects.key_value import KeyValueEffect, KeyValueEffects, KeyValueReadOnlyEffect
from ankka.protocol.spec import ComponentKind

__all__ = ["KeyValueEntity", "RegistrationError", "command", "query"]

S = TypeVar("S")


class KeyValueEntity(Component[S], Generic[S]):
    """An entity whose state `S` is replaced as a whole; subclass it.

    One command at a time runs on an instance. Before the first update, and after a deletion, the state is
    `empty_state()`.

    >>> from ankka.codec import json_codec
    >>> class Greeting(KeyValueEntity[str]):
    ...     component_id = "greeting"
    ...     state_codec = json_codec(str, "greeting")
    ...     def empty_state(self) -> str:
    ...         return "hello"
    ...     @command("set")
    ...     def set(self, text: str) -> KeyValueEffect[str, str]:
    ...         return self.effects.update_state(text).then_reply_state()
    >>> from ankka.testkit import KeyValueTestKit
    >>> KeyValueTestKit.of(Greeting).call("set", "moi").reply
    'moi'
    """

    __ankka_kind__ = ComponentKind.KEY_VALUE_ENTITY
    __ankka_effects__: ClassVar[EffectTypes] = EffectTypes(command=KeyValueEffect, query=KeyValueReadOnlyEffect, arity=2)

    @property
    def effects(self) -> KeyValueEffects[S]:
        """What a command or a query can return."""
        return cast("KeyValueEffects[S]", _EFFECTS)

    @property
    def context(self) -> CommandContext:
        """Who is called, with which metadata, and the client; only while a handler runs."""
        return self._context()


_EFFECTS: KeyValueEffects[Any] = KeyValueEffects()
