"""Which run an await is about, said again when it is repeated, so that it does not end with the end of another."""

from collections.abc import Callable
from datetime import datetime

import msgspec

from ankka.protocol.lifecycle import LifecycleStatus, WorkflowLifecycle
from ankka.protocol.payload import JSON, Payload


class AwaitedRun(msgspec.Struct, frozen=True):
    """The input of `ankka:await` on a session: the run of a command, by its idempotency key, the run that was seen, or the
    one that was there so long ago.

    `started_at` tells runs of one number apart that belong to different lives of an instance; it is `None` where the run had
    not begun. A `key` that has left nothing in the journal stands for the present run. `waited` (µs) is for an await whose
    connection was lost before anybody knew which run it is about: the run that has begun by then, or else the next.
    """

    run: int = 0
    started_at: datetime | None = None
    key: bytes = b""
    waited: int = 0


def seen_in(lifecycle: WorkflowLifecycle) -> AwaitedRun:
    """The run whose end one awaits who sees this lifecycle: the present one, or the next if none has begun.

    >>> seen_in(WorkflowLifecycle())
    AwaitedRun(run=1, started_at=None, key=b'', waited=0)
    """
    if lifecycle.status is LifecycleStatus.NOT_STARTED:
        return AwaitedRun(lifecycle.run + 1)
    return AwaitedRun(lifecycle.run, lifecycle.started_at)


def as_input(awaited: AwaitedRun) -> Payload:
    """It as it is sent."""
    return Payload(msgspec.json.encode(awaited), JSON)


decode_awaited: Callable[[bytes], AwaitedRun] = msgspec.json.Decoder(AwaitedRun).decode
