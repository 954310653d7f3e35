"""What a step says is next: another step, a pause, the end, or a failure."""

import msgspec

from ankka.protocol.errors import Error
from ankka.protocol.payload import StepTarget


class PauseFor(msgspec.Struct, frozen=True, array_like=True, tag="pause"):
    """Wait for a command; after `after` µs, if given, run `on_timeout`."""

    after: int | None = None
    on_timeout: StepTarget | None = None


class EndRun(msgspec.Struct, frozen=True, array_like=True, tag="end"):
    """The workflow is complete."""


class FailRun(msgspec.Struct, frozen=True, array_like=True, tag="fail"):
    """The workflow ends failed, deliberately."""

    error: Error


class GoTo(msgspec.Struct, frozen=True, array_like=True, tag="goto"):
    """Run another step next."""

    target: StepTarget


Outcome = GoTo | PauseFor | EndRun | FailRun
