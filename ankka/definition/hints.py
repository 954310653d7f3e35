"""Annotations as they are meant: names resolved, aliases opened, the type variables of a base filled in."""

import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

from ankka.codec import UnresolvedType


def hints_of(function: Callable[..., Any], owner: type[Any], local: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations of a method of `owner`.

    Raises `UnresolvedType` for a name that is not known (yet), `ValueError` for what is no annotation.
    """
    names = {**local, owner.__name__: owner}
    arguments = type_arguments(owner)
    try:
        try:
            hints = typing.get_type_hints(function, localns=names, include_extras=True)
        except NameError:  # a type declared inside the class itself
            hints = typing.get_type_hints(function, localns={**names, **vars(owner)}, include_extras=True)
    except NameError as error:
        raise UnresolvedType(error.name or "a name", "its annotation") from None
    except Exception as error:  # whatever evaluating an annotation raises
        raise ValueError(f"its annotations cannot be read: {error}") from None
    return {name: fill(hint, arguments) for name, hint in hints.items()}


def type_arguments(cls: type[Any]) -> dict[Any, Any]:
    """What the type variables of the generic bases of `cls` stand for in it.

    >>> from typing import Generic
    >>> T = TypeVar("T")
    >>> class Box(Generic[T]): ...
    >>> class IntBox(Box[int]): ...
    >>> type_arguments(IntBox)[T]
    <class 'int'>
    """
    found: dict[Any, Any] = {}
    for base in getattr(cls, "__orig_bases__", cls.__bases__):
        origin = get_origin(base)
        if origin is None:
            if isinstance(base, type):
                found |= type_arguments(base)
            continue
        inherited = type_arguments(origin)
        given = dict(zip(getattr(origin, "__parameters__", ()), get_args(base), strict=False))
        found |= {variable: fill(value, given) for variable, value in inherited.items()} | given
    return found


def fill(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """`hint` with type variables replaced where they are known."""
    if isinstance(hint, TypeVar):
        return arguments.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if isinstance(hint, type) or not parameters or not any(parameter in arguments for parameter in parameters):
        return hint
    return hint[tuple(arguments.get(parameter, parameter) for parameter in parameters)]


def opened(hint: Any) -> Any:
    """`hint` without `Annotated`, and with a `type X = …` alias replaced by what it stands for."""
    origin = get_origin(hint)
    if origin is Annotated:
        return opened(get_args(hint)[0])
    alias = hint if origin is None else origin
    if hasattr(alias, "__value__"):
        value = alias.__value__
        return opened(value if origin is None else value[get_args(hint)])
    return hint


def takes_none(hint: Any) -> bool:
    """Whether `None` is a value of the type.

    >>> takes_none(int | None), takes_none(int)
    (True, False)
    """
    bare = opened(hint)
    if get_origin(bare) in (typing.Union, types.UnionType):
        return any(takes_none(part) for part in get_args(bare))
    return bare is None or bare in (type(None), Any, object)
