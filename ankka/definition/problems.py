"""What is wrong with a component, collected so that all of it is reported together."""

from collections.abc import Iterable
from difflib import get_close_matches


class RegistrationError(ValueError):
    """Everything that is wrong with a component or a service, one line per problem.

    Raised when a class is defined, or at registration for what was not known before. `problems` has the lines, `title`
    says what cannot be used.

    >>> raise RegistrationError(["component_id is missing"], "Checkout cannot be used")
    Traceback (most recent call last):
    ankka.definition.problems.RegistrationError: Checkout cannot be used: component_id is missing
    """

    def __init__(self, problems: Iterable[str], title: str = "cannot be registered") -> None:
        self.problems: list[str] = list(problems)
        self.title: str = title
        if len(self.problems) == 1:
            text = f"{title}: {self.problems[0]}"
        else:
            text = f"{title}, {len(self.problems)} problems:" + "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(text)


class Findings:
    """What a look at a class brought up: `problems`, and `unresolved` names that may still become known."""

    __slots__ = ("problems", "unresolved")

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.unresolved: list[str] = []

    def add(self, problem: str) -> None:
        """Note a problem once."""
        if problem not in self.problems:
            self.problems.append(problem)

    def add_unresolved(self, problem: str) -> None:
        """Note something that is a problem only if it is still unknown at registration."""
        if problem not in self.unresolved:
            self.unresolved.append(problem)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest known one, or all of them.

    >>> suggestion("chrage", ["charge", "reserve"])
    "; did you mean 'charge'?"
    >>> suggestion("x", ["charge", "reserve"])
    '; declared are charge, reserve'
    """
    names = sorted(known)
    if not names:
        return "; none is declared"
    near = get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; declared are {', '.join(names)}"
