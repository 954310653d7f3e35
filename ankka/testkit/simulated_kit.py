"""What every kit without a sidecar has: scripted answers, the simulated clock, the journal."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from ankka_sidecar.core.lifecycle import instant

from ankka.definition.settings import microseconds
from ankka.testkit.loop_thread import PATIENCE
from ankka.testkit.scripted_calls import Script, ScriptedCall, When
from ankka.testkit.simulation import Simulation
from ankka.testkit.timeline import JournalEntry


class SimulatedKit:
    """See the module; `WorkflowTestKit`, `EventSourcedTestKit` and `KeyValueTestKit` are the kits."""

    def __init__(self, script: Script, simulation: Simulation) -> None:
        self._script = script
        self._simulation = simulation
        self.patience = timedelta(seconds=PATIENCE)

    def when(self, component: str | type[Any], handler: str | Callable[..., Any]) -> When:
        """Say how calls to another component are answered: `kit.when("shopping-cart", "checkout").reply(cart)`.

        `.reply(value)`, `.refuse(code, message)` or `.hang()`; with `times=2` for the next two calls only.
        """
        return When(self._script, component, handler)

    @property
    def calls(self) -> list[ScriptedCall]:
        """The calls to other components that were made; a recorded reply that a retry got again is none."""
        return list(self._script.calls)

    @property
    def journal(self) -> list[JournalEntry]:
        """What was journalled, oldest first, as `ankka:journal` shows it; deleted lives stay in it."""
        return self._simulation.entries()

    @property
    def now(self) -> datetime:
        """The simulated instant, in UTC."""
        now = instant(self._simulation.clock.now)
        assert now is not None
        return now

    @property
    def patience(self) -> timedelta | None:
        """How long (real time) tested code may block before it fails with its stack: 10 s, `None` for as long as it takes."""
        seconds = self._simulation.patience
        return None if seconds is None else timedelta(seconds=seconds)

    @patience.setter
    def patience(self, patience: timedelta | None) -> None:
        self._simulation.wait_for(None if patience is None else patience.total_seconds())

    def _later(self, duration: timedelta) -> int:
        """The instant `duration` after now."""
        if duration < timedelta(0):
            raise ValueError(f"advance({duration}): time does not go back")
        return self._simulation.clock.now + microseconds(duration)
