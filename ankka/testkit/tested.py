"""What a kit tests: a component, what makes its objects, what its handlers are given, and what others answer them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ankka.definition.build import definition_of
from ankka.definition.definitions import ComponentDefinition
from ankka.protocol.spec import ComponentKind
from ankka.testkit.scripted_calls import Script

_KITS = {
    ComponentKind.WORKFLOW: ("a workflow", "WorkflowTestKit"),
    ComponentKind.EVENT_SOURCED_ENTITY: ("an event sourced entity", "EventSourcedTestKit"),
    ComponentKind.KEY_VALUE_ENTITY: ("a key value entity", "KeyValueTestKit"),
}


@dataclass(frozen=True, slots=True)
class Tested:
    """See the module."""

    definition: ComponentDefinition
    create: Callable[[], Any] | None
    resources: Any
    script: Script = field(default_factory=Script)

    @classmethod
    def of(cls, component: type[Any], kind: ComponentKind, create: Callable[[], Any] | None, resources: Any) -> "Tested":
        """A component of that kind; `TypeError` if it is of another."""
        definition = definition_of(component)
        if definition.kind is not kind:
            what, kit = _KITS[definition.kind]
            raise TypeError(f"{component.__name__} is {what}, not {_KITS[kind][0]}; use {kit}.of({component.__name__})")
        return cls(definition, create, resources)
