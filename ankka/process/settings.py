"""What a process reads from its environment."""

import os
import re

DRAIN = 30.0
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0}


class BadSetting(ValueError):
    """A variable has a value that cannot be one of its; the message says which."""


def drain_time() -> float:
    """Seconds that running steps get when the process is told to stop: `ANKKA_DRAIN` (`30`, `500ms`, `2min`), else 30.

    `BadSetting` for what is no duration.

    >>> drain_time()
    30.0
    """
    text = os.environ.get("ANKKA_DRAIN", "").strip()
    if not text:
        return DRAIN
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.lower())
    if match is None or match.group(2) not in _UNITS:
        raise BadSetting(f"ANKKA_DRAIN={text!r} is no duration; write for example 30s, 500ms, 2min")
    return float(match.group(1)) * _UNITS[match.group(2)]
