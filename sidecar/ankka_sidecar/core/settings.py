"""The times and limits of a node; `config` reads them, machines and runtime honour them."""

import msgspec

from ankka_sidecar.core.limits import Limits


class Settings(msgspec.Struct, frozen=True):
    """Times (µs) and limits of a node."""

    machine: Limits = Limits()
    attach_wait: int = 2_000_000
    call_timeout: int = 30_000_000
    """How long a call over HTTP waits for its reply."""
    drain: int = 30_000_000
    max_payload: int = 4 * 1024 * 1024
    max_state: int = 4 * 1024 * 1024
    recovery_rate: int = 2_000
    max_resident: int = 200_000
    dormant_for: int = 120_000_000
    """How long what an idle machine knew is kept, packed, once the machine has gone."""
    shards: int = 256
