"""The attached processes: who they are, what they declare, what they run, and when one counts as gone.

A lost connection is not a lost process: what it runs stays noted until it comes back with it, is known dead (its pid is
gone on this host), or has not come back within the grace time (rule W11, and `docs/decisions/0006`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ankka.protocol.attempt import Token
from ankka.protocol.frames import CancelRequest, Frame, Hello
from ankka.protocol.spec import ComponentSpec, HandlerSpec, StepSpec
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.workflow import step_of
from ankka_sidecar.ports.leases import AttachedProcess
from ankka_sidecar.ports.processes import Link

if TYPE_CHECKING:
    from ankka_sidecar.runtime.sessions import PeerSession


UNBOUNDED = 1 << 62
"""Of what commands and queries call: those that use up any credit may wait for the very one that finds none."""


class Lane:
    """Credit of one kind of work: how much of it a process takes at once."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    @property
    def is_free(self) -> bool:
        """There is credit for one more."""
        return self.used < self.limit


class Asked:
    """A command, query or fold that a process has: whose it is, and which lane it takes a place of."""

    __slots__ = ("ask", "lane", "machine")

    def __init__(self, machine: Instance, ask: int, lane: Lane) -> None:
        self.machine = machine
        self.ask = ask
        self.lane = lane


class Process:
    """One process of the user's, over all its connections."""

    def __init__(self, hello: Hello, link: Link) -> None:
        self.hello = hello
        self.boot = hello.boot
        self.link: Link | None = link
        self.session: PeerSession | None = None
        self.reserved: Token | None = None
        """An attempt that is to run here alone: it waits for what runs to end, or it runs; no other is given."""
        self.draining = False
        self.silent = False
        """It has not been heard of for a while: blocked, or cut off."""
        self.components: dict[str, ComponentSpec] = {spec.component: spec for spec in hello.components}
        self.handlers: dict[tuple[str, str], HandlerSpec] = {
            (spec.component, handler.name): handler for spec in hello.components for handler in spec.handlers
        }
        self._steps: dict[tuple[str, str], StepSpec | None] = {}
        self.steps = Lane(hello.steps)
        self.threads = Lane(hello.threads)
        self.commands = Lane(hello.commands)
        self.nested = Lane(UNBOUNDED)
        self.folds = Lane(hello.commands)
        self.queries = Lane(hello.queries)
        self.asked: dict[int, Asked] = {}
        self.attempts: dict[Token, Lane] = {}
        self.unread: dict[tuple[str, str], tuple[int, int, int]] = {}
        """Instances whose pending step it could not read: generation, visit, and the state's sequence then."""
        self.inherited: set[Token] = set()
        """What it ran on an earlier connection, until this one has said what of it still runs."""
        self._request = 0

    def __str__(self) -> str:
        return f"process {self.hello.pid} of {self.hello.service}"

    @property
    def is_attached(self) -> bool:
        """It is connected and takes work; one that drains, no step attempts, but what its running steps call."""
        return self.link is not None and not self.silent

    @property
    def noted(self) -> AttachedProcess:
        """What the journal keeps of it."""
        hello = self.hello
        return AttachedProcess(hello.boot, hello.host, hello.pid, hello.pid_started)

    def cannot_read(self, token: Token, base: int) -> bool:
        """Whether it has said of that visit, on the state of that sequence, that it cannot read it."""
        return bool(self.unread) and self.unread.get((token.component, token.instance)) == (token.generation, token.visit, base)

    def step(self, component: str, name: str) -> StepSpec | None:
        """The step it declares under that name or alias."""
        key = (component, name)
        if key not in self._steps:
            spec = self.components.get(component)
            self._steps[key] = step_of(spec, name) if spec is not None else None
        return self._steps[key]

    def send(self, frame: Frame) -> None:
        """Write to it, if it is connected."""
        if self.link is not None:
            self.link.send(frame)

    def next_request(self) -> int:
        """A number for a request on its present connection."""
        self._request += 1
        return self._request

    def ask(self, request: int, machine: Instance, ask: int, lane: Lane) -> None:
        """Note a request that was sent."""
        lane.used += 1
        self.asked[request] = Asked(machine, ask, lane)

    def answered(self, request: int) -> Asked | None:
        """Take back what was asked; `None` if nobody waits for it."""
        asked = self.asked.pop(request, None)
        if asked is not None:
            asked.lane.used -= 1
        return asked

    def cancel(self, machine: Instance, ask: int) -> bool:
        """Tell it that nobody waits for that any more; its place is free when it answers."""
        for request, asked in self.asked.items():
            if asked.machine is machine and asked.ask == ask:
                self.send(CancelRequest(request))
                return True
        return False

    def begin(self, token: Token, step: StepSpec, *, alone: bool = False) -> None:
        """Note an attempt that was sent."""
        if alone:
            self.reserved = token
        lane = self.threads if step.threaded else self.steps
        lane.used += 1
        self.attempts[token] = lane

    def take_up(self, token: Token, name: str) -> None:
        """Note an attempt of the step of that name, which it came back with."""
        if token not in self.attempts:
            step = self.step(token.component, name)
            lane = self.threads if step is not None and step.threaded else self.steps
            lane.used += 1
            self.attempts[token] = lane

    def abandon(self, token: Token) -> None:
        """Nobody waits for that attempt any more. Its place is free, unless it holds a thread: only its end frees that."""
        if self.attempts.get(token) is self.steps:
            self.ended(token)

    def ended(self, token: Token) -> bool:
        """The attempt is over there."""
        lane = self.attempts.pop(token, None)
        if lane is None:
            return False
        lane.used -= 1
        if self.reserved == token:
            self.reserved = None
        return True

    def forget_requests(self) -> list[Asked]:
        """The connection is gone: requests are numbered per connection, so no answer can come."""
        lost = list(self.asked.values())
        self.asked.clear()
        for lane in (self.commands, self.nested, self.folds, self.queries):
            lane.used = 0
        return lost


class Liveness(Protocol):
    """Whether a process on this host still lives."""

    def is_dead(self, process: AttachedProcess) -> bool:
        """True only if it certainly is: it ran on this host and its pid is gone, or is another process now."""
        ...
