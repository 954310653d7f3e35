"""Values and types in the words of a message."""

import reprlib
import types
import typing
from collections.abc import Coroutine
from typing import Any

SHOWN = 60
"""How much of a value a message shows, in characters."""

_repr = reprlib.Repr()
_repr.fillvalue = "…"
_repr.maxstring = _repr.maxother = _repr.maxlong = SHOWN


def found(value: Any) -> str:
    """A value with its type, shortened to 60 characters.

    >>> found("no"), found(None), found(True)
    ("str 'no'", 'None', 'bool True')
    """
    if value is None:
        return "None"
    if isinstance(value, Coroutine):
        return "a coroutine: write await before the call that made it"
    return f"{type(value).__name__} {shortened(value)}"


def shortened(value: Any) -> str:
    """The `repr()` of a value, shortened to 60 characters."""
    try:
        text = _repr.repr(value)
    except Exception:  # a repr of the user's may raise anything; the message must come out all the same
        text = "(its repr() raises)"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def type_name(annotation: Any) -> str:
    """A type as one would write it, without module names.

    >>> type_name(dict[str, list[int] | None])
    'dict[str, list[int] | None]'
    """
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is ...:
        return "..."
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_name(arguments[0])
    if origin is typing.Literal:
        return f"Literal[{', '.join(repr(argument) for argument in arguments)}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(type_name(argument) for argument in arguments)
    if origin is not None:
        return f"{type_name(origin)}[{', '.join(type_name(argument) for argument in arguments) or '()'}]"
    return str(getattr(annotation, "__name__", annotation))
