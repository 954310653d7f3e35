"""What a handler knows of its call: who, where, with which metadata; in a step also its attempt.

`now()`, `uuid()` and `random()` of a step give the same values whenever the same visit to the step is run again (a
retry, an interruption), so that what a step sends twice is the same twice. `uuid()` and `random()` are drawn from one
sequence: which value a draw gets is a matter of how many were drawn before it.
"""

import asyncio
import hashlib
import itertools
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ankka.metadata import Metadata
from ankka.protocol.attempt import Token

if TYPE_CHECKING:
    from ankka.client import ComponentClient

__all__ = ["CommandContext", "Metadata", "StepContext"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UUID_NAMESPACE = uuid.UUID("6f1bb2f5-0b1d-5c1e-9a53-3a7a7f4c1d0e")


class CommandContext:
    """The context of a command or a query.

    `sequence_number` is the position of the instance in its journal; `client` calls other components; `resources` is
    what the service's lifespan opened (`None` without one).
    """

    __slots__ = ("_client", "_metadata", "component_id", "entity_id", "resources", "sequence_number")

    def __init__(
        self,
        component_id: str,
        entity_id: str,
        sequence_number: int,
        client: "ComponentClient | None",
        resources: Any = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.component_id: str = component_id
        self.entity_id: str = entity_id
        self.sequence_number: int = sequence_number
        self.resources: Any = resources
        self._client = client
        self._metadata = metadata

    @property
    def metadata(self) -> Metadata:
        """What the caller sent along; empty in a step."""
        return Metadata(self._metadata)

    @property
    def client(self) -> "ComponentClient":
        """The client through which this handler calls other components."""
        if self._client is None:
            raise RuntimeError(f"{self.component_id}/{self.entity_id} has no client here")
        return self._client


class StepContext(CommandContext):
    """The context in a workflow. What belongs to a step's attempt raises `RuntimeError` in commands and queries."""

    __slots__ = ("_at", "_draws", "_task", "_token")

    def __init__(
        self,
        component_id: str,
        entity_id: str,
        sequence_number: int,
        client: "ComponentClient | None",
        resources: Any = None,
        metadata: Mapping[str, str] | None = None,
        token: Token | None = None,
        at: int = 0,
        task: "asyncio.Task[Any] | None" = None,
    ) -> None:
        super().__init__(component_id, entity_id, sequence_number, client, resources, metadata)
        self._token = token
        self._at = at
        self._task = task
        self._draws = itertools.count(1)  # each number once, also when threads of the step draw at once

    @property
    def attempt(self) -> int:
        """Which attempt of this visit to the step it is, from 1."""
        return self._step("attempt").attempt

    @property
    def is_cancelled(self) -> bool:
        """Whether this attempt was replaced: what it does from now on is dropped. An async step is also cancelled."""
        self._step("is_cancelled")
        return self._task is not None and self._task.cancelling() > 0

    @property
    def idempotency_key(self) -> str:
        """A text that is the same for all attempts of this visit and for nothing else: send it with outside requests."""
        token = self._step("idempotency_key")
        visit = [token.component, token.instance, str(token.generation), str(token.run), str(token.visit)]
        return hashlib.sha256("\0".join(visit).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def now(self) -> datetime:
        """The instant at which this visit to the step began (aware, UTC); the same each time, and in each of its attempts."""
        self._step("now()")
        if self._at == 0:
            self._at = int(datetime.now(UTC).timestamp() * 1_000_000)
        return _EPOCH + timedelta(microseconds=self._at)

    def uuid(self) -> uuid.UUID:
        """A UUID, a new one with each call; the visit's next attempt gets the same ones in the same order.

        The order is that of the draws. Tasks that run at once may come in another order in the next attempt: draw for
        all of them before they begin, and hand each its own::

            ids = [self.context.uuid() for _ in orders]
            await asyncio.gather(*(self._place(order, id) for order, id in zip(orders, ids, strict=True)))
        """
        return uuid.uuid5(_UUID_NAMESPACE, self._draw("uuid()"))

    def random(self) -> float:
        """A number from 0 up to 1, a new one with each call; for the visit's next attempt the same holds as for `uuid()`."""
        digest = hashlib.sha256(self._draw("random()").encode()).digest()
        return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)

    def _draw(self, what: str) -> str:
        self._step(what)
        return f"{self.idempotency_key} {next(self._draws)}"

    def _step(self, what: str) -> Token:
        if self._token is None:
            raise RuntimeError(f"context.{what} is there only in a step; this is a command or a query of {self.component_id}/{self.entity_id}")
        return self._token
