"""What goes into an instance machine. Instants and durations are µs."""

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error
from ankka.protocol.frames import (
    EntityCommandDone,
    Fingerprinted,
    Folded,
    Merged,
    Refused,
    Replied,
    StepDone,
    StepFaulted,
    StepStopped,
    WorkflowCommandDone,
)
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentSpec
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord


class Input(msgspec.Struct, frozen=True, gc=False):
    """One input of an instance machine."""


class CallMade(Input, frozen=True):
    """A command or query arrived. `call` is the caller's number: the `Reply` to it carries the same.

    `deadline` is the instant after which the call must not begin (I12).
    """

    call: int
    handler: str
    input: Payload | None
    read_only: bool
    deadline: int
    metadata: dict[str, str] = {}
    chain: tuple[str, ...] = ()
    key: bytes | None = None
    trace: str | None = None
    fresh: bool = False
    """Nobody can have sent its key before: nothing is looked up."""
    forgets: bool = False
    """What its key had left is too old to count; a machine says it to itself."""


class LifecycleAsked(Input, frozen=True):
    """Somebody asks for the engine's own view."""

    call: int


class EndAsked(Input, frozen=True):
    """Somebody waits for the end of the present run, or of the next one if none has begun."""

    call: int


class OperatorAsked(Input, frozen=True):
    """An operator wants something of the instance: `hold`, `release`, `cancel` or `delete`, with who and why.

    `cancel_to` is the step that the attached processes declare for a cancelled run.
    """

    call: int
    wanted: str
    by: str
    reason: str = ""
    cancel_to: str | None = None


class CallDropped(Input, frozen=True):
    """The caller does not wait any more: what has not begun is not begun."""

    call: int


class CallWithdrawn(Input, frozen=True):
    """The attempt that made the call was replaced: if it has not begun, its caller gets `error`; else it goes on."""

    call: int
    error: Error


class Loaded(Input, frozen=True):
    """The journal's answer to `Load`.

    `record` is `None` for an id without rows. `effect` is the newest row's. `foreign` says that another incarnation
    wrote it, so that a pending attempt may be under way somewhere. For an entity, `events` are those behind the
    snapshot at `snapshot_sequence`, whose state is `state`.
    """

    record: WorkflowRecord | EntityRecord | None
    state: Payload | None = None
    effect: int = 0
    foreign: bool = False
    events: tuple[Payload, ...] = ()
    sequences: tuple[int, ...] = ()
    """Where each of the events is in the journal."""
    snapshot_sequence: int = 0
    schema: str = ""
    """The fingerprint of the schema that last wrote the state."""
    is_folded: bool = False
    """The state of an entity is known to be readable: no fold has to prove its snapshot."""


class LoadFailed(Input, frozen=True):
    """The journal could not be read; the callers get `error`."""

    error: Error


class HandlerAnswered(Input, frozen=True):
    """A process answered `AskHandler` or `AskFold` number `ask`; `spec` is what it declares of the component."""

    ask: int
    answer: WorkflowCommandDone | EntityCommandDone | Replied | Refused | Folded | Merged | Fingerprinted
    spec: ComponentSpec


class ReplyFound(Input, frozen=True):
    """The answer to `FindReply` number `ask`: what the key left at `at`; `reply` is `None` where it left nothing.

    `fingerprint` is that of the input it was done for (`keyed.told`), `generation` the life it was done in.
    """

    ask: int
    reply: Payload | None = None
    fingerprint: bytes = b""
    at: int = 0
    generation: int = 0
    sequence: int = 0


class AskLost(Input, frozen=True):
    """Nobody will answer `ask`: no process came, the one that had it is gone, or the journal cannot be read. Nothing was done."""

    ask: int
    error: Error


class StepSent(Input, frozen=True):
    """The attempt went to a process: its clock begins, and the settings of that process apply (W17)."""

    token: Token
    spec: ComponentSpec


class StepChosen(Input, frozen=True):
    """A process would take the attempt, but its step may run once only: that it is sent is to be journalled first."""

    token: Token


class StateRead(Input, frozen=True):
    """The answer to `ReadState`; `None` where the row is gone."""

    sequence: int
    state: Payload | None


class StepAnswered(Input, frozen=True):
    """A process answered an attempt; `spec` is what that process declares of the component."""

    answer: StepDone | StepFaulted | StepStopped
    spec: ComponentSpec


class CallsFound(Input, frozen=True):
    """The answer to `FindCalls`: the calls of the visit that are in the journal, each by its key and in words."""

    token: Token
    calls: tuple[tuple[bytes, str], ...]


class AnswerWaited(Input, frozen=True):
    """An attempt's answer that came at `at`, before the machine was ready; a machine says it to itself."""

    given: StepAnswered
    at: int


class AttemptAdopted(Input, frozen=True):
    """A reconnected process still runs the attempt, for `elapsed` already."""

    token: Token
    elapsed: int
    spec: ComponentSpec


class AttemptLost(Input, frozen=True):
    """The attempt is certainly not, or must be taken as not, running any more (W11).

    `death` says that its process died while it ran it, `alone` that the process ran no other step.
    """

    token: Token
    reason: str
    spec: ComponentSpec | None = None
    death: bool = False
    alone: bool = False


class Appended(Input, frozen=True):
    """The effect is durable."""

    effect: int


class AppendConflicted(Input, frozen=True):
    """Right epoch, unexpected sequence: this machine's record is stale."""

    effect: int


class AppendFenced(Input, frozen=True):
    """Another node owns the shard: nothing here counts any more."""

    effect: int


class AppendRefused(Input, frozen=True):
    """The journal did not store it, certainly; `permanent`: nor will it, however often it is asked."""

    effect: int
    message: str
    permanent: bool = False


class AppendUncertain(Input, frozen=True):
    """The commit's fate is unknown."""

    effect: int
    message: str


class RoomNeeded(Input, frozen=True):
    """There are more resident machines than there should be: leave, if nothing is under way."""


class Woke(Input, frozen=True):
    """An instant that was asked for by `WakeAt` has come."""
