"""What a simulated sidecar allows: a sidecar's defaults."""

from ankka_sidecar.core.limits import Limits

UNBOUNDED = float(1 << 40)
"""Seconds: real time bounds no call of a handler; its link bounds it in simulated time."""
NEVER = 1 << 60
"""µs: a duration that does not pass."""
LIMITS = Limits(passivate_after=NEVER)
"""An instance never leaves memory, which would change nothing but who has to be asked."""
