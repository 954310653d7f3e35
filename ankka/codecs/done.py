"""The reply that says only that it was done."""

from typing import Final, final


@final
class Done:
    """The reply of a handler that has nothing to say; `DONE` is its one value.

    >>> Done() is DONE
    True
    """

    __slots__ = ()
    _one: "Done | None" = None

    def __new__(cls) -> "Done":
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __repr__(self) -> str:
        return "DONE"


DONE: Final = Done()
"""The one value of `Done`."""
