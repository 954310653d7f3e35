"""What a node does when it has started: every live instance is brought back, and pending attempts are settled.

A pending attempt is taken as having been sent (W11). It goes on if its process comes back with it; it is sent again,
as the next attempt, as soon as every process of the last incarnation is back or known dead, else after the grace time.
"""

from __future__ import annotations

import asyncio
import logging

from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.spec import ComponentKind
from ankka_sidecar.core.inputs import AttemptLost, Woke
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.workflow_instance import WorkflowInstance
from ankka_sidecar.ports.journal import JournalUnavailable, Query
from ankka_sidecar.ports.leases import AttachedProcess
from ankka_sidecar.runtime.attachments import Attachments
from ankka_sidecar.runtime.node import Node
from ankka_sidecar.runtime.processes import Liveness

log = logging.getLogger("ankka.sidecar.recovery")

PAGE = 1_000
LOOK = 0.05
"""Seconds between two looks at the processes of the last incarnation."""
RETRY = 1.0
"""Seconds until a journal that could not be read is asked again."""


class Recovery:
    """See the module."""

    def __init__(self, node: Node, attachments: Attachments, liveness: Liveness, processes: tuple[AttachedProcess, ...]) -> None:
        self._node = node
        self._attachments = attachments
        self._liveness = liveness
        self._unknown: set[Instance] = set()
        """Machines whose lost attempt cannot be judged before a process has said what settings apply."""
        attachments.attached = self._attached
        attachments.expected.update({process.boot: process for process in processes})
        self._reason = "the sidecar was restarted"
        self.settled = not processes
        self.resumed = 0

    async def run(self) -> None:
        """Bring back what is live, and settle pending attempts; then remove what a crash kept from being removed."""
        await asyncio.gather(self._bring_back(), self._settle())
        try:
            pruned = PAGE
            while pruned == PAGE:
                pruned = await self._node.journal.prune_leftovers(PAGE)
        except JournalUnavailable as error:
            log.warning("rows of deleted instances stay until the next start: %s", error)

    async def _bring_back(self) -> None:
        after: str | None = None
        while True:
            try:
                page = await self._node.journal.find(Query(status=str(LifecycleStatus.RUNNING), limit=PAGE, after=after))
            except JournalUnavailable as error:
                log.error("cannot list what is to be resumed: %s", error)
                await asyncio.sleep(RETRY)
                continue
            for found in page.items:
                self._node.kinds.setdefault(found.component, ComponentKind.WORKFLOW)
                machine = self._node.machine(found.component, found.instance, ComponentKind.WORKFLOW)
                self._node.feed(machine, Woke())
                self.resumed += 1
                if self.resumed % 100 == 0:
                    # At most recovery_rate a second, and live calls in between.
                    await asyncio.sleep(100 / self._node.settings.recovery_rate)
            after = page.next
            if after is None:
                break
        if self.resumed:
            log.info("resumed %d running instances", self.resumed)

    async def _settle(self) -> None:
        until = self._node.clock.now() + self._node.settings.machine.cancel_grace
        reason = "its process died" if self._attachments.expected else self._reason
        while not self.settled:
            for boot, process in list(self._attachments.expected.items()):
                if self._liveness.is_dead(process):
                    del self._attachments.expected[boot]
            if not self._attachments.expected:
                break
            if self._node.clock.now() >= until:
                reason = "its process did not come back"
                break
            await asyncio.sleep(LOOK)
        self._attachments.expected.clear()
        self.settled = True
        self._reason = reason
        for machine in list(self._node.machines.values()):
            self.look_at(machine)

    def look_at(self, machine: Instance) -> None:
        """Once settled, no attempt of an earlier incarnation can be under way any more."""
        if not self.settled or not isinstance(machine, WorkflowInstance) or machine.suspect is None:
            return
        if self._node.dispatcher.has(machine.suspect):
            return  # its machine broke, not its process: the answer comes, or the process goes
        spec = self._node.dispatcher.spec_of(machine.component)
        pending = machine.record.pending
        if spec is None and pending is not None and pending.sent:
            # It may run once only: its interruption is a fault, and what follows is for its settings to say (W17).
            self._unknown.add(machine)
            return
        self._node.feed(machine, AttemptLost(machine.suspect, self._reason, spec))

    def _attached(self) -> None:
        waiting, self._unknown = self._unknown, set()
        for machine in waiting:
            self.look_at(machine)
