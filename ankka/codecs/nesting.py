"""How deeply what is written may nest: no deeper than what is read, by any of the ways to read it, on any usual stack."""

import re
from typing import Final

from ankka.codecs.errors import Mismatch
from ankka.codecs.plan import Plan

LIMIT: Final = 128
"""The deepest a JSON value may nest. The slowest way to read takes six frames of Python's 1,000 for a level."""

_brackets = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')


def may_nest(plan: Plan) -> bool:
    """Whether values of this type may nest without end: it contains itself, or something of no declared type."""
    return _leads_to(plan, set(), set())


def _leads_to(plan: Plan, within: set[int], done: set[int]) -> bool:
    if id(plan) in within or not plan.bounded:
        return True
    if id(plan) in done:
        return False
    within.add(id(plan))
    if any(_leads_to(part, within, done) for part in plan.parts):
        return True
    within.remove(id(plan))
    done.add(id(plan))
    return False


def check_depth(data: bytes) -> None:
    """Raise `Mismatch` where JSON nests deeper than `LIMIT`."""
    if data.count(b"[") + data.count(b"{") <= LIMIT:
        return
    depth = 0
    for token in _brackets.finditer(data):
        first = data[token.start()]
        if first in b"[{":
            depth += 1
            if depth > LIMIT:
                raise Mismatch(f"it nests more than {LIMIT} levels deep")
        elif first in b"]}":
            depth -= 1
