"""Literal step names in the source, so that a misspelt one is found when the class is defined.

Read are `transition_to`, `then_transition_to` and `then_pause` on effects, `StepRef(…)` and `TransitionTo(…)`, in every
method of the class. A target may be a literal, either branch of a conditional, a local variable that got such values,
a constant, or a method. What cannot be read (a value from elsewhere, no source) is checked when the effect is returned.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ankka.definition.marks import MARKS, Role, marks_of

_TRANSITIONS = {"transition_to", "then_transition_to"}
_PAUSES = {"then_pause", "pause"}
_ENDS = {"then_end": "end", "end": "end", "then_fail": "fail", "fail": "fail"}
_REFERENCES = {"StepRef", "TransitionTo"}
_EFFECTS = {"effects", "step_effects"}


@dataclass(frozen=True, slots=True)
class Target:
    """One step a piece of source leads to. `step` is `None` for an end, a failure, an endless pause or what is unreadable.

    `via` is `transition`, `on-timeout`, `pause`, `end` or `fail`; `has_input` is `None` where that cannot be told;
    `problem` says why the target is no step.
    """

    via: str
    step: str | None = None
    has_input: bool | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the source of one function leads to, and which other methods of its object it uses."""

    targets: tuple[Target, ...]
    uses: frozenset[str]


def read_targets(function: Callable[..., Any], cls: type[Any]) -> Reading | None:
    """Where the function of `cls` leads to; `None` if its source cannot be read."""
    tree = _tree_of(function)
    if tree is None:
        return None
    reader = _Reader(tree, function, cls)
    calls = sorted((node for node in ast.walk(tree) if isinstance(node, ast.Call)), key=lambda call: (call.lineno, call.col_offset))
    targets = tuple(target for call in calls for target in reader.targets_of(call))
    own = tree.args.args[0].arg if tree.args.args else "self"
    uses = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own}
    return Reading(targets, frozenset(uses))


def _tree_of(function: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    plain = inspect.unwrap(function)
    try:
        source = inspect.getsource(plain)
        indented = source[:1].isspace()
        module = ast.parse(f"if True:\n{source}" if indented else source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None  # a REPL, exec, a file that changed since: checked when the effect is returned
    node = module.body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == plain.__name__
    return node if named and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


class _Reader:
    """Reads one function; `_assigned` has the values its local names got, `None` standing for one not readable."""

    def __init__(self, tree: ast.FunctionDef | ast.AsyncFunctionDef, function: Callable[..., Any], cls: type[Any]) -> None:
        self._globals: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
        self._cls = cls
        arguments = tree.args
        self._timeouts: set[ast.Call] = set()
        self._assigned: dict[str, list[ast.expr | None]] = {}
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if argument is not None:
                self._assigned[argument.arg] = [None]
        for node in ast.walk(tree):
            for name, value in _assignments(node):
                self._assigned.setdefault(name, []).append(value)

    def targets_of(self, call: ast.Call) -> Iterator[Target]:
        """The targets of one call, none if it is not one of ours."""
        function = call.func
        if call in self._timeouts:
            return  # a pause's StepRef, read with its pause
        if isinstance(function, ast.Name) and function.id in _REFERENCES:
            yield from self._steps(_argument(call, 0, "step"), _has_input(call), "transition")
        elif isinstance(function, ast.Attribute):
            name = function.attr
            if name in _TRANSITIONS and self._is_effect(function.value):
                yield from self._steps(_argument(call, 0, "step"), _has_input(call), "transition")
            elif name in _PAUSES and self._is_effect(function.value):
                yield from self._pause(call)
            elif name in _ENDS and self._is_effect(function.value):
                yield Target(_ENDS[name])

    def _pause(self, call: ast.Call) -> Iterator[Target]:
        on_timeout = _argument(call, 1, "on_timeout")
        if on_timeout is None:
            yield Target("pause")
        elif isinstance(on_timeout, ast.Call):
            self._timeouts.add(on_timeout)
            yield from self._steps(_argument(on_timeout, 0, "step"), _has_input(on_timeout), "on-timeout")
        else:
            yield from self._steps(on_timeout, False, "on-timeout")

    def _steps(self, expression: ast.expr | None, has_input: bool | None, via: str) -> Iterator[Target]:
        if expression is None:
            return
        for value in self._values(expression, 0):
            yield self._target(value, has_input, via)

    def _target(self, value: object, has_input: bool | None, via: str) -> Target:
        if value is None or isinstance(value, str):
            return Target(via, value, has_input)
        marks = marks_of(value)
        name = getattr(value, "__name__", repr(value))
        for mark in marks:
            if mark.role is Role.STEP:
                return Target(via, mark.name, has_input)
            return Target(via, None, None, f"{name} is a {mark.role.value}, not a step")
        return Target(via, None, None, f'{name} is not a step; mark it with @step("…")' if callable(value) else f"{value!r} is no step")

    def _values(self, expression: ast.expr, depth: int) -> Iterator[object]:
        """What an expression may come to: texts, functions, `None` where it cannot be read."""
        match expression:
            case ast.Constant(value=value):
                yield value if isinstance(value, str) else None
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._values(body, depth)
                yield from self._values(orelse, depth)
            case ast.BoolOp(values=values):
                for value in values:
                    yield from self._values(value, depth)
            case ast.NamedExpr(value=value):
                yield from self._values(value, depth)
            case ast.Name(id=name) if name in self._assigned:
                for value in self._assigned[name] if depth < 5 else [None]:
                    if value is None:
                        yield None
                    else:  # an empty text is a variable that gets its value later
                        yield from (found for found in self._values(value, depth + 1) if found != "")
            case ast.Name(id=name):
                constant = self._globals.get(name)
                yield constant if isinstance(constant, str) else None
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                yield self._attribute(owner, attribute)
            case _:
                yield None

    def _attribute(self, owner: str, attribute: str) -> object:
        holder = self._cls if owner in ("self", self._cls.__name__) else self._globals.get(owner)
        if not isinstance(holder, type):
            return None
        value = inspect.getattr_static(holder, attribute, None)
        if owner == "self" and MARKS not in getattr(value, "__dict__", {}) and not inspect.isfunction(value):
            return value if isinstance(value, str) else None  # a property or an attribute: known only when it runs
        return value if isinstance(value, str) or callable(value) else None

    def _is_effect(self, expression: ast.expr, depth: int = 0) -> bool:
        """Whether a call's receiver comes from `self.effects` or `self.step_effects`."""
        match expression:
            case ast.Attribute(attr=name) if name in _EFFECTS:
                return True
            case ast.Attribute(value=value) | ast.Call(func=value):
                return self._is_effect(value, depth)
            case ast.Name(id=name) if depth < 5:
                return any(value is not None and self._is_effect(value, depth + 1) for value in self._assigned.get(name, ()))
            case _:
                return False


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The local names a node binds, each with its value where that can be read."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, value
                elif isinstance(target, ast.Tuple | ast.List):
                    pairs = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts) else None
                    for index, element in enumerate(target.elts):
                        if isinstance(element, ast.Name):
                            yield element.id, None if pairs is None else pairs[index]
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, None
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield from ((name.id, None) for name in ast.walk(node.target) if isinstance(name, ast.Name))
        case ast.withitem(optional_vars=ast.expr() as bound):
            yield from ((name.id, None) for name in ast.walk(bound) if isinstance(name, ast.Name))
        case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name) | ast.ExceptHandler(name=str() as name):
            yield name, None
        case _:
            return


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if any(isinstance(argument, ast.Starred) for argument in call.args[: position + 1]):
        return None
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _has_input(call: ast.Call) -> bool | None:
    """Whether a call gives an input; `None` where that cannot be told."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(keyword.arg is None for keyword in call.keywords):
        return None
    given = _argument(call, 1, "input")
    if given is None:
        return False
    if isinstance(given, ast.Constant):
        return given.value is not None
    return None
