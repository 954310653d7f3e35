"""A command with an idempotency key, at the head of its mailbox: was it done before? (W15, W16, I4)

    head ──no key, fresh, or an id that never lived──► its handler
      └──FindReply──► nothing there, or too old ──────► its handler
                  ├──► the same input, as it came ────► the stored reply
                  └──► another ──AskFingerprint──► equal once decoded ──► the stored reply
                                                └► CONFLICT

It is looked up at the head and not before: then every command ahead of it is in the journal, or was refused and left
nothing. What is stored outlives its instance's deletion, until its retention.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ankka.protocol import keys
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Fingerprinted
from ankka_sidecar.core.actions import AskFingerprint, FindReply, Reply
from ankka_sidecar.core.inputs import CallMade, ReplyFound
from ankka_sidecar.core.journalling import Journalled
from ankka_sidecar.core.limits import Limits

FINGERPRINT = 16
"""Bytes of a fingerprint's halves: of the input as it came, and of the input decoded."""


class Asking(msgspec.Struct, frozen=True, gc=False):
    """What is out: a command's or query's handler or the search for its reply (`call`), or a fold or merge (no `call`)."""

    ask: int
    call: CallMade | None
    deadline: int


class Keyed(Journalled):
    """The part of an instance machine that knows what was done; `instance.Instance` is the rest."""

    __slots__ = ("_ask", "_asking", "_found", "_limits")

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        super().__init__(component, instance, salt, limits.max_journal_events)
        self._limits = limits
        self._ask: int = 0
        self._asking: Asking | None = None
        self._found: ReplyFound | None = None
        """What the key of the command that is out has left, while a process compares its input."""

    def _ask_command(self, call: CallMade, now: int) -> None:
        """Have a process run the command."""
        raise NotImplementedError

    def _begin_command(self, call: CallMade, now: int) -> None:
        """It is the command's turn."""
        if call.key is None or call.fresh or not self.record.generation:
            self._ask_command(call, now)
            return
        self._put_out(call, now)
        self._out.append(FindReply(self._ask, call.key, self.record.generation, self.record.reborn))

    def _put_out(self, call: CallMade, now: int) -> None:
        self._ask += 1
        self._asking = Asking(self._ask, call, now + self._limits.handler_timeout)

    def _on_reply_found(self, found: ReplyFound, now: int) -> None:
        asking = self._asking
        if asking is None or asking.call is None or asking.ask != found.ask:
            return  # the caller was told that it took too long
        self._asking = None
        call = asking.call
        assert call.key is not None
        if found.reply is None:
            self._ask_command(call, now)
        elif found.at + self._retention(call.key) <= now:
            # Of another life it has another place, and goes when keys are looked through.
            self._ask_command(msgspec.structs.replace(call, forgets=found.generation == self.record.generation), now)
        elif found.fingerprint[:FINGERPRINT] == keys.fingerprint(call.handler, call.input):
            self._out.append(Reply(call.call, found.reply))
        else:
            self._put_out(call, now)
            self._found = found
            self._out.append(AskFingerprint(self._ask, call))

    def _on_fingerprinted(self, call: CallMade, answer: Fingerprinted) -> None:
        """A process has said which input it is, decoded."""
        found, self._found = self._found, None
        assert found is not None
        assert found.reply is not None
        if answer.fingerprint == found.fingerprint[FINGERPRINT:]:
            self._out.append(Reply(call.call, found.reply))
            return
        where = f"{self.component}/{self.instance}"
        text = f"the idempotency key of this call to '{call.handler}' of {where} was used with another input, or for another handler, before"
        details: dict[str, Any] = {"at": found.at, "sequence": found.sequence}
        self._out.append(Reply(call.call, Error(ErrorCode.CONFLICT, f"{text}; nothing was done: give another call another key", details)))

    def _retention(self, key: bytes) -> int:
        return self._limits.step_call_retention if key.startswith(keys.STEP) else self._limits.idempotency_retention


def told(call: CallMade, decoded: bytes) -> bytes:
    """What is stored with a keyed command's effect: the fingerprints of its input as it came, and decoded."""
    return keys.fingerprint(call.handler, call.input) + decoded
