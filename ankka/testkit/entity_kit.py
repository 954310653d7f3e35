"""What the kits of both kinds of entities have: the state, its place in the journal, and time in which it may expire."""

from datetime import datetime, timedelta
from typing import Generic, TypeVar

from ankka_sidecar.core.events import Deleted

from ankka.testkit.entity_simulation import EntitySimulation
from ankka.testkit.simulated_kit import SimulatedKit, beginning
from ankka.testkit.tested import Tested

S = TypeVar("S")


class EntityKit(SimulatedKit[S], Generic[S]):
    """See the module; `EventSourcedTestKit` and `KeyValueTestKit` are the kits."""

    def __init__(self, tested: Tested, entity_id: str, now: datetime | None) -> None:
        self._sim = EntitySimulation(tested, entity_id, beginning(now))
        super().__init__(tested, entity_id, self._sim)

    @property
    def state(self) -> S:
        """The state after the last effect, else the empty one."""
        return self._decoded(self._sim.state)

    @property
    def sequence(self) -> int:
        """How many effects are in the journal; none after a deletion."""
        return self._sim.record.sequence

    @property
    def deleted(self) -> bool:
        """Whether the last effect deleted the entity, or its time was over."""
        return bool(self._sim.rows) and isinstance(self._sim.rows[-1].event, Deleted)

    def advance(self, duration: timedelta) -> None:
        """Let exactly this much simulated time pass; an entity whose expiry comes in it is deleted then."""
        self._sim.advance(self._later(duration))
