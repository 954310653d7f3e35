"""Spans of time as they are typed and as they are shown."""

import re
from datetime import UTC, datetime

import typer

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


def seconds(text: str, option: str) -> float:
    """A span in seconds: `30`, `500ms`, `90s`, `10min`, `1h`, `7d`; else it is bad usage of `option`.

    >>> seconds("1.5m", "--timeout")
    90.0
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match.group(2) not in _SECONDS:
        raise typer.BadParameter(f"{text!r} is not a span of time; write for example 30s, 500ms, 10min, 1h", param_hint=option)
    return float(match.group(1)) * _SECONDS[match.group(2)]


def check_since(text: str) -> str:
    """`text` as the sidecar takes it: `10m`, `2h`, `1d`, or an ISO 8601 instant; else it is bad usage.

    >>> check_since("10m"), check_since("2026-05-01T10:00:00Z")
    ('10m', '2026-05-01T10:00:00Z')
    """
    if re.fullmatch(r"\d{1,6}[smhd]", text):
        return text
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a span such as 30s, 10m, 2h, 1d nor an ISO 8601 instant", param_hint="--since") from None
    return text


def span(length: float) -> str:
    """A length of time for people, from ms to days.

    >>> span(0.0042), span(1.5), span(125), span(7_260), span(200_000)
    ('4 ms', '1.5 s', '2 min 5 s', '2 h 1 min', '2 d 7 h')
    """
    if length < 0.9995:
        return f"{length * 1_000:.0f} ms"
    if length < _MINUTE:
        return f"{length:.3g} s"
    whole = int(length)
    for unit, name, smaller, smaller_name in ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "min"), (_MINUTE, "min", 1.0, "s")):
        if whole >= unit:
            rest = int(whole % unit // smaller)
            return f"{int(whole // unit)} {name}" + (f" {rest} {smaller_name}" if rest else "")
    return f"{whole} s"


def ago(instant: datetime | None) -> str:
    """How long ago an instant was."""
    if instant is None:
        return ""
    return f"{span(max(0.0, (datetime.now(UTC) - instant).total_seconds()))} ago"


def clock(instant: datetime) -> str:
    """An instant to the second, in UTC.

    >>> clock(datetime(2026, 5, 1, 10, 0, tzinfo=UTC))
    '2026-05-01 10:00:00Z'
    """
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
