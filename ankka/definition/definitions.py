"""Frozen definitions: what a decorated class comes to. Dispatch, the kits and the handshake read only these."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ankka.codec import Codec
from ankka.definition.settings import Recovery, WorkflowSettings
from ankka.protocol.spec import ComponentKind, ComponentSpec

if TYPE_CHECKING:
    from ankka.definition.component import Component

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class InputDefinition:
    """The one input of a handler. `optional`: it has a default; `takes_none`: `None` is a value of its type."""

    name: str
    type: Any
    codec: Codec[Any]
    optional: bool = False
    takes_none: bool = False


@dataclass(frozen=True, slots=True)
class HandlerDefinition:
    """A command or a query (`read_only`): its wire name, its function, what it takes and answers."""

    name: str
    method: str
    function: Handler
    read_only: bool
    is_async: bool
    input: InputDefinition | None
    reply: Any
    reply_codec: Codec[Any]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class StepDefinition:
    """A step with the limits that apply to it. A sync step runs in a thread (`threaded`)."""

    name: str
    method: str
    function: Handler
    is_async: bool
    input: InputDefinition | None
    aliases: tuple[str, ...] = ()
    timeout: timedelta = timedelta(seconds=30)
    recovery: Recovery = Recovery()
    once: bool = False
    summary: str = ""

    @property
    def threaded(self) -> bool:
        """Whether it takes a thread of the process while it runs."""
        return not self.is_async


@dataclass(frozen=True, slots=True)
class ComponentDefinition:
    """A component: its handlers and steps by wire name, its codecs and settings.

    `steps` has canonical names; `step(name)` also knows aliases.
    """

    component_id: str
    kind: ComponentKind
    cls: "type[Component[Any]]"
    state_codec: Codec[Any]
    handlers: Mapping[str, HandlerDefinition]
    steps: Mapping[str, StepDefinition]
    event_codec: Codec[Any] | None = None
    settings: WorkflowSettings = WorkflowSettings()
    snapshot_every: int = 100
    snapshot_version: int = 1

    def step(self, name: str) -> StepDefinition | None:
        """The step of that name or alias."""
        found = self.steps.get(name)
        if found is None:
            found = next((step for step in self.steps.values() if name in step.aliases), None)
        return found

    def fingerprint(self) -> str:
        """A digest of the schemas of state and events: which form of the data this class reads and writes."""
        if self.event_codec is None:
            return self.state_codec.fingerprint()
        both = f"{self.state_codec.fingerprint()} {self.event_codec.fingerprint()}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    def spec(self) -> ComponentSpec:
        """What the sidecar is told when a process attaches."""
        from ankka.definition.declaration import spec_of

        return spec_of(self)
