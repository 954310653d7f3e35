"""The times and limits of a machine."""

import msgspec

DAY = 86_400_000_000


class Limits(msgspec.Struct, frozen=True):
    """Limits and times of a machine, µs; the defaults are those of the settings they are named after."""

    handler_timeout: int = 10_000_000
    cancel_grace: int = 5_000_000
    passivate_after: int = 120_000_000
    max_mailbox: int = 1_000
    max_journal_events: int = 100_000
    idempotency_retention: int = 7 * DAY
    step_call_retention: int = DAY
