"""The machine of a key value entity: an entity's (see `entity_instance`), with nothing to fold and no snapshots.

The journal gives the state as it was last set, and each update's answer brings the next one. So the rows before it are
only history: the oldest go when there are more than `max-journal-events`, and the entity goes on.
"""

from __future__ import annotations

from typing import Any

from ankka.protocol.frames import EntityCommandDone
from ankka.protocol.spec import ComponentKind, ComponentSpec
from ankka_sidecar.core import key_value as rules
from ankka_sidecar.core.actions import Prune, Trim
from ankka_sidecar.core.entity_instance import EntityInstance
from ankka_sidecar.core.events import AnyEvent, Deleted
from ankka_sidecar.core.inputs import CallMade
from ankka_sidecar.core.journalling import Appending
from ankka_sidecar.core.records import KeyValueRecord

TRIM_EVERY = 1_000
"""Updates until the oldest rows go again."""


class KeyValueInstance(EntityInstance):
    """See the module."""

    __slots__ = ()

    kind = ComponentKind.KEY_VALUE_ENTITY
    _record_type = KeyValueRecord
    _journals_state = True
    _needs_all_rows = False

    def _command_event(self, call: CallMade, answer: Any, spec: ComponentSpec, now: int) -> AnyEvent | None:
        assert isinstance(answer, EntityCommandDone), f"an entity command answered {type(answer).__name__}"
        return rules.decide_command(self.record, answer, call.handler, now)

    def _evolved(self, event: AnyEvent) -> KeyValueRecord:
        return rules.evolve(self.record, event)  # type: ignore[arg-type]  # its machine appends its own events only

    def _settled(self, done: Appending, now: int) -> None:
        if isinstance(done.event, Deleted):
            self.state = None
            self._out.append(Prune(done.record.generation))
            return
        most, sequence = self._limits.max_journal_events, done.record.sequence
        if sequence > most and sequence % max(1, min(TRIM_EVERY, most // 10)) == 0:
            self._out.append(Trim(done.record.generation, sequence - most + 1))
