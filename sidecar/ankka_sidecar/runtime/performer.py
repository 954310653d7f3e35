"""Does what a machine asks for: each action becomes a call on a port, whose result is fed back as an input."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.frames import StepAck
from ankka.protocol.wire import encode_value
from ankka_sidecar.core import actions
from ankka_sidecar.core.events import Deleted, Failed, FailedOver, Interrupted, Retried, decode_event, name_of
from ankka_sidecar.core.inputs import CallsFound, Input, StateRead
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.records import EntityRecord, WorkflowRecord
from ankka_sidecar.core.workflow import deadline
from ankka_sidecar.ports.faults import Faults
from ankka_sidecar.ports.journal import Item, Journal, JournalUnavailable, Listing, Row, Snapshot
from ankka_sidecar.runtime.callers import Callers
from ankka_sidecar.runtime.dispatcher import Dispatcher
from ankka_sidecar.runtime.finder import Finder
from ankka_sidecar.runtime.loader import Loader, state_of
from ankka_sidecar.runtime.processes import Process
from ankka_sidecar.runtime.timers import Timers
from ankka_sidecar.runtime.writer import GroupWriter

log = logging.getLogger("ankka.sidecar")

PRUNE_CHUNK = 1_000
CALLS = 10_000
"""Calls of one visit that are compared at most."""


class Performer:
    """See the module."""

    def __init__(
        self, *, journal: Journal, faults: Faults, dispatcher: Dispatcher, writer: GroupWriter, loader: Loader,
        finder: Finder, timers: Timers, callers: Callers,
        feed: Callable[[Instance, Input], None],
        forget: Callable[[Instance], None],
        replaced: Callable[[Token], None],
        open_calls: Callable[[Token], tuple[str, ...]],
    ) -> None:  # fmt: skip
        self._journal = journal
        self._faults = faults
        self._dispatcher = dispatcher
        self._writer = writer
        self._timers = timers
        self._callers = callers
        self._loader = loader
        self._feed = feed
        self._forget = forget
        self._replaced = replaced
        self._open_calls = open_calls
        self.epochs: dict[int, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._answered_by: dict[Token, Process] = {}
        self._do: dict[type[actions.Action], Callable[[Instance, Any], None]] = {
            actions.Load: self._load,
            actions.AskHandler: dispatcher.submit,
            actions.AskFold: dispatcher.submit,
            actions.AskMerge: dispatcher.submit,
            actions.AskFingerprint: dispatcher.submit,
            actions.FindReply: finder.put,
            actions.FindCalls: self._find_calls,
            actions.ReadState: self._read_state,
            actions.CancelAsk: self._cancel_ask,
            actions.RunStep: dispatcher.submit,
            actions.CancelStep: self._cancel_step,
            actions.AbandonStep: self._abandon_step,
            actions.AckStep: self._ack,
            actions.Append: self._append,
            actions.PutSnapshot: self._put_snapshot,
            actions.Reply: self._reply,
            actions.WakeAt: self._wake_at,
            actions.Passivate: self._passivate,
            actions.Prune: self._prune,
            actions.Trim: self._trim,
            actions.Report: self._report,
        }

    def perform(self, machine: Instance, action: actions.Action) -> None:
        """Do one action."""
        self._do[type(action)](machine, action)

    def answered_by(self, token: Token, process: Process) -> None:
        """That process answered the attempt, and is to hear what became of it."""
        self._answered_by[token] = process

    async def stop(self) -> None:
        """Wait for what reads or writes in the background."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- the journal -----------------------------------------------------------------------------------------------

    def _append(self, machine: Instance, action: actions.Append) -> None:
        state, record, event = action.state, action.record, action.event
        if action.replaces is not None:
            unknown = self._open_calls(action.replaces)
            if unknown and isinstance(event, (Retried, FailedOver, Interrupted, Failed)):
                event = msgspec.structs.replace(event, unknown=unknown)
        row = Row(
            component=machine.component,
            instance=machine.instance,
            generation=action.generation,
            sequence=action.sequence,
            effect=action.effect,
            at=event.at,
            shard=machine.shard,
            epoch=self.epochs[machine.shard],
            type=name_of(event),
            event=encode_value(event),
            record=encode_value(record),
            payload=state.data if state is not None else None,
            content_type=state.content_type if state is not None else "",
            manifest=state.manifest if state is not None else "",
            schema=action.schema,
            trace=action.trace,
            key=action.key,
            fingerprint=action.fingerprint,
            reply=None if action.key is None else encode_value(action.reply),
        )
        listing = listing_of(record, deleted=isinstance(event, Deleted)) if action.listing_changed else None
        self._writer.put(machine, Item(row, listing, step_in(record), action.forgets))

    def _find_calls(self, machine: Instance, action: actions.FindCalls) -> None:
        self._in_background(self._calls_of(machine, action.token))

    async def _calls_of(self, machine: Instance, token: Token) -> None:
        """What the visit had done, in words. Without it the answer still counts: it is for a warning only."""
        try:
            rows = await self._journal.rows_of(keys.of_visit(token), CALLS)
            found = tuple((row.key or b"", f"{row.component}/{row.instance} {by_of(row)}") for row in rows)
        except (JournalUnavailable, ValueError) as error:
            log.warning("the calls of earlier attempts cannot be read: %s: %s", token, error)
            found = ()
        self._feed(machine, CallsFound(token, found))

    def _load(self, machine: Instance, action: actions.Load) -> None:
        self._loader.put(machine, from_the_beginning=action.from_the_beginning)

    def _read_state(self, machine: Instance, action: actions.ReadState) -> None:
        self._in_background(self._state_at(machine, action))

    async def _state_at(self, machine: Instance, action: actions.ReadState) -> None:
        try:
            rows = await self._journal.read(machine.component, machine.instance, (action.generation, action.sequence - 1), 1)
        except JournalUnavailable as error:
            log.error("cannot read %s/%s at %d: %s", machine.component, machine.instance, action.sequence, error)
            rows = []
        row = rows[0] if rows and rows[0].generation == action.generation and rows[0].sequence == action.sequence else None
        self._feed(machine, StateRead(action.sequence, state_of(row)))

    def _put_snapshot(self, machine: Instance, action: actions.PutSnapshot) -> None:
        state = action.state
        snapshot = Snapshot(
            machine.component, machine.instance, action.generation, action.sequence, machine.shard, self.epochs[machine.shard], state.data,
            state.content_type, state.manifest, action.version,
        )  # fmt: skip
        self._in_background(self._snapshot(snapshot))

    async def _snapshot(self, snapshot: Snapshot) -> None:
        self._faults.point("snapshot.before")
        try:
            await self._journal.put_snapshot(snapshot)
        except JournalUnavailable as error:  # a snapshot is a cache: the next one is tried in its time
            log.warning("no snapshot of %s/%s at %d: %s", snapshot.component, snapshot.instance, snapshot.sequence, error)
        self._faults.point("snapshot.after")

    def _prune(self, machine: Instance, action: actions.Prune) -> None:
        self._in_background(self._prune_rows(machine.component, machine.instance, action.generation))

    async def _prune_rows(self, component: str, instance: str, generation: int) -> None:
        self._faults.point("prune.before")
        try:
            pruned = PRUNE_CHUNK
            while pruned == PRUNE_CHUNK:
                pruned = await self._journal.prune(component, instance, generation, PRUNE_CHUNK)
                self._faults.point("prune.after")
        except JournalUnavailable as error:  # the rows of a dead generation do no harm
            log.warning("rows of the deleted %s/%s stay for now: %s", component, instance, error)

    def _trim(self, machine: Instance, action: actions.Trim) -> None:
        self._in_background(self._trim_rows(machine.component, machine.instance, action))

    async def _trim_rows(self, component: str, instance: str, action: actions.Trim) -> None:
        try:
            while await self._journal.trim(component, instance, action.generation, action.after, PRUNE_CHUNK) == PRUNE_CHUNK:
                pass
        except JournalUnavailable as error:  # history that is too long does no harm
            log.warning("old rows of %s/%s stay for now: %s", component, instance, error)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- processes, callers, time ----------------------------------------------------------------------------------

    def _cancel_ask(self, machine: Instance, action: actions.CancelAsk) -> None:
        self._dispatcher.cancel_ask(machine, action.ask)

    def _cancel_step(self, machine: Instance, action: actions.CancelStep) -> None:
        self._dispatcher.cancel_step(action.token)
        self._replaced(action.token)

    def _abandon_step(self, machine: Instance, action: actions.AbandonStep) -> None:
        open_calls = self._open_calls(action.token)
        if open_calls:
            log.warning("%s was abandoned with calls under way: %s", action.token, ", ".join(open_calls))
        self._dispatcher.abandon(action.token)

    def _ack(self, machine: Instance, action: actions.AckStep) -> None:
        process = self._answered_by.pop(action.token, None)
        if process is not None:
            self._faults.point("ack.before-send")
            process.send(StepAck(action.token, action.stale))

    def _reply(self, machine: Instance, action: actions.Reply) -> None:
        self._faults.point("reply.before-send")
        self._callers.answer(action.call, action.result)

    def _wake_at(self, machine: Instance, action: actions.WakeAt) -> None:
        self._timers.arm(machine, action.at)

    def _passivate(self, machine: Instance, action: actions.Passivate) -> None:
        self._timers.disarm(machine)
        self._forget(machine)

    def _report(self, machine: Instance, action: actions.Report) -> None:
        log.log(logging.ERROR if action.level == "error" else logging.WARNING, "%s", action.message)


def by_of(row: Row) -> str:
    """The handler whose effect a row is."""
    return str(getattr(decode_event(row.event), "by", row.type))


def listing_of(record: WorkflowRecord | EntityRecord, *, deleted: bool) -> Listing:
    """What the listing of an instance shows after an effect."""
    if isinstance(record, EntityRecord):
        return Listing("deleted" if deleted else "active", record.expires_at)
    status = "deleted" if deleted else str(record.status)
    return Listing(status, deadline(record), step_in(record), record.failure.message if record.failure else None, record.run)


def step_in(record: WorkflowRecord | EntityRecord) -> str | None:
    """The pending step, if it is a workflow's record and one is pending."""
    if isinstance(record, EntityRecord) or record.pending is None:
        return None
    return record.pending.target.step
