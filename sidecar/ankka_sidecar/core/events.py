"""Facts in the journal, past tense: what an effect led to.

Each event carries `at`, the instant of the decision (µs, UTC). The state an effect set is not in the event: it lies
beside it in the row, as the process encoded it; `changed` says that there is one. New fields go to the end with a
default; a tag is never used again for something else.
"""

import msgspec

from ankka.protocol.payload import Payload, StepTarget


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One fact about one instance."""

    at: int


class Started(Event, frozen=True, tag="started"):
    """A command started run number `run` at `target`; the run may take until `until`."""

    run: int
    target: StepTarget
    by: str
    until: int | None = None
    budget: int | None = None
    changed: bool = False
    trace: str | None = None


class Transitioned(Event, frozen=True, tag="transitioned"):
    """A step, or a command that redirected, led to `target`.

    `merged` lists the sequences of command updates that the step's state was merged with, `both` the fields that both
    sides had changed: there the step's value stands (W14).
    """

    target: StepTarget
    by: str
    redirected: bool = False
    cancelled: bool = False
    """An operator cancelled, and the workflow names a step to cancel to; a hold ends with it."""
    reason: str = ""
    changed: bool = False
    merged: tuple[int, ...] = ()
    both: tuple[str, ...] = ()
    trace: str | None = None
    unrepeated: tuple[str, ...] = ()
    """Calls that an earlier attempt of the step had done and this one did not make: its inputs were others (W16)."""


class Updated(Event, frozen=True, tag="updated"):
    """A command set the state, and nothing else; a key value entity's may say when it expires."""

    by: str
    changed: bool = True
    expires_at: int | None = None


class Paused(Event, frozen=True, tag="paused"):
    """A step paused the run: for a command, or until `until`, when `on_timeout` runs."""

    by: str
    until: int | None = None
    on_timeout: StepTarget | None = None
    changed: bool = False
    merged: tuple[int, ...] = ()
    both: tuple[str, ...] = ()
    unrepeated: tuple[str, ...] = ()


class Resumed(Event, frozen=True, tag="resumed"):
    """The pause's deadline passed: `target` runs."""

    target: StepTarget


class Retried(Event, frozen=True, tag="retried"):
    """An attempt faulted and a retry was left: attempt number `attempt` runs, not before `not_before`."""

    step: str
    attempt: int
    error: str
    not_before: int | None = None
    unknown: tuple[str, ...] = ()
    """Calls the attempt had under way when it was replaced: how they ended it did not see."""
    forgotten: bool = False
    """The visit began longer ago than replies to its calls are kept: calls may be made again (W16)."""


class FailedOver(Event, frozen=True, tag="failed-over"):
    """`step` faulted for the last time: `target` runs, without input."""

    step: str
    error: str
    target: StepTarget
    unknown: tuple[str, ...] = ()


class Interrupted(Event, frozen=True, tag="interrupted"):
    """The process or node that ran the attempt went away: attempt number `attempt` runs; no retry was used.

    `death` says that the process died while it ran the attempt, `alone` that it ran nothing else; after several deaths
    the next attempt waits until `not_before`.
    """

    step: str
    attempt: int
    reason: str
    death: bool = False
    alone: bool = False
    not_before: int | None = None
    unknown: tuple[str, ...] = ()
    forgotten: bool = False


class Sent(Event, frozen=True, tag="sent"):
    """The attempt of a step that may run once only is about to be sent."""

    step: str
    attempt: int


class Held(Event, frozen=True, tag="held"):
    """An operator holds the run: nothing new starts."""

    by: str
    reason: str = ""


class Released(Event, frozen=True, tag="released"):
    """An operator lets a held run go on."""

    by: str
    reason: str = ""


class Ended(Event, frozen=True, tag="ended"):
    """The run is complete."""

    by: str
    changed: bool = False
    merged: tuple[int, ...] = ()
    both: tuple[str, ...] = ()
    unrepeated: tuple[str, ...] = ()


class Failed(Event, frozen=True, tag="failed"):
    """The run failed: deliberately, of a fault no recovery was left for, or of time."""

    code: str
    message: str
    step: str | None = None
    by: str | None = None
    """The operator who cancelled it."""
    unknown: tuple[str, ...] = ()
    changed: bool = False
    merged: tuple[int, ...] = ()
    both: tuple[str, ...] = ()
    unrepeated: tuple[str, ...] = ()


class Deleted(Event, frozen=True, tag="deleted"):
    """State, journal and deadlines are discarded; `events` are an entity's last ones."""

    by: str
    events: tuple[Payload, ...] = ()
    reason: str = ""


class Persisted(Event, frozen=True, tag="persisted"):
    """An entity's command persisted these events, in order, as one effect."""

    by: str
    events: tuple[Payload, ...]
    expires_at: int | None = None


WorkflowEvent = (
    Started | Transitioned | Updated | Paused | Resumed | Retried | FailedOver | Interrupted | Sent | Held | Released | Ended | Failed | Deleted
)
EntityEvent = Persisted | Deleted
KeyValueEvent = Updated | Deleted
AnyEvent = WorkflowEvent | Persisted

decode_event = msgspec.msgpack.Decoder(AnyEvent).decode


def name_of(event: Event) -> str:
    """The event's name in the journal's timeline."""
    return str(type(event).__struct_config__.tag)
