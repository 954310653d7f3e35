"""What the syntax trees must not hold, as rules: each takes one file and yields findings that say what to do instead."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

from tests.arch.sources import Source

FUNCTION_LINES = 70
MODULE_LINES = 600
MODULE_AIM = 400
NO_NAMES = {"base", "common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
NAMED_BY_THE_API = {"ankka/effects/common.py"}
Rule = Callable[[Source], Iterator[str]]

# What the core must get as data instead: (name as written, what to use).
CORE_CALLS = {
    "open": "data that an action asked for; files belong to an adapter",
    "print": "an action",
    "input": "an input of the machine",
    "hash": "zlib.crc32 (hash() is salted per process)",
    "id": "a number of your own; id() differs in every run",
    "datetime.now": "the `now` that came with the input (µs)",
    "datetime.utcnow": "the `now` that came with the input (µs)",
    "datetime.today": "the `now` that came with the input (µs)",
    "date.today": "the `now` that came with the input (µs)",
    "globals": "a parameter",
}


def module_has_a_docstring(source: Source) -> Iterator[str]:
    """The first thing in a module says what it is."""
    if not ast.get_docstring(source.tree):
        yield source.at(source.tree, "a module without a docstring: say in its first line what it is and what it is for")


def module_is_small(source: Source) -> Iterator[str]:
    """No module over 600 lines."""
    if source.lines > MODULE_LINES:
        limit = f"at most {MODULE_LINES}, aim below {MODULE_AIM}"
        yield f"{source.path}:1: {source.lines} lines, {limit}: split by phase or by kind of input, never into helpers.py"


def module_name_says_something(source: Source) -> Iterator[str]:
    """No util, common, helpers, manager, base or misc."""
    path = PurePath(source.path)
    vague = NO_NAMES.intersection(part.removesuffix(".py") for part in path.parts)
    if vague and source.path not in NAMED_BY_THE_API:
        yield f"{source.path}:1: the name {', '.join(sorted(vague))} says nothing: name the one concept that is in it (see docs/glossary.md)"


def functions_are_short(source: Source) -> Iterator[str]:
    """No function over 70 lines, docstring and decorators not counted."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = node.body[1].lineno if ast.get_docstring(node) and len(node.body) > 1 else node.lineno
            length = (node.end_lineno or start) - start + 1
            if length > FUNCTION_LINES:
                yield source.at(
                    node, f"{node.name} has {length} lines, at most {FUNCTION_LINES}: keep the branches here, move what they do into pure functions"
                )


def errors_are_not_swallowed(source: Source) -> Iterator[str]:
    """No `except …: pass`, and `suppress` only of named narrow errors."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and all(_does_nothing(statement) for statement in node.body):
            yield source.at(node, "an error is swallowed: handle it, let it pass, or say contextlib.suppress(TheNarrowError) with the reason")
        if isinstance(node, ast.Call) and _name(node.func) in ("suppress", "contextlib.suppress"):
            wide = [_name(argument) for argument in node.args if _name(argument) in ("Exception", "BaseException")]
            if wide:
                yield source.at(node, f"suppress({wide[0]}) hides bugs: name the narrow error that is expected here")


def no_work_is_left_in_comments(source: Source) -> Iterator[str]:
    """No marks of unfinished work."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if mark := re.search(r"\b(FI[X]ME|TO[D]O|X[X]X|HA[C]K)\b", line):
            yield f"{source.path}:{number}: {mark[0]}: finish it, or write down in an issue what is missing"


def keys_are_not_hashed(source: Source) -> Iterator[str]:
    """No `hash()` in the sidecar, but within `__hash__`."""
    inside = {id(call) for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef) and node.name == "__hash__" for call in ast.walk(node)}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and _name(node.func) == "hash" and id(node) not in inside:
            yield source.at(
                node, "hash() is salted per process, so a key would change with every start: use ankka_sidecar.core.sharding (zlib.crc32)"
            )


def core_is_synchronous(source: Source) -> Iterator[str]:
    """No `async`, no `await` in the core."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield source.at(node, "the core never waits: answer an action, and take its result as an input")


def core_touches_nothing(source: Source) -> Iterator[str]:
    """No clock, file, randomness or log in the core, however it is reached."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            for forbidden, instead in CORE_CALLS.items():
                if name == forbidden or (forbidden.count(".") and name.endswith(f".{forbidden}")):
                    yield source.at(node, f"{name}() in the core: use {instead}")
        if isinstance(node, ast.Global):
            yield source.at(node, "a global that changes: state belongs in the record or in the machine's object")


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))


def _name(node: ast.expr) -> str:
    """A dotted name as it is written, or an empty text.

    >>> _name(ast.parse("datetime.datetime.now", mode="eval").body)
    'datetime.datetime.now'
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        prefix = _name(node.value)
        return f"{prefix}.{node.attr}" if prefix else ""
    return ""


EVERYWHERE: tuple[Rule, ...] = (
    module_has_a_docstring,
    module_is_small,
    module_name_says_something,
    functions_are_short,
    errors_are_not_swallowed,
    no_work_is_left_in_comments,
)
IN_THE_SIDECAR: tuple[Rule, ...] = (keys_are_not_hashed,)
IN_THE_CORE: tuple[Rule, ...] = (core_is_synchronous, core_touches_nothing)
