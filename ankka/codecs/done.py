"""The reply that says only that it was done."""

from typing import Any, Final, final


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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> dict[str, Any]:
        """So that a FastAPI route may return it: it is written as `null`."""
        return {"type": "is-instance", "cls": cls, "serialization": {"type": "function-plain", "function": _null}}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: object, handler: object) -> dict[str, Any]:
        """What a description of such a route says of it."""
        return {"type": "null"}


def _null(done: Done) -> None:
    """What is written of it."""


DONE: Final = Done()
"""The one value of `Done`."""
