"""The sidecar's settings: option, environment variable, default, and what a wrong value is told.

Every option is also `ANKKA_` and its name in capitals; the command line wins.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ankka_sidecar.core.limits import Limits
from ankka_sidecar.core.settings import Settings

_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_SIZES = {"": 1, "b": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3, "kb": 1000, "mb": 1000**2, "gb": 1000**3}


MACHINE_RESTS_AFTER = 1_000_000
"""µs after which an idle machine is packed; see `runtime.dormant`."""


class BadSetting(ValueError):
    """A setting cannot be used; the message names it, its value and what is expected."""


def duration(text: str) -> int:
    """A duration in µs: a number of seconds, or a number with ms, s, min, h or d.

    >>> duration("2"), duration("500ms"), duration("7 d")
    (2000000, 500000, 604800000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    unit = match.group(2) or "s" if match else ""
    if match is None or unit not in _UNITS:
        raise BadSetting(f"{text!r} is not a duration; write for example 500ms, 2s, 10min, 1h, 7d")
    return int(float(match.group(1)) * _UNITS[unit])


def timeout(text: str) -> int:
    """A duration that something may take, µs: longer than zero.

    >>> timeout("1.5s")
    1500000
    """
    given = duration(text)
    if not given:
        raise BadSetting(f"{text!r} must be longer than zero; write for example 500ms, 2s, 10min")
    return given


def size(text: str) -> int:
    """A size in bytes: a number, or a number with KiB, MiB, GiB.

    >>> size("4 MiB")
    4194304
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match.group(2) not in _SIZES:
        raise BadSetting(f"{text!r} is not a size; write for example 262144, 4MiB")
    return int(float(match.group(1)) * _SIZES[match.group(2)])


def count(text: str) -> int:
    """A whole number above zero, underscores and commas allowed.

    >>> count("200,000")
    200000
    """
    cleaned = text.replace(",", "").replace("_", "").strip()
    if not cleaned.isdigit() or int(cleaned) == 0:
        raise BadSetting(f"{text!r} is not a whole number above zero")
    return int(cleaned)


def rate(text: str) -> int:
    """A number a second: `2000` or `2000/s`.

    >>> rate("2,000/s")
    2000
    """
    return count(text.removesuffix("/s"))


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` as a pair; an IPv6 host stands in brackets. `unix:///path` is that text and 0.

    >>> address("127.0.0.1:9000"), address("[::1]:0")
    (('127.0.0.1', 9000), ('::1', 0))
    """
    if text.startswith("unix:"):
        if not re.fullmatch(r"unix:///.{1,100}", text):
            raise BadSetting(f"{text!r} is not unix:///absolute/path (of at most 100 characters)")
        return text, 0
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535 or not host:
        raise BadSetting(f"{text!r} is not HOST:PORT; write for example 127.0.0.1:9000")
    return host.removeprefix("[").removesuffix("]"), int(port)


class Option(NamedTuple):
    """One setting: its option, how its text is read, its default as text, and one line of help."""

    name: str
    read: Callable[[str], Any]
    default: str
    help: str

    @property
    def variable(self) -> str:
        """The environment variable of the same meaning."""
        return "ANKKA_" + self.name.upper().replace("-", "_")


OPTIONS = (
    Option("attach-wait", duration, "2s", "how long a call waits for a process to attach"),
    Option("cancel-grace", duration, "5s", "how long a replaced attempt may take to stop, and a lost process to come back"),
    Option("call-timeout", timeout, "30s", "how long a call over HTTP waits for its reply"),
    Option("handler-timeout", timeout, "10s", "how long a command, query or fold may run"),
    Option("idempotency-retention", duration, "7d", "how long a command with an idempotency key is known to be done"),
    Option("step-call-retention", duration, "1d", "how long a step's call is known to be done, for a retry of the step"),
    Option("passivate-after", duration, "120s", "an instance that is idle this long leaves memory"),
    Option("drain", duration, "30s", "how long running steps may take at shutdown"),
    Option("shards", count, "256", "shards of a new journal; fixed when it is made"),
    Option("max-payload", size, "4MiB", "the largest input or reply"),
    Option("max-state", size, "4MiB", "the largest state"),
    Option("max-mailbox", count, "1000", "commands that may wait for one instance"),
    Option("max-journal-events", count, "100000", "effects that one instance may have in the journal"),
    Option("max-resident", count, "200000", "instances kept in memory; beyond it idle ones leave early"),
    Option("recovery-rate", rate, "2000/s", "instances brought back a second after a start"),
)


class Config(msgspec.Struct, frozen=True):
    """What a sidecar is started with."""

    journal: str
    host: str
    port: int
    settings: Settings
    embedded: Path | None = None
    """The `sidecar.json` of the folder this sidecar belongs to; it then leaves after its last process."""
    port_fallback: bool = False
    faults: str | None = None
    shards: int | None = None
    """`None` where nobody asked: the journal's number, 256 in a new one."""


def parser() -> argparse.ArgumentParser:
    """The command line of the sidecar program."""
    made = argparse.ArgumentParser(prog="ankka sidecar", description="Host workflow and entity instances over a journal.")
    made.add_argument("--journal", help="where the journal is: sqlite:///PATH (ANKKA_JOURNAL)")
    made.add_argument("--http", help="HOST:PORT to listen on, default 127.0.0.1:9000 (ANKKA_HTTP)")
    made.add_argument("--embedded", help=argparse.SUPPRESS)
    made.add_argument("--port-fallback", action="store_true", help=argparse.SUPPRESS)
    for option in OPTIONS:
        made.add_argument(f"--{option.name}", help=f"{option.help}, default {option.default} ({option.variable})")
    return made


def read(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Config:
    """The configuration of a command line and an environment; `BadSetting` names everything that is wrong."""
    given = vars(parser().parse_args(arguments))

    def text(name: str, default: str | None = None) -> str | None:
        chosen = given.get(name.replace("-", "_"))
        return chosen if chosen is not None else environment.get("ANKKA_" + name.upper().replace("-", "_"), default)

    problems: list[str] = []
    values: dict[str, Any] = {}
    for option in OPTIONS:
        try:
            values[option.name] = option.read(text(option.name, option.default) or option.default)
        except BadSetting as error:
            problems.append(f"--{option.name} ({option.variable}): {error}")
    journal = text("journal")
    if not journal:
        problems.append("--journal (ANKKA_JOURNAL): say where the journal is, for example --journal sqlite:///journal.db")
    try:
        host, port = address(text("http", "127.0.0.1:9000") or "")
    except BadSetting as error:
        host, port = "", 0
        problems.append(f"--http (ANKKA_HTTP): {error}")
    if problems:
        raise BadSetting("\n".join(problems))
    machine = Limits(
        handler_timeout=values["handler-timeout"],
        cancel_grace=values["cancel-grace"],
        passivate_after=min(MACHINE_RESTS_AFTER, values["passivate-after"] // 2),
        max_mailbox=values["max-mailbox"],
        max_journal_events=values["max-journal-events"],
        idempotency_retention=values["idempotency-retention"],
        step_call_retention=values["step-call-retention"],
    )
    settings = Settings(
        machine=machine,
        attach_wait=values["attach-wait"],
        call_timeout=values["call-timeout"],
        drain=values["drain"],
        max_payload=values["max-payload"],
        max_state=values["max-state"],
        recovery_rate=values["recovery-rate"],
        max_resident=values["max-resident"],
        dormant_for=values["passivate-after"] // 2,
    )
    shards = values["shards"] if text("shards") is not None else None
    embedded = given.get("embedded")
    faults = environment.get("ANKKA_FAULTS")
    return Config(journal or "", host, port, settings, Path(embedded) if embedded else None, bool(given.get("port_fallback")), faults, shards)
