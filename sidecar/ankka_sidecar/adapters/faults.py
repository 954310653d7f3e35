"""Fault points: off in production; for tests, one that kills or fails the sidecar at a named point, and one that counts."""

import os
import signal
import threading
from pathlib import Path
from typing import Final, Literal, NoReturn

from ankka_sidecar.ports.faults import POINTS, Faults

Action = Literal["kill", "raise"]
_ACTIONS: Final[dict[str, Action]] = {"kill": "kill", "raise": "raise"}


COUNT: Final = "count:"


def faults_from(spec: str | None) -> Faults:
    """What `ANKKA_FAULTS` asks for: nothing, `count:FILE`, or faults as `FaultAt.parse` reads them.

    >>> type(faults_from(None)).__name__, type(faults_from("append.before:2=kill")).__name__
    ('NoFaults', 'FaultAt')
    """
    if not spec:
        return NoFaults()
    if spec.startswith(COUNT):
        return CountVisits(Path(spec.removeprefix(COUNT)))
    return FaultAt.parse(spec)


class FaultInjected(Exception):
    """Raised at a fault point that was told to; never in production."""


class NoFaults:
    """Production's: every point does nothing."""

    def point(self, name: str) -> None:
        """Do nothing."""


class CountVisits:
    """Adds a line with the point's name to a file at every visit; the file is right also after a kill."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def point(self, name: str) -> None:
        """Note a visit to `name`."""
        os.write(self._file, f"{name}\n".encode())


class FaultAt:
    """Fails at chosen visits to chosen points: by an exception, or as `kill -9` does.

    >>> faults = FaultAt.parse("append.before:2=raise")
    >>> faults.point("append.before")
    >>> faults.point("append.before")
    Traceback (most recent call last):
    ...
    ankka_sidecar.adapters.faults.FaultInjected: fault injected at append.before, visit 2
    """

    def __init__(self, faults: dict[tuple[str, int], Action]) -> None:
        """`faults` maps (point, number of the visit, from 1) to what happens there."""
        self._faults = dict(faults)
        self._visits: dict[str, int] = {}
        self._counting = threading.Lock()

    @classmethod
    def parse(cls, spec: str) -> "FaultAt":
        """From `point[:visit]=kill|raise`, several separated by commas; the visit is 1 where none is given.

        Raises `ValueError` that names the part it cannot read.
        """
        return cls(dict(_parse_one(part.strip()) for part in spec.split(",")))

    def point(self, name: str) -> None:
        """Count a visit to `name`; kill this process or raise `FaultInjected` if this visit was chosen."""
        with self._counting:
            visit = self._visits.get(name, 0) + 1
            self._visits[name] = visit
        match self._faults.get((name, visit)):
            case None:
                return
            case "raise":
                raise FaultInjected(f"fault injected at {name}, visit {visit}")
            case "kill":
                _kill_this_process()


def _kill_this_process() -> NoReturn:
    # Windows has no SIGKILL; there SIGTERM ends a process at once, without any handler.
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    raise AssertionError("the process outlived its own kill")


def _parse_one(part: str) -> tuple[tuple[str, int], Action]:
    target, equals, what = part.partition("=")
    name, colon, visit = target.partition(":")
    if name not in POINTS:
        raise ValueError(f"fault {part!r}: {name!r} is no fault point; there are {', '.join(POINTS)}")
    if not equals or what not in _ACTIONS:
        raise ValueError(f"fault {part!r}: expected 'kill' or 'raise' behind '=', found {what!r}; write for example {name}:1=raise")
    if colon and (not visit.isdecimal() or int(visit) < 1):
        raise ValueError(f"fault {part!r}: expected the number of the visit, 1 or more, behind ':', found {visit!r}")
    return (name, int(visit) if colon else 1), _ACTIONS[what]
