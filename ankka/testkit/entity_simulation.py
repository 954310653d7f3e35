"""An entity's simulation: commands, queries, and the clock that lets it expire."""

from ankka_sidecar.core.entity_instance import EntityInstance
from ankka_sidecar.core.key_value_instance import KeyValueInstance
from ankka_sidecar.core.records import EntityRecord

from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind
from ankka.testkit.limits import LIMITS
from ankka.testkit.simulation import Simulation
from ankka.testkit.tested import Tested


class EntitySimulation(Simulation):
    """See the module."""

    def __init__(self, tested: Tested, instance: str, began: int) -> None:
        made = KeyValueInstance if tested.definition.kind is ComponentKind.KEY_VALUE_ENTITY else EntityInstance
        self._entity = made(tested.definition.component_id, instance, LIMITS, 0)
        super().__init__(tested, self._entity, began)

    @property
    def record(self) -> EntityRecord:
        """The instance as its journal says."""
        return self._entity.record

    @property
    def state(self) -> Payload | None:
        """The state after the last effect; `None` for the empty one."""
        return self._entity.state

    def advance(self, until: int) -> None:
        """Let time pass up to `until`, exactly."""
        self.settle()
        while self.pass_time(until):
            continue
        self.move_to(until)
