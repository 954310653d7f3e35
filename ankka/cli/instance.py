"""The instance that a command names, checked before anything is sent."""

from dataclasses import dataclass

import typer

from ankka.cli.shown import shown
from ankka.protocol.ids import InvalidId, check_instance_id, path_of


@dataclass(frozen=True, slots=True)
class Instance:
    """A component's instance; `str()` of it is for people."""

    component: str
    id: str

    @classmethod
    def named(cls, component: str, instance_id: str) -> "Instance":
        """The instance of those names, or bad usage that says what is wrong with them."""
        check_name(component, "COMPONENT")
        try:
            return cls(component, check_instance_id(instance_id))
        except InvalidId as error:
            raise typer.BadParameter(str(error), param_hint="ID") from None

    def path(self, handler: str) -> str:
        """The path of one of its handlers."""
        return path_of(self.component, self.id, handler)

    @property
    def root(self) -> str:
        """The path of the instance itself."""
        return path_of(self.component, self.id, "").removesuffix("/")

    def __str__(self) -> str:
        return shown(f"{self.component}/{self.id}")


def check_name(name: str, hint: str) -> str:
    """`name` of a component or handler as it can be written into a path; else it is bad usage."""
    if not name:
        raise typer.BadParameter("it must not be empty", param_hint=hint)
    if not name.isprintable():
        raise typer.BadParameter(f"{name!r} holds a character that no name has", param_hint=hint)
    return name
