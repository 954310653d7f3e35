"""Processes attach, lose their connection, come back, drain, die: what that means for the work they had (W11, W13).

unknown ──hello──► attached ──connection lost──► away ──hello again──► attached
                      │                           └──dead, or away for the grace time──► gone
                      └──drained and closed──► gone
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import KEEPER, PROTOCOL_VERSION, Hello, Rejected, Welcome
from ankka.protocol.ids import RESERVED_PREFIX
from ankka.protocol.wire import FRAME_OVERHEAD
from ankka_sidecar.core.inputs import AskLost, AttemptAdopted, AttemptLost
from ankka_sidecar.ports.journal import JournalUnavailable
from ankka_sidecar.ports.leases import AttachedProcess, Leases
from ankka_sidecar.ports.processes import Link, Session
from ankka_sidecar.runtime.node import Node
from ankka_sidecar.runtime.processes import Liveness, Process
from ankka_sidecar.runtime.sessions import PeerSession

log = logging.getLogger("ankka.sidecar.processes")

DIED = "its process died"
TRY_AGAIN = 1_000_000
"""µs after which a process whose declarations differ may ask again."""
CALLS = 4_096
"""Calls that one peer may have under way."""


class Attachments:
    """All peers of this node; the session server's host."""

    def __init__(self, node: Node, leases: Leases, liveness: Liveness, incarnation: str) -> None:
        self._node = node
        self._leases = leases
        self._liveness = liveness
        self._incarnation = incarnation
        self._by_boot: dict[str, Process] = {}
        self._away: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._clients: set[PeerSession] = set()
        self._keepers: set[PeerSession] = set()
        """Clients for whose sake an embedded sidecar stays: `ankka dev` while its process is started anew."""
        self.expected: dict[str, AttachedProcess] = {}
        """The last incarnation's processes that may still come back, by boot id."""
        self.calls = CALLS
        self.attached: Callable[[], None] = _nothing
        """Told when a process has attached; the recovery looks at what waited for its declarations."""
        self.left_at: int | None = None
        """When the last process left; `None` while one is attached or away."""

    @property
    def message_limit(self) -> int:
        """See `ports.processes`."""
        payload, state = self._node.settings.max_payload, self._node.settings.max_state
        # The largest there are: an entity's answer (event, reply, state), and a merge (base, present state, the step's).
        return max(2 * payload + state, 3 * state) + FRAME_OVERHEAD

    @property
    def count(self) -> int:
        """Processes attached or expected back, and keepers."""
        return len(self._by_boot) + len(self._keepers)

    # --- a peer says hello -----------------------------------------------------------------------------------------

    def open(self, hello: Hello, link: Link) -> Session | None:
        """See `ports.processes`."""
        if self._node.stopping:
            link.send(Rejected(("this sidecar is stopping",), TRY_AGAIN))
            link.close("stopping")
            return None
        problems = self._problems(hello)
        if problems:
            link.send(Rejected(tuple(problems)))
            link.close("rejected")
            return None
        session = PeerSession(self._node, self, link, hello)
        if not hello.components:
            self._clients.add(session)
            if hello.service == KEEPER:
                self._keepers.add(session)
                self.left_at = None
            session.welcome(self._welcome())
            return session
        self._attach(hello, link, session)
        return session

    def _welcome(self) -> Welcome:
        settings = self._node.settings
        return Welcome(self._incarnation, settings.max_payload, settings.machine.cancel_grace, CALLS, self.message_limit)

    def _problems(self, hello: Hello) -> list[str]:
        problems: list[str] = []
        if hello.protocol != PROTOCOL_VERSION:
            problems.append(
                f"the process speaks protocol {hello.protocol} (SDK {hello.sdk}), this sidecar {PROTOCOL_VERSION}: use the same version of both"
            )
        seen: set[str] = set()
        for spec in hello.components:
            if spec.component in seen:
                problems.append(f"two components are called '{spec.component}'")
            seen.add(spec.component)
            names = [handler.name for handler in spec.handlers] + [name for step in spec.steps for name in (step.name, *step.aliases)]
            problems.extend(
                f"'{spec.component}' declares '{name}': names beginning with '{RESERVED_PREFIX}' are reserved"
                for name in names
                if name.startswith(RESERVED_PREFIX)
            )
            kind = self._node.kinds.get(spec.component)
            if kind is not None and kind != spec.kind:
                problems.append(f"'{spec.component}' is of the kind {spec.kind} here, but {kind} in the journal: give it another component_id")
        return problems

    def _attach(self, hello: Hello, link: Link, session: PeerSession) -> None:
        before = self._by_boot.get(hello.boot)
        if before is not None and before.link is not None:
            before.link.close("the same process has connected again")
            self._disconnected(before)
        process = Process(hello, link)
        if before is not None:
            process.inherited = before.inherited | before.attempts.keys()
            process.reserved = before.reserved
            self._node.dispatcher.remove(before)
        session.process = process
        self._by_boot[hello.boot] = process
        self._away.pop(hello.boot, None)
        self.left_at = None
        self._start(self._greet(process, session))

    async def _greet(self, process: Process, session: PeerSession) -> None:
        """Note the process and its schemas durably, so that a successor of this node knows of it before it has any work."""
        try:
            await self._note()
            declared = [(spec.component, spec.fingerprint) for spec in process.hello.components]
            self._node.dispatcher.schemas = await self._node.journal.see_schemas(declared)
        except JournalUnavailable as error:
            log.error("%s is not taken: the journal cannot note it: %s", process, error)
            session.link.close("the journal is unavailable")
            return
        self._node.faults.point("processes.noted")
        if process.link is None:
            return
        session.welcome(self._welcome())
        for spec in process.hello.components:
            self._node.kinds[spec.component] = spec.kind
        for running in process.hello.running:
            process.take_up(running.token, running.step)
        self._node.dispatcher.add(process)
        self._take_up(process)
        self._node.readmit()
        self.expected.pop(process.boot, None)
        self.attached()
        log.info("%s attached: %s", process, ", ".join(sorted(process.components)))

    def _take_up(self, process: Process) -> None:
        """What it still runs goes on, or is told to stop if it was replaced; what it had and does not run any more is lost."""
        listed = {running.token: running.elapsed for running in process.hello.running}
        for token, elapsed in listed.items():
            spec = process.components.get(token.component)
            if spec is not None:
                self._node.deliver(token, AttemptAdopted(token, elapsed, spec))
        inherited, process.inherited = process.inherited, set()
        for token in inherited - listed.keys():
            self._lost(token, "its process came back without it")

    async def _note(self) -> None:
        noted = {**self.expected, **{boot: process.noted for boot, process in self._by_boot.items()}}
        await self._leases.note_processes(tuple(noted.values()))

    # --- a connection closes ---------------------------------------------------------------------------------------

    def closed(self, session: PeerSession) -> None:
        """The connection of a session is gone."""
        self._clients.discard(session)
        if session in self._keepers:
            self._keepers.remove(session)
            self._left()
        process = session.process
        if process is None or self._by_boot.get(process.boot) is not process or process.link is not session.link:
            return
        self._disconnected(process)
        if process.draining:
            self._gone(process, "its process was stopped")
        else:
            self._away[process.boot] = self._node.clock.now()
            self.look_after(self._node.clock.now())

    def _disconnected(self, process: Process) -> None:
        process.link = None
        error = Error(ErrorCode.UNAVAILABLE, "the process that ran the handler went away; nothing was done, try again")
        for asked in process.forget_requests():
            self._node.feed(asked.machine, AskLost(asked.ask, error))

    def look_after(self, now: int) -> None:
        """Ask the connected ones whether they live; of those away, the dead and the long absent are gone."""
        for session in self.sessions():
            session.look_after(now)
        for boot, since in list(self._away.items()):
            process = self._by_boot[boot]
            if self._liveness.is_dead(process.noted):
                self._gone(process, DIED)
            elif now - since >= self._node.settings.machine.cancel_grace:
                self._gone(process, "its process did not come back")

    def _gone(self, process: Process, reason: str) -> None:
        del self._by_boot[process.boot]
        self._away.pop(process.boot, None)
        self._node.dispatcher.remove(process)
        log.info("%s is gone: %s", process, reason)
        alone = process.reserved
        for token in [*process.attempts, *process.inherited]:
            process.ended(token)
            spec = process.components.get(token.component)
            lost = AttemptLost(token, reason, spec, death=reason == DIED, alone=token == alone)
            self._node.attempt_ended(token, lost)
        self._left()
        self._start(self._note_quietly())

    def _left(self) -> None:
        if not self.count:
            self.left_at = self._node.clock.now()

    def _lost(self, token: Token, reason: str) -> None:
        self._node.attempt_ended(token, AttemptLost(token, reason, self._node.dispatcher.spec_of(token.component)))

    async def _note_quietly(self) -> None:
        try:
            await self._note()
        except JournalUnavailable as error:  # one noted too many costs a restart a look at its pid
            log.warning("the journal cannot note which processes are attached: %s", error)

    # --- stopping --------------------------------------------------------------------------------------------------

    def say_drain(self, reason: str) -> None:
        """Tell every peer that this node goes away."""
        for process in self._by_boot.values():
            if process.link is not None:
                process.draining = True
        for session in self.sessions():
            session.say_drain(reason)

    def sessions(self) -> list[PeerSession]:
        """Every open session."""
        connected = (process.session for process in self._by_boot.values() if process.link is not None)
        return [*self._clients, *(session for session in connected if session is not None)]

    async def close(self) -> None:
        """Close every connection."""
        for session in self.sessions():
            session.link.close("the sidecar stops")
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _nothing() -> None:
    """Nobody listens."""
