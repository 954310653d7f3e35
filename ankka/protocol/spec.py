"""What a process declares of its components when it attaches: handlers, steps, settings, types.

Durations are microseconds. The declared settings are those that apply (rule W17): nothing of them is journalled but
the instants and counts they led to.
"""

from enum import StrEnum
from typing import Any

import msgspec


class ComponentKind(StrEnum):
    """What a component is; the name the client's `for_…` method stands for."""

    WORKFLOW = "workflow"
    EVENT_SOURCED_ENTITY = "event-sourced-entity"
    KEY_VALUE_ENTITY = "key-value-entity"


class TypeSpec(msgspec.Struct, frozen=True):
    """A type at the edge: `name` for messages, how it is encoded, and its JSON Schema.

    `primitive` is one of `str`, `int`, `float`, `bool` where the value may also travel as plain text.
    `optional` says that a handler's input has a default, so that it may be left out.
    """

    name: str
    content_type: str
    schema: dict[str, Any] = {}
    primitive: str | None = None
    optional: bool = False


class HandlerSpec(msgspec.Struct, frozen=True):
    """A command or query: its wire name, what it takes (`None`: nothing) and what it answers."""

    name: str
    reply: TypeSpec
    read_only: bool = False
    input: TypeSpec | None = None
    summary: str = ""


class BackoffSpec(msgspec.Struct, frozen=True):
    """Growing delays between retries: `initial * factor**(n-1)`, at most `maximum`, spread by `jitter` (0..1)."""

    initial: int
    factor: float = 2.0
    maximum: int | None = None
    jitter: float = 0.0


class RecoverySpec(msgspec.Struct, frozen=True):
    """What happens after a fault: retries, then a step to fail over to; `not_on` names error types never retried."""

    max_retries: int = 0
    failover_to: str | None = None
    backoff: BackoffSpec | None = None
    not_on: tuple[str, ...] = ()


class StepSpec(msgspec.Struct, frozen=True):
    """A step with the settings that apply to it (its own, or the workflow's defaults already filled in)."""

    name: str
    timeout: int
    aliases: tuple[str, ...] = ()
    recovery: RecoverySpec = RecoverySpec()
    input: TypeSpec | None = None
    once: bool = False
    threaded: bool = False
    """A sync step: it runs in a thread of the process, and takes a place of its thread limit."""


class ComponentSpec(msgspec.Struct, frozen=True):
    """One component as a process declares it."""

    component: str
    kind: ComponentKind
    handlers: tuple[HandlerSpec, ...] = ()
    steps: tuple[StepSpec, ...] = ()
    state: TypeSpec | None = None
    manifest: str = ""
    fingerprint: str = ""
    """A digest of the state's (and events') schema: which form of the data this process reads and writes."""
    timeout: int | None = None
    """A workflow's ceiling, measured from its start."""
    cancel_to: str | None = None
    snapshot_every: int = 100
    snapshot_version: int = 1
