"""What an instance machine asks for. The performer does it and feeds the result back as an input."""

import msgspec

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error
from ankka.protocol.payload import Payload
from ankka_sidecar.core.events import AnyEvent
from ankka_sidecar.core.inputs import CallMade
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord


class Action(msgspec.Struct, frozen=True, gc=False):
    """One thing to do."""


class Load(Action, frozen=True):
    """Read the instance from the journal; answers `Loaded` or `LoadFailed`."""

    from_the_beginning: bool = False
    """Without the snapshot: it could not be read."""


class AskHandler(Action, frozen=True):
    """Have a process run a command or query on this state; answers `HandlerAnswered` or `AskLost`."""

    ask: int
    call: CallMade
    state: Payload | None
    sequence: int


class AskFold(Action, frozen=True):
    """Have a process fold events onto a state; answers `HandlerAnswered` with `Folded`, or `AskLost`."""

    ask: int
    state: Payload | None
    events: tuple[Payload, ...]
    sequences: tuple[int, ...] = ()


class AskMerge(Action, frozen=True):
    """Have a process put a step's state and the commands' together; answers `HandlerAnswered` with `Merged`, or `AskLost`."""

    ask: int
    step: str
    base: Payload | None
    current: Payload
    mine: Payload


class ReadState(Action, frozen=True):
    """Read the state that the row of that sequence set; answers `StateRead`."""

    generation: int
    sequence: int


class FindReply(Action, frozen=True):
    """Look for what a command with that key left in that life of the instance; answers `ReplyFound` or `AskLost`.

    `reborn` says that there were lives before it, which are looked through too.
    """

    ask: int
    key: bytes
    generation: int
    reborn: bool


class AskFingerprint(Action, frozen=True):
    """Have a process say which input a command has, decoded; answers `HandlerAnswered` with `Fingerprinted`, or `AskLost`."""

    ask: int
    call: CallMade


class FindCalls(Action, frozen=True):
    """Look for the calls that the attempts of that visit had done; answers `CallsFound`."""

    token: Token


class CancelAsk(Action, frozen=True):
    """Nobody waits for `ask` any more."""

    ask: int


class RunStep(Action, frozen=True):
    """Have a process run this attempt; answers `StepSent`, then `StepAnswered` or `AttemptLost`."""

    token: Token
    step: str
    input: Payload | None
    state: Payload | None
    base: int
    sequence: int
    trace: str | None
    since: int
    """When the visit to the step began."""
    alone: bool = False
    """No other step may run in its process meanwhile (W11)."""
    journalled: bool = False
    """That it is sent is in the journal: a step that may run once only is not sent before (W11)."""


class CancelStep(Action, frozen=True):
    """The attempt was replaced: stop it, wherever it is."""

    token: Token


class AbandonStep(Action, frozen=True):
    """The attempt did not stop within the grace time: nobody waits for it any more."""

    token: Token


class AckStep(Action, frozen=True):
    """Tell the process what became of its answer."""

    token: Token
    stale: bool


class Append(Action, frozen=True):
    """Store one effect; answers `Appended` or one of its failures.

    `state` is what the effect set. `listing_changed` says that status or deadline are others than before.
    """

    effect: int
    generation: int
    sequence: int
    event: AnyEvent
    record: WorkflowRecord | EntityRecord
    state: Payload | None
    listing_changed: bool
    schema: str
    trace: str | None
    replaces: Token | None = None
    """The attempt this replaces: the event names the calls it had under way."""
    key: bytes | None = None
    """The command's idempotency key as it is stored: the row keeps it, with `fingerprint` and `reply`."""
    fingerprint: bytes | None = None
    reply: Payload | None = None
    forgets: bool = False
    """What the key had left before is too old to count, and goes."""


class PutSnapshot(Action, frozen=True):
    """Store the entity's state as a snapshot; nothing is answered."""

    generation: int
    sequence: int
    state: Payload
    version: int


class Reply(Action, frozen=True):
    """Answer a caller: with the encoded reply, or an error."""

    call: int
    result: Payload | Error


class WakeAt(Action, frozen=True):
    """Send `Woke` at that instant; the latest `WakeAt` replaces an earlier one."""

    at: int


class Passivate(Action, frozen=True):
    """Drop this machine: it holds nothing that the journal does not."""


class Prune(Action, frozen=True):
    """The generation was deleted: its rows may go."""

    generation: int


class Trim(Action, frozen=True):
    """Of that life only the rows from `after` on are still needed: those between the first and it may go."""

    generation: int
    after: int


class Report(Action, frozen=True):
    """Say it in the log: a fault of a step, or a bug of ours."""

    level: str
    message: str
