"""The frames of a session, both ways.

A frame is an array whose first element is its tag. Requests carry a number that is unique in one direction of one
session; step attempts are named by their `Token` instead, because they outlive a connection. New fields are added at
the end with a default; a tag is never used again for something else.

    process or client -> sidecar                      sidecar -> process or client
    Hello                                             Welcome | Rejected
    WorkflowCommandDone EntityCommandDone             RunCommand RunQuery CancelRequest
    Replied Refused Folded Merged Fingerprinted       Fold Merge Fingerprint
    StepDone StepFaulted StepStopped                  RunStep CancelStep StepAck
    Call CancelCall                                   CallReplied CallRefused
    Ping Pong Drain                                   Ping Pong Drain
"""

import msgspec

from ankka.protocol.attempt import RunningAttempt, Token
from ankka.protocol.errors import Error
from ankka.protocol.outcome import Outcome
from ankka.protocol.payload import Payload, StepTarget
from ankka.protocol.spec import ComponentSpec

PROTOCOL_VERSION = 1
SESSION_PATH = "/ankka/session"
KEEPER = "ankka dev"
"""The service in a client's hello that keeps an embedded sidecar from leaving, as an attached process does."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One unit on the wire."""


# --- the handshake -----------------------------------------------------------------------------------------------


class Hello(Frame, frozen=True, tag="hello"):
    """The first frame of a session: who connects, what it declares, what it still runs.

    `boot` is random per start of the process; with `host`, `pid` and `pid_started` it tells a lost connection from a
    dead process. A client declares no components and takes no work. `steps`, `threads`, `commands` and `queries` are
    how many of each the process takes at once: the credit of each lane.
    """

    protocol: int
    sdk: str
    service: str
    boot: str
    host: str
    pid: int
    pid_started: str
    components: tuple[ComponentSpec, ...] = ()
    running: tuple[RunningAttempt, ...] = ()
    steps: int = 1_000
    threads: int = 64
    commands: int = 256
    queries: int = 256


class Welcome(Frame, frozen=True, tag="welcome"):
    """The sidecar takes the session. Durations in µs, sizes in bytes."""

    incarnation: str
    max_payload: int
    cancel_grace: int
    calls: int
    """How many calls this side may have under way at once: the credit of the other direction."""
    message_limit: int
    """The largest frame either side may send."""


class Rejected(Frame, frozen=True, tag="rejected"):
    """The sidecar does not take the session: all problems at once. With `retry_after` (µs) it may be tried again."""

    problems: tuple[str, ...]
    retry_after: int | None = None


# --- work for a process ------------------------------------------------------------------------------------------


class RunCommand(Frame, frozen=True, tag="command"):
    """Run a command handler on this state (`None`: the empty state).

    `chain` is the ring of commands that led here; `sequence` the position in the instance's journal; `timeout` how
    long the answer may take (µs). The answer to a command with a `key` says which input it was done for (`fingerprint`).
    """

    request: int
    component: str
    instance: str
    handler: str
    input: Payload | None
    state: Payload | None
    sequence: int
    timeout: int
    metadata: dict[str, str] = {}
    chain: tuple[str, ...] = ()
    key: bytes | None = None
    trace: str | None = None


class RunQuery(Frame, frozen=True, tag="query"):
    """Run a query handler on this state."""

    request: int
    component: str
    instance: str
    handler: str
    input: Payload | None
    state: Payload | None
    sequence: int
    timeout: int
    metadata: dict[str, str] = {}
    chain: tuple[str, ...] = ()
    trace: str | None = None


class RunStep(Frame, frozen=True, tag="step"):
    """Run one attempt of a step on this state, last changed at `base`; answer within `timeout` (µs).

    `at` is the instant (µs) of the transition that led to the visit: what `context.now()` says (0: not given).
    """

    token: Token
    step: str
    input: Payload | None
    state: Payload | None
    base: int
    sequence: int
    timeout: int
    trace: str | None = None
    at: int = 0


class Fold(Frame, frozen=True, tag="fold"):
    """Fold these events of an event sourced entity onto the state, answer the state's bytes.

    `sequences` says where each event is in the instance's journal: for the message if one cannot be read.
    """

    request: int
    component: str
    instance: str
    state: Payload | None
    events: tuple[Payload, ...]
    sequences: tuple[int, ...] = ()


class Merge(Frame, frozen=True, tag="merge"):
    """A step answered on a state that commands have changed meanwhile: put both changes together (rule W14).

    `base` is the state the step began with, `current` the one journalled since, `mine` the one the step set. `step` is
    the step's wire name. A `base` of `None` is the empty state.
    """

    request: int
    component: str
    instance: str
    step: str
    base: Payload | None
    current: Payload
    mine: Payload
    timeout: int


class Fingerprint(Frame, frozen=True, tag="fingerprint"):
    """A key came again with other bytes: say which input they are, decoded (W15). `timeout` in µs."""

    request: int
    component: str
    instance: str
    handler: str
    input: Payload | None
    timeout: int


class CancelStep(Frame, frozen=True, tag="cancel-step"):
    """The attempt was replaced: stop it. It answers `StepStopped`, or whatever it still comes to."""

    token: Token


class CancelRequest(Frame, frozen=True, tag="cancel"):
    """Nobody waits for this command, query or fold any more."""

    request: int


class StepAck(Frame, frozen=True, tag="ack"):
    """What became of a step's answer: `journalled`, or `stale` when the attempt was no longer the pending one."""

    token: Token
    stale: bool = False


# --- a process's answers -----------------------------------------------------------------------------------------


class WorkflowCommandDone(Frame, frozen=True, tag="workflow-done"):
    """A workflow command's effect. `state` is `None` where it did not change; `reply` is encoded already.

    `fingerprint` tells the decoded input, of a command with a key (see `Fingerprinted`).
    """

    request: int
    reply: Payload
    state: Payload | None = None
    transition: StepTarget | None = None
    delete: bool = False
    fingerprint: bytes = b""


class EntityCommandDone(Frame, frozen=True, tag="entity-done"):
    """An entity command's effect: events in order, and the state after them. `expire_after` in µs.

    `fingerprint` tells the decoded input, of a command with a key (see `Fingerprinted`).
    """

    request: int
    reply: Payload
    events: tuple[Payload, ...] = ()
    state: Payload | None = None
    delete: bool = False
    expire_after: int | None = None
    fingerprint: bytes = b""


class Replied(Frame, frozen=True, tag="replied"):
    """A read-only reply: of a query, or of a command that changes nothing."""

    request: int
    reply: Payload


class Refused(Frame, frozen=True, tag="refused"):
    """The handler refused, raised, or its effect could not be encoded: nothing is journalled."""

    request: int
    error: Error


class Folded(Frame, frozen=True, tag="folded"):
    """The state after the events of a `Fold`."""

    request: int
    state: Payload | None


class Merged(Frame, frozen=True, tag="merged"):
    """The state that holds both changes; `both` names the fields that both sides had changed, where the step's stands."""

    request: int
    state: Payload
    both: tuple[str, ...] = ()


class Fingerprinted(Frame, frozen=True, tag="fingerprinted"):
    """16 bytes that are the same for inputs which are equal once they are decoded (`keys.fingerprint` of its canonical form)."""

    request: int
    fingerprint: bytes


class StepDone(Frame, frozen=True, tag="done"):
    """A step's effect: the state it set (`None`: unchanged), made from the state of sequence `base`, and what is next.

    From the second attempt of a visit on, `calls` are the keys of the calls it made that were done; `None`: they are not
    told (it is the first attempt, or they are too many for a frame).
    """

    token: Token
    base: int
    outcome: Outcome
    state: Payload | None = None
    calls: tuple[bytes, ...] | None = None


class StepFaulted(Frame, frozen=True, tag="faulted"):
    """A step raised, or its effect could not be used. `types` are the error's class names, most special first."""

    token: Token
    types: tuple[str, ...]
    message: str
    retryable: bool = True


class StepStopped(Frame, frozen=True, tag="stopped"):
    """The attempt ended without a result: cancelled, given back by a process that drains, or never begun (`unreadable`: what
    this version of the code declares cannot hold the state or the input)."""

    token: Token
    reason: str = "cancelled"
    unreadable: bool = False


# --- calls -------------------------------------------------------------------------------------------------------


class Call(Frame, frozen=True, tag="call"):
    """A call to any component, from a handler, a step or an outside client.

    `timeout` is the remaining time (µs). `kind` is checked against the component's. `attempt` names the step attempt
    that calls; `chain` the commands under way above it. Reserved handlers (`ankka:lifecycle`, `ankka:await`) go this
    way too. `key` is the idempotency key of a command (`protocol.keys`); `fresh` says that nobody can have sent it
    before (the first sending by the first attempt of a visit), so that no reply to it is looked for.
    """

    request: int
    component: str
    instance: str
    handler: str
    input: Payload | None
    timeout: int
    kind: str | None = None
    metadata: dict[str, str] = {}
    chain: tuple[str, ...] = ()
    attempt: Token | None = None
    key: bytes | None = None
    trace: str | None = None
    fresh: bool = False


class CancelCall(Frame, frozen=True, tag="cancel-call"):
    """The caller does not wait any more; what has not begun is not begun."""

    request: int


class CallReplied(Frame, frozen=True, tag="call-replied"):
    """The reply to a call, sent when its effect is durable."""

    request: int
    reply: Payload


class CallRefused(Frame, frozen=True, tag="call-refused"):
    """The call was refused or failed; the code says whether it was certainly not done."""

    request: int
    error: Error


# --- keeping the session -----------------------------------------------------------------------------------------


class Ping(Frame, frozen=True, tag="ping"):
    """Is the other side's loop alive?"""

    number: int


class Pong(Frame, frozen=True, tag="pong"):
    """Yes."""

    number: int


class Drain(Frame, frozen=True, tag="drain"):
    """This side takes no new work and will close when what runs has ended."""

    reason: str = ""


ToSidecar = (
    Hello
    | WorkflowCommandDone
    | EntityCommandDone
    | Replied
    | Refused
    | Folded
    | Merged
    | Fingerprinted
    | StepDone
    | StepFaulted
    | StepStopped
    | Call
    | CancelCall
    | Ping
    | Pong
    | Drain
)
ToProcess = (
    Welcome
    | Rejected
    | RunCommand
    | RunQuery
    | RunStep
    | Fold
    | Merge
    | Fingerprint
    | CancelStep
    | CancelRequest
    | StepAck
    | CallReplied
    | CallRefused
    | Ping
    | Pong
    | Drain
)
