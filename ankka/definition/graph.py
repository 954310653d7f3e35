"""The steps of a workflow as a graph, read from its source and settings."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ankka.definition.build import definition_of
from ankka.definition.definitions import ComponentDefinition
from ankka.definition.flow import canonical
from ankka.definition.targets import Target, read_targets


@dataclass(frozen=True, slots=True)
class Edge:
    """One way from a command or a step onwards.

    `via` is `transition`, `on-timeout`, `failover`, `cancel`, `pause`, `end` or `fail`. `target` is `None` for the last
    three, and where the source does not say which step it is.
    """

    source: str
    target: str | None
    via: str
    from_command: bool = False


def edges(cls: type[Any]) -> list[Edge]:
    """The edges of a workflow's steps, each once, in the order of the source.

    Both branches of `"wait" if … else "charge"` are there; what a step's own helper methods return belongs to the step.
    Where there is no source, only what settings say is known.
    """
    definition = definition_of(cls)
    found: dict[Edge, None] = {}
    for handler in definition.handlers.values():
        if not handler.read_only:
            found |= dict.fromkeys(_edges_of(definition, handler.name, handler.method, from_command=True))
    for step in definition.steps.values():
        found |= dict.fromkeys(_edges_of(definition, step.name, step.method, from_command=False))
        if step.recovery.failover_to is not None:
            found[Edge(step.name, step.recovery.failover_to, "failover")] = None
    if definition.settings.cancel_to is not None:
        found[Edge("", definition.settings.cancel_to, "cancel")] = None
    return list(found)


def _edges_of(definition: ComponentDefinition, source: str, method: str, *, from_command: bool) -> Iterator[Edge]:
    for target in _targets(definition, method, set()):
        step = None if target.step is None else canonical(target.step, definition.steps)
        yield Edge(source, step, target.via, from_command)


def _targets(definition: ComponentDefinition, method: str, seen: set[str]) -> Iterator[Target]:
    """What a method leads to, and the plain methods it uses; another handler's targets are that handler's."""
    function = inspect.getattr_static(definition.cls, method, None)
    if method in seen or not callable(function):
        return
    seen.add(method)
    reading = read_targets(function, definition.cls)
    if reading is None:
        return
    yield from reading.targets
    handlers = {handler.method for handler in definition.handlers.values()} | {step.method for step in definition.steps.values()}
    for used in sorted(reading.uses - handlers):
        yield from _targets(definition, used, seen)
