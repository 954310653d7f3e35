"""What type checkers would refuse, for the tests of what happens all the same."""

from collections.abc import Callable
from typing import Never, cast


def _as_it_is(value: object) -> object:
    return value


wrong = cast("Callable[[object], Never]", _as_it_is)
"""A value where another type is expected: `wrong(None)`."""
