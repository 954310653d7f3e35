"""The thread that owns the writing connection: whatever queued up during one commit is the next transaction.

     loop ──append, work──► inbox ──► take a group ──► BEGIN · lazy · items · works ──► COMMIT ──► results, one wake-up
                                                          │ any error                       │ any error
                                                          ▼                                 ▼
                                                  ROLLBACK: unavailable       close, reopen, settle: uncertain

A commit whose sync failed may or may not be on the disk, so what the new connection sees is settled first: it is made
durable, or the journal stays unavailable until it could be.
"""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ankka_sidecar.adapters.journal.sqlite.connections import connect_writer, settle
from ankka_sidecar.adapters.journal.sqlite.failures import advice_for, unavailable
from ankka_sidecar.adapters.journal.sqlite.group import Lazy, store_group
from ankka_sidecar.adapters.journal.sqlite.inbox import Inbox, Result, deliver
from ankka_sidecar.adapters.journal.sqlite.laziness import Laziness
from ankka_sidecar.ports.journal import MAX_ITEMS, Item, JournalUncertain, Outcome

_HEAL_SECONDS: Final = 1.0
"""How often a file that could not be opened again is tried."""

log = logging.getLogger("ankka.sidecar.journal")


@dataclass(frozen=True, slots=True)
class Append:
    """Items to store."""

    items: Sequence[Item]
    future: asyncio.Future[list[Outcome]]


@dataclass(frozen=True, slots=True)
class Work:
    """Something else to write, in the transaction of a group; `committed` is called with its result once it is durable."""

    run: Callable[[sqlite3.Connection], Any]
    future: asyncio.Future[Any]
    committed: Callable[[Any], None] | None = None


class Writer:
    """Owns the connection that writes, and knows which epochs are this node's.

    The file's lock keeps every other sidecar out, so the epochs the leases took are right without asking the database.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop, point: Callable[[str], None]) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = connection
        self._loop = loop
        self._point = point
        self._inbox: Inbox[Append | Work] = Inbox()
        self._laziness = Laziness()
        self._thread = threading.Thread(target=self._run, name="ankka-journal-writer", daemon=True)
        self._unsettled = False
        self.epochs: dict[int, int] = {}
        """This node's shards; changed only by a `Work` that has committed."""
        self.broken: str | None = None
        """Why nothing can be read or written until the connection could be opened again."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put(self, job: Append | Work) -> None:
        """Ask for `job`; its future is resolved on the loop."""
        self._inbox.put(job)

    def close(self) -> None:
        """Do what was asked for, write what waits, and close the connection. Blocks until that is done."""
        self._inbox.close()
        self._thread.join()

    # --- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not (self._inbox.closing and not self._inbox.jobs):
            self._inbox.receive(self._laziness.seconds_left() if self._connection is not None else _HEAL_SECONDS)
            self._heal()
            lazy = self._laziness.due()
            if self._inbox.jobs or lazy:
                self._commit(self._take_group(), lazy)
        while (lazy := self._laziness.due(everything=True)) and self._commit([], lazy):
            pass
        if self._connection is not None:
            self._connection.close()

    def _take_group(self) -> list[Append | Work]:
        """The next jobs that may share a transaction: up to 256 items, one per instance, in the order asked for."""
        jobs = self._inbox.jobs
        group: list[Append | Work] = []
        instances: set[tuple[str, str]] = set()
        while jobs:
            job = jobs[0]
            if isinstance(job, Append):
                added = {(item.row.component, item.row.instance) for item in job.items}
                if group and (len(instances) + len(added) > MAX_ITEMS or not instances.isdisjoint(added)):
                    break
                instances |= added
            group.append(jobs.popleft())
        return group

    def _commit(self, group: list[Append | Work], lazy: list[Lazy]) -> bool:
        """Run one transaction and tell everyone what became of it; false if it failed."""
        try:
            connection = self._open()
        except sqlite3.Error as error:
            return self._failed(group, unavailable(self._path, error))
        try:
            connection.execute("BEGIN IMMEDIATE")
            results, items = self._perform(connection, group, lazy)
            self._point("commit.before")
        except Exception as error:
            self._roll_back(connection)
            return self._failed(group, unavailable(self._path, error))
        try:
            connection.execute("COMMIT")
            self._point("commit.after")
        except Exception as error:
            self._reopen(connection)
            return self._failed(group, JournalUncertain(f"journal {self._path}: the fate of a commit is unknown: {advice_for(error)}"))
        self._laziness.written(lazy)
        for item in items:
            self._laziness.note(item)
        for job, (_, result) in zip(group, results, strict=True):
            if isinstance(job, Work) and job.committed is not None:
                job.committed(result)
        deliver(self._loop, results)
        return True

    def _perform(self, connection: sqlite3.Connection, group: list[Append | Work], lazy: list[Lazy]) -> tuple[list[Result], list[Item]]:
        """Do the group's jobs in the open transaction: each job's result, and the items that are stored."""
        items = [item for job in group if isinstance(job, Append) for item in job.items]
        outcomes = store_group(connection, items, lazy, self.epochs, self._point)
        results: list[Result] = []
        taken = 0
        for job in group:
            if isinstance(job, Append):
                results.append((job.future, outcomes[taken : taken + len(job.items)]))
                taken += len(job.items)
            else:
                results.append((job.future, job.run(connection)))
        return results, [item for item, outcome in zip(items, outcomes, strict=True) if outcome is Outcome.STORED]

    def _failed(self, group: list[Append | Work], error: Exception) -> bool:
        self._laziness.postpone()
        if not group:
            log.warning("%s", error)
        deliver(self._loop, [(job.future, error) for job in group])
        return False

    # --- the connection --------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = connect_writer(self._path)
            if self._unsettled:
                try:
                    settle(connection)
                except BaseException:
                    connection.close()
                    raise
            self._unsettled = False
            self.broken = None
            self._connection = connection
        return self._connection

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            log.warning("journal %s: a rollback failed, opening the file again: %s", self._path, error)
            self._reopen(connection)

    def _reopen(self, connection: sqlite3.Connection) -> None:
        self._connection = None
        self._unsettled = True
        self.broken = "it is being opened again"
        connection.close()
        self._heal()

    def _heal(self) -> None:
        if self._connection is not None:
            return
        try:
            self._open()
        except sqlite3.Error as error:
            self.broken = advice_for(error)
            log.error("journal %s cannot be opened again: %s", self._path, self.broken)
