"""The node: every resident machine, the loop that feeds them, and how calls come in.

One input at a time goes into a machine; what it asks for is performed before the next input of any machine is taken.
Nothing here decides: the core does.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from typing import Any

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.ids import RESERVED_PREFIX, InvalidId, check_instance_id
from ankka.protocol.spec import ComponentKind
from ankka_sidecar.core.actions import Action
from ankka_sidecar.core.entity_instance import EntityInstance
from ankka_sidecar.core.inputs import CallDropped, CallMade, EndAsked, Input, LifecycleAsked, Woke
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.records import WorkflowRecord, decode_record
from ankka_sidecar.core.settings import Settings
from ankka_sidecar.core.sharding import shard_of
from ankka_sidecar.core.workflow_instance import WorkflowInstance
from ankka_sidecar.ports.clock import Clock
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import Journal, JournalUnavailable
from ankka_sidecar.runtime.callers import Answer, Callers, Request
from ankka_sidecar.runtime.dispatcher import Dispatcher, declared_by, unavailable
from ankka_sidecar.runtime.loader import Loader
from ankka_sidecar.runtime.performer import Performer
from ankka_sidecar.runtime.timers import Timers
from ankka_sidecar.runtime.writer import GroupWriter

log = logging.getLogger("ankka.sidecar")

LIFECYCLE = "ankka:lifecycle"
AWAIT = "ankka:await"

Key = tuple[str, str]


class Node:
    """See the module."""

    def __init__(self, journal: Journal, clock: Clock, faults: Faults, settings: Settings) -> None:
        self.journal = journal
        self.clock = clock
        self.faults = faults
        self.settings = settings
        self.callers = Callers()
        self.timers = Timers(clock, self._wake)
        self.dispatcher = Dispatcher(clock, faults, self.feed, settings.machine.handler_timeout)
        self.writer = GroupWriter(journal, faults, self.feed)
        self.loader = Loader(journal, self.feed)
        self.performer = Performer(
            journal=journal, faults=faults, dispatcher=self.dispatcher, writer=self.writer, loader=self.loader, timers=self.timers,
            callers=self.callers, forget=self._forget,
        )  # fmt: skip
        self.machines: dict[Key, Instance] = {}
        self.kinds: dict[str, ComponentKind] = {}
        self.stopping = False
        self._inbox: deque[tuple[Instance, Input | None]] = deque()
        self._feeding = False
        self._early: list[tuple[int, int, Request]] = []

    def own(self, epochs: dict[int, int]) -> None:
        """These shards are this node's, under these epochs."""
        self.performer.epochs = epochs
        self.loader.epochs = epochs

    # --- the loop --------------------------------------------------------------------------------------------------

    def feed(self, machine: Instance, given: Input) -> None:
        """Give a machine an input and do what it asks for."""
        self._inbox.append((machine, given))
        if not self._feeding:
            self._drain_inbox()

    def _drain_inbox(self) -> None:
        self._feeding = True
        perform = self.performer.perform
        now = self.clock.now
        inbox = self._inbox
        try:
            while inbox:
                machine, given = inbox.popleft()
                actions: list[Action] = machine.start(now()) if given is None else machine.handle(given, now())
                for action in actions:
                    perform(machine, action)
        finally:
            self._feeding = False

    def _wake(self, machine: Instance) -> None:
        self.feed(machine, Woke())

    def _forget(self, machine: Instance) -> None:
        key = (machine.component, machine.instance)
        if self.machines.get(key) is machine:
            del self.machines[key]

    # --- machines --------------------------------------------------------------------------------------------------

    def machine(self, component: str, instance: str, kind: ComponentKind) -> Instance:
        """The instance's machine, made and loading if it is not resident."""
        machine = self.machines.get((component, instance))
        if machine is None:
            made = WorkflowInstance if kind is ComponentKind.WORKFLOW else EntityInstance
            machine = made(component, instance, self.settings.machine, random.getrandbits(62))
            machine.shard = shard_of(component, instance, self.settings.shards)
            self.machines[component, instance] = machine
            self._inbox.append((machine, None))
            if not self._feeding:
                self._drain_inbox()
        return machine

    def deliver(self, token: Token, given: Input) -> None:
        """Give an input to the workflow instance that a token names."""
        self.feed(self.machine(token.component, token.instance, ComponentKind.WORKFLOW), given)

    async def kind_of(self, component: str, instance: str) -> ComponentKind | None:
        """The component's kind: as declared, or as the instance's journal says."""
        kind = self.kinds.get(component)
        if kind is None:
            last = await self.journal.last(component, instance)
            if last is not None:
                record = decode_record(last.row.record)
                kind = ComponentKind.WORKFLOW if isinstance(record, WorkflowRecord) else ComponentKind.EVENT_SOURCED_ENTITY
                self.kinds[component] = kind
        return kind

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(self, request: Request, answer: Answer) -> int:
        """Make a call; `answer` gets its result, once, perhaps at once. The number is for `drop`."""
        call = self.callers.add(answer, request)
        self._admit(call, request, self.clock.now() + self.settings.attach_wait)
        return call

    def drop(self, call: int) -> None:
        """Nobody waits for that call any more: what has not begun is not begun."""
        request = self.callers.drop(call)
        if request is None:
            return
        machine = self.machines.get((request.component, request.instance))
        if machine is not None:
            self.feed(machine, CallDropped(call))

    def _admit(self, call: int, request: Request, wait_until: int) -> None:
        refusal = self._refusal(request)
        if refusal is not None:
            self.callers.answer(call, refusal)
            return
        component, name = request.component, request.handler
        if name in (LIFECYCLE, AWAIT):
            asked = LifecycleAsked(call) if name == LIFECYCLE else EndAsked(call)
            self.feed(self.machine(component, request.instance, self.kinds[component]), asked)
            return
        known, handler = self.dispatcher.handler(component, name)
        if not known and not self.dispatcher.attached:
            # Nobody is attached at all: a process may be about to come (W13).
            self._early.append((wait_until, call, request))
            return
        error = self._handler_refusal(request, known, handler)
        if error is not None or handler is None:
            self.callers.answer(call, error or unavailable(component))
            return
        made = CallMade(
            call,
            name,
            request.input,
            handler.read_only,
            self.clock.now() + request.timeout,
            request.metadata,
            request.chain,
            request.key,
            request.trace,
        )
        self.feed(self.machine(component, request.instance, self.kinds[component]), made)

    def _refusal(self, request: Request) -> Error | None:
        if self.stopping:
            return Error(ErrorCode.UNAVAILABLE, "this sidecar is stopping; nothing was done, try again")
        try:
            check_instance_id(request.instance)
        except InvalidId as error:
            return Error(ErrorCode.BAD_REQUEST, str(error))
        if request.input is not None and len(request.input.data) > self.settings.max_payload:
            text = f"the input has {len(request.input.data):,} bytes; at most {self.settings.max_payload:,} are taken (max-payload)"
            return Error(ErrorCode.TOO_LARGE, text, {"limit": self.settings.max_payload})
        if request.handler in (LIFECYCLE, AWAIT):
            return None if request.component in self.kinds else self._unknown(request.component)
        if request.handler.startswith(RESERVED_PREFIX):
            return Error(ErrorCode.NOT_FOUND, f"there is no '{request.handler}': names beginning with {RESERVED_PREFIX} are the engine's own")
        attempt = request.attempt
        if attempt is not None:
            caller = self.machines.get((attempt.component, attempt.instance))
            if not isinstance(caller, WorkflowInstance) or not caller.may_call(attempt):
                return Error(ErrorCode.CONFLICT, f"the attempt that makes this call is over: {attempt}; nothing was done")
        return None

    def _unknown(self, component: str) -> Error:
        attached = self.dispatcher.attached
        if not attached:
            return unavailable(component)
        return Error(ErrorCode.NOT_FOUND, f"there is no component '{component}'; attached are: {', '.join(declared_by(attached)) or 'none'}")

    def _handler_refusal(self, request: Request, known: bool, handler: Any) -> Error | None:
        if not known:
            return self._unknown(request.component)
        kind = self.kinds[request.component]
        if request.kind is not None and request.kind != kind:
            return Error(
                ErrorCode.BAD_REQUEST, f"'{request.component}' is a {kind}, not a {request.kind}; use the client's for_{kind.replace('-', '_')}"
            )
        if handler is None:
            names = sorted({name for process in self.dispatcher.attached for component, name in process.handlers if component == request.component})
            text = f"'{request.component}' has no handler '{request.handler}'; it has: {', '.join(names) or 'none'}"
            return Error(ErrorCode.NOT_FOUND, text)
        if request.read_only and not handler.read_only:
            return Error(ErrorCode.BAD_REQUEST, f"'{request.handler}' is a command, and a query was asked for")
        return None

    def readmit(self) -> None:
        """A process is attached: calls that waited for one are looked at again."""
        early, self._early = self._early, []
        for wait_until, call, request in early:
            if call in self.callers:
                self._admit(call, request, wait_until)

    def expire_early(self, now: int) -> None:
        """Calls that waited `attach_wait` for any process get `UNAVAILABLE`."""
        while self._early and self._early[0][0] <= now:
            _, call, request = self._early.pop(0)
            self.callers.answer(call, unavailable(request.component))

    async def stop(self) -> None:
        """Finish what the journal is at; whoever still waits for a reply is told."""
        self.stopping = True
        await self.writer.stop()
        await self.performer.stop()
        self.timers.stop()
        self.callers.answer_all(
            Error(ErrorCode.UNAVAILABLE, "this sidecar has stopped; whether the call was done is unknown", {"outcome": "unknown"})
        )

    async def learn_kind(self, component: str, instance: str) -> None:
        """Look an unattached component's kind up, so that its lifecycle can be answered without a process."""
        try:
            await self.kind_of(component, instance)
        except (JournalUnavailable, ValueError) as error:
            log.warning("the kind of %s is not known: %s", component, error)
