"""A thread with a connection that only reads, so that loads never wait for a commit.

Equal questions that queued up while the last were answered are asked in one statement, and all answers of one round
reach the loop with one wake-up.
"""

import asyncio
import itertools
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ankka_sidecar.adapters.journal.sqlite.connections import connect_reader
from ankka_sidecar.adapters.journal.sqlite.failures import ITEM_ERRORS, unavailable
from ankka_sidecar.adapters.journal.sqlite.inbox import Inbox, Result, deliver
from ankka_sidecar.ports.journal import JournalUnavailable

Many = Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]
"""Answers many questions of one kind, in their order."""

_ROUND: Final = 256


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a kind; `answer_many` tells the kind."""

    answer_many: Many
    about: Any
    future: asyncio.Future[Any]


class Reader:
    """Owns a reading connection, opened with the first question."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop, broken: Callable[[], str | None], name: str) -> None:
        """`broken` says why nothing may be read at present: an uncertain commit must be settled before it is seen."""
        self._path = path
        self._loop = loop
        self._broken = broken
        self._inbox: Inbox[Question] = Inbox()
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._started = False

    def ask(self, question: Question) -> None:
        """Ask; the question's future is resolved on the loop. From the loop's thread only."""
        if not self._started:
            self._started = True
            self._thread.start()
        self._inbox.put(question)

    def close(self) -> None:
        """Answer what was asked, then close the connection. Blocks until that is done."""
        self._inbox.close()
        if self._started:
            self._thread.join()

    def _run(self) -> None:
        jobs = self._inbox.jobs
        while not (self._inbox.closing and not jobs):
            self._inbox.receive(None)
            asked = [jobs.popleft() for _ in range(min(_ROUND, len(jobs)))]
            results: list[Result] = []
            # Order among questions means nothing, so those of one kind come together.
            asked.sort(key=lambda question: id(question.answer_many))
            for answer_many, same in itertools.groupby(asked, key=lambda question: question.answer_many):
                questions = list(same)
                answers = self._answer(answer_many, [question.about for question in questions])
                results.extend((question.future, answer) for question, answer in zip(questions, answers, strict=True))
            if results:
                deliver(self._loop, results)
        if self._connection is not None:
            self._connection.close()

    def _answer(self, answer_many: Many, about: Sequence[Any]) -> Sequence[Any]:
        """Answers, or the exceptions to raise instead."""
        broken = self._broken()
        if broken is not None:
            return [JournalUnavailable(f"journal {self._path}: {broken}") for _ in about]
        try:
            if self._connection is None:
                self._connection = connect_reader(self._path)
            return answer_many(self._connection, about)
        except (*ITEM_ERRORS, ValueError) as error:
            # A question that cannot be asked (an id that is no Unicode text) must not spoil the others'.
            if len(about) == 1:
                return [error]
            return [answer for one in about for answer in self._answer(answer_many, [one])]
        except Exception as error:
            self._drop()
            return [unavailable(self._path, error) for _ in about]

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
