"""The node: every resident machine, the loop that feeds them, and how calls come in.

One input at a time goes into a machine; what it asks for is performed before the next input of any machine is taken.
Nothing here decides: the core does.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable

from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import StepStopped
from ankka.protocol.spec import ComponentKind
from ankka_sidecar.core.entity_instance import EntityInstance
from ankka_sidecar.core.inputs import (
    AttemptAdopted,
    AttemptLost,
    CallDropped,
    CallMade,
    CallWithdrawn,
    EndAsked,
    Input,
    LifecycleAsked,
    OperatorAsked,
    StepAnswered,
    Woke,
)
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.journalling import Phase
from ankka_sidecar.core.key_value_instance import KeyValueInstance
from ankka_sidecar.core.records import decode_record
from ankka_sidecar.core.records import kind_of as kind_of_record
from ankka_sidecar.core.settings import Settings
from ankka_sidecar.core.sharding import shard_of
from ankka_sidecar.core.workflow_instance import WorkflowInstance
from ankka_sidecar.ports.clock import Clock
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import Journal, JournalUnavailable
from ankka_sidecar.runtime.admission import AWAIT, ENGINES_OWN, LIFECYCLE, OPERATIONS, Admission
from ankka_sidecar.runtime.callers import Answer, Callers, Request
from ankka_sidecar.runtime.dispatcher import Dispatcher, unavailable
from ankka_sidecar.runtime.dormant import Dormant
from ankka_sidecar.runtime.finder import Finder
from ankka_sidecar.runtime.followers import Followers
from ankka_sidecar.runtime.loader import Loader
from ankka_sidecar.runtime.open_calls import OpenCalls
from ankka_sidecar.runtime.performer import Performer
from ankka_sidecar.runtime.pinned import PinnedAwaits
from ankka_sidecar.runtime.timers import Timers
from ankka_sidecar.runtime.writer import GroupWriter

log = logging.getLogger("ankka.sidecar")

FOR_THE_INSTANCE = (CallMade, LifecycleAsked, EndAsked, OperatorAsked, StepAnswered, AttemptAdopted, AttemptLost)
"""Inputs that are not for a machine but for whoever is the instance's now."""
MACHINES: dict[ComponentKind, type[Instance]] = {made.kind: made for made in (WorkflowInstance, EntityInstance, KeyValueInstance)}
LONGEST_STOP = 60
"""Seconds after which at most an instance whose machine broke begins anew."""
STOPPED = Error(ErrorCode.TIMEOUT, "this sidecar has stopped; whether the call was done is unknown", {"outcome": "unknown"})
STOPPING = Error(ErrorCode.UNAVAILABLE, "this sidecar is stopping; nothing was done, try again")

Key = tuple[str, str]


class Node:
    """See the module."""

    def __init__(self, journal: Journal, clock: Clock, faults: Faults, settings: Settings) -> None:
        self.journal = journal
        self.clock = clock
        self.faults = faults
        self.settings = settings
        self.callers = Callers(self._answered)
        self.open_calls = OpenCalls(self.deliver, self._withdraw)
        self.timers = Timers(clock, self._wake)
        self.dispatcher = Dispatcher(clock, faults, self.feed, settings.machine.handler_timeout)
        self.dispatcher.broke = self._stop_instance
        self.followers = Followers()
        self.pinned = PinnedAwaits(self)
        self.writer = GroupWriter(journal, faults, self._written)
        self.loader = Loader(journal, self.feed, self.dispatcher.spec_of)
        self.loader.loaded = self._loaded
        self.finder = Finder(journal, faults, self.feed)
        self.performer = Performer(
            journal=journal, faults=faults, dispatcher=self.dispatcher, writer=self.writer, loader=self.loader,
            finder=self.finder, timers=self.timers,
            callers=self.callers, forget=self._forget,
            replaced=self.open_calls.withdraw,
            open_calls=self.open_calls.of,
            feed=self.feed,
        )  # fmt: skip
        self.machines: dict[Key, Instance] = {}
        self.dormant = Dormant(settings.max_resident, settings.dormant_for)
        self.kinds: dict[str, ComponentKind] = {}
        self.admission = Admission(self.dispatcher, self.kinds, self.machines, settings)
        self.stopping = False
        self.on_loaded: Callable[[Instance], None] = _nothing
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
                if machine.phase is Phase.GONE and given is not None:
                    self._feed_again(machine, given)
                    continue
                try:
                    actions = machine.start(now()) if given is None else machine.handle(given, now())
                    for action in actions:
                        perform(machine, action)
                except Exception as error:
                    self._stop_instance(machine, given, error)
        finally:
            self._feeding = False

    def _feed_again(self, gone: Instance, given: Input) -> None:
        """The machine left while this input was on its way: whoever needs an instance gets a new one."""
        if isinstance(given, FOR_THE_INSTANCE):
            self._inbox.append((self.machine(gone.component, gone.instance, gone.kind), given))

    def _written(self, machine: Instance, given: Input) -> None:
        """What became of a machine's append."""
        self.feed(machine, given)
        if self.followers.instances:
            self.followers.wake(machine.component, machine.instance)

    def _loaded(self, machine: Instance) -> None:
        """A machine has been loaded: its attempt may be suspect, and calls of its attempt may have waited for it."""
        self.on_loaded(machine)
        self.followers.wake(machine.component, machine.instance)  # an append whose fate was unknown may be there
        if self._early:
            self.readmit()

    def _stop_instance(self, machine: Instance, given: Input | None, broke: Exception) -> None:
        """An invariant broke: that instance stops, not the node. It begins anew as its journal has it, later each time."""
        where = f"{machine.component}/{machine.instance}"
        log.critical("%s stops, please report this: it broke on %s", where, type(given).__name__, exc_info=broke)
        self.timers.disarm(machine)
        machine.phase = Phase.GONE  # what was on its way to it is not for it any more
        key = (machine.component, machine.instance)
        if self.machines.get(key) is machine:
            del self.machines[key]  # and what it knew is not kept: it is not to be believed
        text = f"{where} met a bug of the engine and stopped; the sidecar's log says which, please report it"
        error = Error(ErrorCode.INTERNAL, text, {"outcome": "unknown"})
        for call in self.callers.of(machine.component, machine.instance):
            self.callers.answer(call, error)
        self.loader.broken[key] = times = self.loader.broken.get(key, 0) + 1
        delay = min(2 ** (times - 1), LONGEST_STOP)
        asyncio.get_running_loop().call_later(delay, self._begin_anew, *key, machine.kind)

    def _begin_anew(self, component: str, instance: str, kind: ComponentKind) -> None:
        if not self.stopping:
            self.feed(self.machine(component, instance, kind), Woke())

    def _wake(self, machine: Instance) -> None:
        self.feed(machine, Woke())

    def _forget(self, machine: Instance) -> None:
        key = (machine.component, machine.instance)
        if self.machines.get(key) is machine:
            del self.machines[key]
            kept = machine.kept()
            if kept is not None:
                self.dormant.put(key, kept)

    # --- machines --------------------------------------------------------------------------------------------------

    def machine(self, component: str, instance: str, kind: ComponentKind) -> Instance:
        """The instance's machine, made and loading if it is not resident."""
        machine = self.machines.get((component, instance))
        if machine is None:
            machine = MACHINES[kind](component, instance, self.settings.machine, random.getrandbits(62))
            machine.shard = shard_of(component, instance, self.settings.shards)
            self.machines[component, instance] = machine
            known = self.dormant.take((component, instance))
            if known is not None:
                machine.expect(self.clock.now())
            self._inbox.append((machine, known))
            if not self._feeding:
                self._drain_inbox()
        return machine

    def deliver(self, token: Token, given: Input) -> None:
        """Give an input to the workflow instance that a token names."""
        if self.kinds.get(token.component, ComponentKind.WORKFLOW) is not ComponentKind.WORKFLOW:
            log.warning("an attempt of %s, which is no workflow: dropped", token)
            return
        self.feed(self.machine(token.component, token.instance, ComponentKind.WORKFLOW), given)

    def attempt_ended(self, token: Token, given: StepAnswered | AttemptLost) -> None:
        """An attempt has answered, stopped or is lost.

        What counts is taken at once; where a successor would start, it waits for the calls that are still under way.
        """
        calls = self.open_calls
        if not calls.of(token):
            self.deliver(token, given)
            return
        calls.withdraw(token)
        machine = self.machines.get((token.component, token.instance))
        is_result = isinstance(given, StepAnswered) and not isinstance(given.answer, StepStopped)
        if is_result and isinstance(machine, WorkflowInstance) and machine.may_call(token):
            self.deliver(token, given)
        else:
            calls.after(token, given, self.clock.now() + self.settings.machine.cancel_grace)

    async def kind_of(self, component: str, instance: str) -> ComponentKind | None:
        """The component's kind: as declared, or as the instance's journal says."""
        kind = self.kinds.get(component)
        if kind is None:
            last = await self.journal.last(component, instance)
            if last is not None:
                kind = self.kinds[component] = kind_of_record(decode_record(last.row.record))
        return kind

    # --- calls -----------------------------------------------------------------------------------------------------

    def call(self, request: Request, answer: Answer) -> int:
        """Make a call; `answer` gets its result, once, perhaps at once. The number is for `drop`."""
        call = self.callers.add(answer, request)
        if request.attempt is not None:
            self.open_calls.begun(request.attempt, call, f"{request.component}/{request.instance} {request.handler}")
        self._admit(call, request, self.clock.now() + self.settings.attach_wait)
        return call

    def drop(self, call: int) -> None:
        """Nobody waits for that call any more: what has not begun is not begun."""
        request = self.callers.request_of(call)
        if request is None:
            return
        if request.attempt is not None:
            # Its attempt is not over before it: it is withdrawn if it has not begun, and awaited if it has.
            self.callers.mute(call)
            self._withdraw(call)
            return
        self.callers.drop(call)
        machine = self.machines.get((request.component, request.instance))
        if machine is not None:
            self.feed(machine, CallDropped(call))

    def _withdraw(self, call: int) -> None:
        """The attempt that made that call was replaced: the call is refused if it has not begun."""
        request = self.callers.request_of(call)
        if request is None:
            return
        error = Error(ErrorCode.CONFLICT, f"the attempt that makes this call is over ({request.attempt}); nothing was done")
        machine = self.machines.get((request.component, request.instance))
        if machine is not None:
            self.feed(machine, CallWithdrawn(call, error))
        else:
            self.callers.answer(call, error)

    def _answered(self, call: int, request: Request) -> None:
        if request.attempt is not None:
            self.open_calls.ended(request.attempt, call)

    def _admit(self, call: int, request: Request, wait_until: int) -> None:
        refusal = STOPPING if self.stopping else self.admission.refusal(request)
        if refusal is not None:
            self.callers.answer(call, refusal)
            return
        if self.admission.must_wait(request):
            self._early.append((wait_until, call, request))
            return
        component, name = request.component, request.handler
        if name == AWAIT and request.input is not None:
            self.pinned.ask(call, request)
            return
        if name in ENGINES_OWN:
            self.feed(self.machine(component, request.instance, self.kinds[component]), self._asked(call, request))
            return
        handler = self.admission.handler(request)
        if handler is None:
            self._early.append((wait_until, call, request))
            return
        if isinstance(handler, Error):
            self.callers.answer(call, handler)
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
            request.fresh,
        )
        self.feed(self.machine(component, request.instance, self.kinds[component]), made)

    def _asked(self, call: int, request: Request) -> Input:
        """What the engine itself is asked of an instance."""
        if request.handler == LIFECYCLE:
            return LifecycleAsked(call)
        if request.handler == AWAIT:
            return EndAsked(call)
        spec = self.dispatcher.spec_of(request.component)
        who, why = request.metadata.get("by", "unknown"), request.metadata.get("reason", "")
        return OperatorAsked(call, OPERATIONS[request.handler], who, why, spec.cancel_to if spec is not None else None)

    def readmit(self) -> None:
        """A process is attached: calls that waited for one are looked at again."""
        early, self._early = self._early, []
        for wait_until, call, request in early:
            if call in self.callers:
                self._admit(call, request, wait_until)

    def expire(self, now: int) -> None:
        """Calls that waited `attach_wait` for a process get `UNAVAILABLE`; ended attempts wait no longer for their calls."""
        late = [waiting for waiting in self._early if waiting[0] <= now]
        if late:
            self._early = [waiting for waiting in self._early if waiting[0] > now]
        for _, call, request in late:
            self.callers.answer(call, unavailable(request.component, self.settings.attach_wait))
        self.open_calls.expire(now)

    async def stop(self) -> None:
        """Finish what the journal is at; whoever still waits for a reply is told."""
        self.stopping = True
        await self.writer.stop()
        await self.performer.stop()
        self.timers.stop()
        self.tell_callers()

    def tell_callers(self) -> None:
        """Whoever still waits for a reply is told that none will come: the node stops.

        A call that waits for a process, and one that only looks or waits, did nothing; of any other it is unknown.
        """
        not_begun = {call for _, call, _ in self._early}
        for call, request in self.callers.under_way():
            looks = request.read_only or request.handler in (LIFECYCLE, AWAIT)
            self.callers.answer(call, STOPPING if looks or call in not_begun else STOPPED)
        self.followers.end()

    async def learn_kind(self, component: str, instance: str) -> None:
        """Look an unattached component's kind up, so that its lifecycle can be answered without a process."""
        try:
            await self.kind_of(component, instance)
        except (JournalUnavailable, ValueError) as error:
            log.warning("the kind of %s is not known: %s", component, error)


def _nothing(machine: Instance) -> None:
    """Nobody looks at what was loaded."""
