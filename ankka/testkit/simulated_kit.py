"""What every kit without a sidecar has: calls, scripted answers, the simulated clock, the journal."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar, cast

from ankka_sidecar.core.lifecycle import instant

from ankka.codec import EncodingError
from ankka.context import Metadata
from ankka.definition.settings import check_duration, microseconds
from ankka.process.dispatch_values import new_object
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.ids import check_instance_id
from ankka.protocol.journal_entry import JournalEntry
from ankka.protocol.payload import Payload
from ankka.testkit.handler_calls import decoded_reply, encoded_input, handler_name, key_of
from ankka.testkit.loop_thread import PATIENCE
from ankka.testkit.scripted_calls import ScriptedCall, When
from ankka.testkit.simulation import Called, Simulation
from ankka.testkit.tested import Tested

S = TypeVar("S")

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
"""When simulated time begins, unless a test says otherwise."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SimulatedKit(Generic[S]):
    """See the module; `WorkflowTestKit`, `EventSourcedTestKit` and `KeyValueTestKit` are the kits."""

    def __init__(self, tested: Tested, entity_id: str, simulation: Simulation) -> None:
        self._tested = tested
        self._definition = tested.definition
        self._script = tested.script
        self._entity_id = check_instance_id(entity_id)
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
        self._simulation.wait_for(None if patience is None else check_duration(patience, "patience").total_seconds())

    def _called(
        self, name: str | Callable[..., Any], input: Any, metadata: Mapping[str, str] | None, idempotency_key: str | None
    ) -> tuple[Any, Called] | Error:
        """Call a handler: its reply and what it came to, or the refusal its caller gets."""
        handler = handler_name(name)
        try:
            payload = encoded_input(self._definition, handler, input)
        except EncodingError as error:
            return Error(ErrorCode.BAD_REQUEST, f"the input of {handler!r} cannot be sent: {error.path}: {error.reason}")
        called = self._simulation.call(handler, payload, Metadata(metadata), key_of(self._definition, self._entity_id, idempotency_key))
        if isinstance(called.result, Error):
            return called.result
        return decoded_reply(self._definition.handlers[handler], called.result), called

    def _decoded(self, state: Payload | None) -> S:
        """A state as it is journalled; the empty one if there is none."""
        if state is None:
            return cast("S", new_object(self._definition, self._entity_id, self._tested.create).empty_state())
        return cast("S", self._definition.state_codec.decode_payload(state))

    def _later(self, duration: timedelta) -> int:
        """The instant `duration` after now."""
        if not isinstance(duration, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]  # users without a type checker
            raise TypeError(f"advance({duration!r}): no duration; write timedelta(seconds=…)")
        if duration < timedelta(0):
            raise ValueError(f"advance({duration}): time does not go back")
        return self._simulation.clock.now + microseconds(duration)


def beginning(now: datetime | None) -> int:
    """When simulated time begins, in µs; `ValueError` for a time without a zone."""
    began = BEGAN if now is None else now
    if began.tzinfo is None:
        raise ValueError(f"now={now!r} has no time zone; write datetime(…, tzinfo=UTC)")
    return microseconds(began - _EPOCH)
