"""Annotations: those of a class, resolved, with type parameters filled in; and what a named one stands for."""

import inspect
import sys
import typing
from typing import Any, Final, TypeVar, cast

_QUALIFIERS: Final = (typing.Annotated, typing.Final, typing.Required, typing.NotRequired)


def class_hints(annotation: Any) -> tuple[dict[str, Any], bool]:
    """The fields of a class (or of a generic one, as in `Box[int]`) and their types.

    The second value says whether the names were all found where msgspec looks for them too. A class defined inside a
    function that refers to itself is only found because its own name is tried. Raises `NameError`.
    """
    origin: Any = typing.get_origin(annotation) or annotation
    standard = True
    try:
        hints = typing.get_type_hints(origin, include_extras=True)
    except NameError:
        standard = False
        own = {cls.__name__: cls for cls in reversed(origin.__mro__)}
        hints = typing.get_type_hints(origin, localns=_Names(own, origin), include_extras=True)
    bound = _bindings(annotation)
    if not any(bound.values()):
        return hints, standard
    return {name: substitute(hint, bound.get(_owner(origin, name), {})) for name, hint in hints.items()}, standard


class _Names(dict[str, Any]):
    """The names a class may use: those of its modules, of its type parameters, of itself and of its bases."""

    def __init__(self, own: dict[str, Any], cls: Any) -> None:
        super().__init__()
        for base in reversed(cls.__mro__):
            if base.__module__ not in ("builtins", "typing"):  # `typing` has a `T` of its own, which nobody means
                self.update(vars(sys.modules.get(base.__module__, typing)))
            self.update({parameter.__name__: parameter for parameter in getattr(base, "__parameters__", ())})
        self.update(own)


def _owner(cls: Any, name: str) -> Any:
    for base in cls.__mro__:
        if name in inspect.get_annotations(base):
            return base
    return cls


def _bindings(annotation: Any) -> dict[Any, dict[Any, Any]]:
    """For each generic class in the bases, what its type parameters stand for."""
    found: dict[Any, dict[Any, Any]] = {}

    def visit(alias: Any, scope: dict[Any, Any]) -> None:
        origin = typing.get_origin(alias) or alias
        if origin is typing.Generic or origin is typing.Protocol or origin in found:
            return
        parameters = getattr(origin, "__parameters__", ())
        arguments = tuple(substitute(argument, scope) for argument in typing.get_args(alias))
        found[origin] = dict(zip(parameters, arguments, strict=False))
        for base in getattr(origin, "__orig_bases__", getattr(origin, "__bases__", ())):
            visit(base, found[origin])

    visit(annotation, {})
    return found


def substitute(hint: Any, bound: dict[Any, Any]) -> Any:
    """`hint` with its type parameters replaced."""
    if isinstance(hint, TypeVar):
        return bound.get(hint, hint)
    parameters = cast("tuple[Any, ...]", getattr(hint, "__parameters__", ()))
    if not bound or not parameters or isinstance(hint, type):
        return hint
    return hint[tuple(bound.get(parameter, parameter) for parameter in parameters)]


def unwrapped(annotation: Any) -> Any:
    """The annotation without names and notes around it: `NewType`, type aliases, `Annotated`, `Final`, `Required`."""
    while True:
        if isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif type(alias := typing.get_origin(annotation)).__name__ == "TypeAliasType":
            parameters = alias.__type_params__
            annotation = substitute(alias.__value__, dict(zip(parameters, typing.get_args(annotation), strict=False)))
        elif _is_qualifier(typing.get_origin(annotation)):
            annotation = typing.get_args(annotation)[0]
        else:
            return type(None) if annotation is None else annotation


def _is_qualifier(origin: Any) -> bool:
    # Python before 3.13 has `ReadOnly` only from `typing_extensions`, which need not be there
    return origin in _QUALIFIERS or getattr(origin, "_name", "") == "ReadOnly"


def is_typed_dict(cls: type) -> bool:
    """Whether this is a TypedDict, be it of `typing` or, as Pydantic wants it before Python 3.12, of `typing_extensions`."""
    return type(cls).__name__ == "_TypedDictMeta"
