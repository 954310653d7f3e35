"""The default of `merge_state`: what a step changed is the step's, the rest is current (rule W14).

Field by field for dataclasses, Pydantic models, msgspec structs and dicts (so TypedDicts too, key by key). A field is
compared and taken as a whole, whatever is nested in it. Every other state (`str`, `list`, a union whose class changed,
a root model) is one value: the step's, if the step changed it.
"""

import dataclasses
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

import msgspec

from ankka.codecs.comparing import compare
from ankka.codecs.errors import Mismatch
from ankka.codecs.plan import type_of

S = TypeVar("S")

WHOLE: Final = "$"
"""Stands in `both` for the whole value of a state without fields, as `$` does in the paths of encoding errors."""
_UNSET: Final[Any] = object()


class MergedState(NamedTuple, Generic[S]):
    """The merged state, and the fields both sides had changed to different values, where the step's stands."""

    state: S
    both: tuple[str, ...]


def merge_fields(base: S, current: S, mine: S) -> MergedState[S]:
    """The changes from `base` to `current` and from `base` to `mine`, together.

    >>> merge_fields({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 1, "c": 2}, {"a": 1, "b": 3, "c": 3})
    MergedState(state={'a': 2, 'b': 3, 'c': 3}, both=('c',))
    >>> merge_fields("new", "noted", "charged")
    MergedState(state='charged', both=('$',))
    """
    values = _fields(base), _fields(current), _fields(mine)
    if not (type(base) is type(current) is type(mine)) or values[0] is None:
        return _whole(base, current, mine)
    before, now, stepped = cast("tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]", values)
    merged: dict[Any, Any] = {}
    both: list[Any] = []
    for name in {**now, **stepped}:
        value, conflict = _merged(before.get(name, _UNSET), now.get(name, _UNSET), stepped.get(name, _UNSET))
        if value is not _UNSET:
            merged[name] = value
        if conflict:
            both.append(name)
    state = _built(current, merged)
    # `__post_init__` may have derived a field anew: there it is neither side's
    kept = _fields(state) or {}
    return MergedState(state, tuple(str(name) for name in both if _same(kept.get(name, _UNSET), stepped.get(name, _UNSET))))


def _whole(base: S, current: S, mine: S) -> MergedState[S]:
    value, conflict = _merged(base, current, mine)
    return MergedState(value, (WHOLE,) if conflict else ())


def _merged(base: Any, current: Any, mine: Any) -> tuple[Any, bool]:
    """The value that stands, and whether both sides had changed it to different ones."""
    if _same(mine, base):
        return current, False
    return mine, not (_same(current, base) or _same(current, mine))


def _same(one: Any, other: Any) -> bool:
    """Equal, with equal types all the way down: `1` is not `True`."""
    if one is _UNSET or other is _UNSET:
        return one is other
    try:
        compare(one, other)
    except Mismatch:
        return False
    return True


def _fields(state: Any) -> dict[Any, Any] | None:
    """The fields of a state by name, those without a value left out; `None` where it has none."""
    of: Any = type_of(state)
    names: list[str]
    if of is dict:
        return cast("dict[Any, Any]", state)
    if _is_dataclass(of):
        names = [field.name for field in dataclasses.fields(of)]
    elif issubclass(of, msgspec.Struct):
        names = list(of.__struct_fields__)
    elif hasattr(of, "__pydantic_fields__") and not getattr(of, "__pydantic_root_model__", False):
        names = [*of.__pydantic_fields__, *(state.__pydantic_extra__ or {})]
    else:
        return None
    values = {name: getattr(state, name, _UNSET) for name in names}
    return {name: value for name, value in values.items() if value is not _UNSET}


def _built(like: S, values: dict[Any, Any]) -> S:
    """A state of the class of `like` with these fields, made as its codec makes it, so that its own checks run."""
    of: Any = type_of(like)
    if of is dict:
        return cast("S", values)
    if issubclass(of, msgspec.Struct):
        return cast("S", of(**values))
    if not _is_dataclass(of):
        return cast("S", of.model_validate(values, by_name=True))
    built = of.__new__(of)
    for name, value in values.items():
        object.__setattr__(built, name, value)
    if hasattr(of, "__post_init__"):
        built.__post_init__()
    return cast("S", built)


def _is_dataclass(of: Any) -> bool:  # without the type checkers narrowing it to one
    return dataclasses.is_dataclass(of)
