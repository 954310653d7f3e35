"""A workflow's settings: timeouts, retries, failover. Values are checked when they are made.

All durations are `timedelta`. The defaults never run a step twice: only its author knows whether that is harmless.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from ankka.definition.problems import RegistrationError

LONGEST = timedelta(days=36_525)
"""A hundred years: what is longer is a mistake in a unit."""


def check_duration(value: object, name: str) -> timedelta:
    """`value` if it is a `timedelta` above zero and at most a hundred years, else `ValueError` naming it.

    >>> check_duration(timedelta(0), "after")
    Traceback (most recent call last):
    ValueError: after=0:00:00 must be longer than zero
    """
    if not isinstance(value, timedelta):
        raise ValueError(f"{name}={value!r} is no duration; write timedelta(seconds=…)")
    if value <= timedelta(0):
        raise ValueError(f"{name}={value} must be longer than zero")
    if value > LONGEST:
        raise ValueError(f"{name}={value} is longer than {LONGEST.days} days; check its unit")
    return value


def microseconds(value: timedelta) -> int:
    """The whole duration in µs.

    >>> microseconds(timedelta(milliseconds=1.5))
    1500
    """
    return value // timedelta(microseconds=1)


class _Checks:
    """Collects what is wrong with one settings object, so that all of it is said at once."""

    def __init__(self, owner: object) -> None:
        self._owner = type(owner).__name__
        self._problems: list[str] = []

    def require(self, ok: bool, problem: str) -> bool:
        if not ok:
            self._problems.append(problem)
        return ok

    def duration(self, value: object, name: str) -> None:
        try:
            check_duration(value, name)
        except ValueError as problem:
            self._problems.append(str(problem))

    def number(self, value: object, name: str, least: float, most: float = math.inf) -> None:
        ok = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and least <= value <= most
        self.require(ok, f"{name}={value!r} must be a number {f'of {least} or more' if most == math.inf else f'from {least} to {most}'}")

    def whole(self, value: object, name: str, most: int) -> None:
        ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
        self.require(ok, f"{name}={value!r} must be a whole number from 0 to {most:,}")

    def kind(self, value: object, kind: type[Any], name: str) -> bool:
        return self.require(isinstance(value, kind), f"{name}={value!r} must be {kind.__name__}")

    def step(self, value: object, name: str) -> None:
        ok = isinstance(value, str) and value.strip() != ""
        self.require(value is None or ok, f"{name}={value!r} must be a step's wire name")

    def errors(self, values: Iterable[object], name: str) -> None:
        for error in values:
            is_type = isinstance(error, type) and issubclass(error, BaseException)
            self.require(is_type or isinstance(error, str), f"{name} has {error!r}: exception types or their names are expected")

    def done(self) -> None:
        if self._problems:
            raise RegistrationError(self._problems, self._owner)


def _listed(value: Any) -> tuple[Any, ...]:
    """One error, or several, as a tuple."""
    try:
        return (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        return (value,)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing delays between retries: `initial * factor**(n-1)`, at most `maximum`, each spread by `jitter` (0 to 1).

    >>> Backoff(timedelta(seconds=1), maximum=timedelta(minutes=1)).factor
    2.0
    """

    initial: timedelta
    factor: float = 2.0
    maximum: timedelta | None = None
    jitter: float = 0.0

    def __post_init__(self) -> None:
        checks = _Checks(self)
        checks.duration(self.initial, "initial")
        checks.number(self.factor, "factor", least=1)
        checks.number(self.jitter, "jitter", least=0, most=1)
        if self.maximum is not None:
            checks.duration(self.maximum, "maximum")
        checks.done()
        if self.maximum is not None and self.maximum < self.initial:
            raise RegistrationError([f"maximum={self.maximum} must not be below initial={self.initial}"], "Backoff")


@dataclass(frozen=True, slots=True)
class Recovery:
    """What happens after a fault: `max_retries` more attempts, then the step `failover_to`, else the workflow fails.

    A step runs at most `1 + max_retries` times per visit. Retries are immediate unless `backoff` says otherwise.
    Errors in `not_on` (types, whose subclasses count, or their names) are not retried: straight to failover.

    >>> Recovery(max_retries=1, failover_to="compensate", not_on=(ValueError,)).backoff is None
    True
    """

    max_retries: int = 0
    failover_to: str | None = None
    backoff: Backoff | None = None
    not_on: tuple[type[BaseException] | str, ...] = ()

    def __post_init__(self) -> None:
        checks = _Checks(self)
        checks.whole(self.max_retries, "max_retries", most=1_000_000)
        checks.step(self.failover_to, "failover_to")
        if self.backoff is not None:
            checks.kind(self.backoff, Backoff, "backoff")
        object.__setattr__(self, "not_on", _listed(self.not_on))
        checks.errors(self.not_on, "not_on")
        checks.done()


@dataclass(frozen=True, slots=True)
class StepSettings:
    """One step's own limits; what is `None` is the workflow's default.

    `timeout` is how long one attempt may run. `once=True`: an attempt that was interrupted counts as a fault and is
    not sent again by itself.
    """

    timeout: timedelta | None = None
    recovery: Recovery | None = None
    once: bool = False

    def __post_init__(self) -> None:
        checks = _Checks(self)
        if self.timeout is not None:
            checks.duration(self.timeout, "timeout")
        if self.recovery is not None:
            checks.kind(self.recovery, Recovery, "recovery")
        checks.kind(self.once, bool, "once")
        checks.done()


@dataclass(frozen=True, slots=True)
class WorkflowSettings:
    """A workflow's limits and recovery, enforced by the runtime.

    `timeout` is a ceiling on a whole run, measured from its start (default: none). `default_step_timeout` is how long
    an attempt may run (30 s). `default_recovery` is what happens when a step throws or times out (fail, no retries).
    `steps` has the steps' own settings by wire name. `cancel_to` is the step an operator's cancel goes to.

    >>> WorkflowSettings(steps={"charge": StepSettings(recovery=Recovery(max_retries=1))}).default_step_timeout
    datetime.timedelta(seconds=30)
    """

    timeout: timedelta | None = None
    default_step_timeout: timedelta = timedelta(seconds=30)
    default_recovery: Recovery | None = None
    steps: Mapping[str, StepSettings] = field(default_factory=dict[str, StepSettings])
    cancel_to: str | None = None

    def __post_init__(self) -> None:
        checks = _Checks(self)
        if self.timeout is not None:
            checks.duration(self.timeout, "timeout")
        checks.duration(self.default_step_timeout, "default_step_timeout")
        if self.default_recovery is not None:
            checks.kind(self.default_recovery, Recovery, "default_recovery")
        checks.step(self.cancel_to, "cancel_to")
        if checks.kind(self.steps, Mapping, "steps"):
            for name, one in self.steps.items():
                checks.step(name, "a key of steps")
                checks.kind(one, StepSettings, f"steps[{name!r}]")
            object.__setattr__(self, "steps", MappingProxyType(dict(self.steps)))
        checks.done()
