"""Awaits that say which run they are about: repeated after a lost connection, they get no other run's end.

The instance is asked for its lifecycle and for its end in one go, so that both are of the same record: the lifecycle says
whether the run is still the one that is awaited. A run that a command led to is looked up by the command's key, and one
of which is known only how long it is awaited by the instants in the journal.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ankka.protocol.awaited import AwaitedRun, decode_awaited, seen_in
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.lifecycle import WorkflowLifecycle
from ankka.protocol.spec import ComponentKind
from ankka_sidecar.core import lifecycle
from ankka_sidecar.core.inputs import CallDropped, EndAsked, LifecycleAsked
from ankka_sidecar.core.records import WorkflowRecord, decode_record
from ankka_sidecar.ports.journal import DELETED, JournalUnavailable, Row
from ankka_sidecar.runtime.admission import LIFECYCLE
from ankka_sidecar.runtime.callers import Request, Result
from ankka_sidecar.runtime.finder import row_left

if TYPE_CHECKING:
    from ankka_sidecar.runtime.node import Node

PAGE = 200

decode_lifecycle = msgspec.json.Decoder(WorkflowLifecycle).decode


class PinnedAwaits:
    """The awaits of a node that name their run."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._looking: set[asyncio.Task[None]] = set()

    def ask(self, call: int, request: Request) -> None:
        """Have the end of the awaited run answered to `call`, or why there will be none."""
        assert request.input is not None
        try:
            awaited = decode_awaited(request.input.data)
        except msgspec.MsgspecError as error:
            self._node.callers.answer(call, Error(ErrorCode.BAD_REQUEST, f"the awaited run cannot be read: {error}"))
            return
        if awaited.key:
            looking = self._look_up(call, request, awaited.key)
        elif awaited.waited:
            looking = self._look_back(call, request, self._node.clock.now() - awaited.waited)
        else:
            self._ask(call, request, awaited)
            return
        task = asyncio.get_running_loop().create_task(looking)
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _look_up(self, call: int, request: Request, key: bytes) -> None:
        try:
            row = await row_left(self._node.journal, request.component, request.instance, key)
            record = None if row is None else decode_record(row.record)
        except (JournalUnavailable, ValueError) as error:
            self._node.callers.answer(call, Error(ErrorCode.UNAVAILABLE, f"which run it is cannot be read now: {error}"))
            return
        if call not in self._node.callers:
            return
        if row is not None and row.type == DELETED:
            self._node.callers.answer(call, _deleted(request))
        elif isinstance(record, WorkflowRecord):
            self._ask(call, request, seen_in(lifecycle.of_workflow(record, None)))
        else:
            self._ask(call, request, None)

    async def _look_back(self, call: int, request: Request, since: int) -> None:
        """The run that was there, or was the next one, at `since`: the last row from before says which."""
        before: Row | None = None
        lived = False
        try:
            after = (0, 0)
            while rows := await self._node.journal.read(request.component, request.instance, after, PAGE):
                older = [row for row in rows if row.at <= since]
                lived = lived or rows[0].generation <= since
                before = older[-1] if older else before
                if len(older) < len(rows):
                    break
                after = (rows[-1].generation, rows[-1].sequence)
            record = WorkflowRecord() if before is None or before.type == DELETED else decode_record(before.record)
        except (JournalUnavailable, ValueError) as error:
            self._node.callers.answer(call, Error(ErrorCode.UNAVAILABLE, f"which run it is cannot be read now: {error}"))
            return
        if call not in self._node.callers:
            return
        if before is None and lived:  # a generation is the instant it began: of this one only the deletion is left
            self._node.callers.answer(call, _deleted(request))
            return
        self._ask(call, request, seen_in(lifecycle.of_workflow(record, None)) if isinstance(record, WorkflowRecord) else None)

    def _ask(self, call: int, request: Request, awaited: AwaitedRun | None) -> None:
        node = self._node
        kind = node.kinds[request.component]
        if awaited is not None and kind is ComponentKind.WORKFLOW:
            asked = Request(request.component, request.instance, LIFECYCLE, None, request.timeout)
            number = node.callers.add(partial(self._checked, call, request, awaited), asked)
            node.feed(node.machine(request.component, request.instance, kind), LifecycleAsked(number))
        if call in node.callers:
            node.feed(node.machine(request.component, request.instance, kind), EndAsked(call))

    def _checked(self, call: int, request: Request, awaited: AwaitedRun, result: Result) -> None:
        if isinstance(result, Error):
            return  # what keeps the lifecycle from being answered is answered to the await as well
        error = _mismatch(request, awaited, seen_in(decode_lifecycle(result.data)))
        if error is None:
            return
        self._node.callers.answer(call, error)
        machine = self._node.machines.get((request.component, request.instance))
        if machine is not None:
            self._node.feed(machine, CallDropped(call))


def _mismatch(request: Request, awaited: AwaitedRun, present: AwaitedRun) -> Error | None:
    """Why the present run is not the one that is awaited."""
    if present.run == awaited.run and awaited.started_at in (None, present.started_at):
        return None
    if present.run <= awaited.run:
        return _deleted(request)
    where = f"{request.component}/{request.instance}"
    text = f"run {awaited.run} of {where} has ended and run {present.run} begun: how it ended is in the journal"
    return Error(ErrorCode.CONFLICT, text)


def _deleted(request: Request) -> Error:
    return Error(ErrorCode.NOT_FOUND, f"{request.component}/{request.instance} was deleted while its end was awaited")
