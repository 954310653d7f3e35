"""The components a process hosts, by id; everything that is wrong with them is reported together."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ankka.definition.build import definition_of
from ankka.definition.component import Component
from ankka.definition.definitions import ComponentDefinition
from ankka.definition.problems import RegistrationError


@dataclass(frozen=True, slots=True)
class Hosted:
    """A component of this process: its definition, and what makes its objects (`None`: the class itself)."""

    definition: ComponentDefinition
    create: Callable[[], Any] | None = None


class Registry:
    """What was registered, in order."""

    def __init__(self) -> None:
        self._added: list[tuple[type[Component[Any]], Callable[[], Any] | None]] = []

    def add(self, component: type[Component[Any]], create: Callable[[], Any] | None) -> None:
        """Add a component; it is looked at by `checked`."""
        self._added.append((component, create))

    def checked(self) -> Mapping[str, Hosted]:
        """All components by id, or `RegistrationError` with every problem of all of them."""
        problems: list[str] = []
        components: dict[str, Hosted] = {}
        for component, create in self._added:
            try:
                definition = definition_of(component)
            except RegistrationError as error:
                problems += [f"{error.title}: {problem}" for problem in error.problems]
                continue
            if (problem := _making(component, create)) is not None:
                problems.append(f"{component.__qualname__}: {problem}")
            other = components.get(definition.component_id)
            if other is not None:
                same = "is registered twice" if other.definition.cls is component else f"is the id of {other.definition.cls.__qualname__} too"
                problems.append(
                    f"{component.__qualname__}: component_id {definition.component_id!r} {same}; every component of a service needs its own"
                )
                continue
            components[definition.component_id] = Hosted(definition, create)
        if not self._added:
            problems.append("no component is registered; call .register(YourWorkflow) before running the service")
        if problems:
            raise RegistrationError(problems, "this service cannot be run")
        return components


def _making(component: type[Component[Any]], create: Callable[[], Any] | None) -> str | None:
    """Why no object can be made, as far as a signature says it."""
    if create is None:
        needed = _needed(component)
        example = f".register({component.__name__}, create=lambda: {component.__name__}(…))"
        return f"its __init__ needs {needed}; give create=, a function that makes an object: {example}" if needed else None
    if not callable(create):
        return f"create={create!r} must be a function without arguments that makes one object"
    needed = _needed(create)
    return f"create= must be a function without arguments that makes one object, and this one needs {needed}" if needed else None


def _needed(function: Callable[..., Any]) -> str:
    """The arguments it cannot be called without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # one that does not say
        return ""
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return ", ".join(one.name for one in parameters if one.default is one.empty and one.kind not in optional)
