"""`ankka await`: wait for the end of a workflow's run, with progress on a terminal."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

import msgspec

from ankka.cli.api import Answer, Api
from ankka.cli.calling import print_reply
from ankka.cli.durations import seconds, span
from ankka.cli.failure import CommandFailed, Refused, Unreachable
from ankka.cli.finding import find
from ankka.cli.instance import Instance
from ankka.cli.shown import console, shown
from ankka.protocol.errors import ErrorCode
from ankka.protocol.lifecycle import LifecycleStatus, WorkflowLifecycle

SLICE = 30.0
"""Seconds of one request; on a terminal shorter, because progress is asked for in between."""
SLICE_SHOWN = 0.5
RETRY = 0.3
MARGIN = 10.0


class _Progress(Protocol):
    """A line that changes."""

    def update(self, status: str) -> None: ...


def await_end(component: str, instance_id: str, timeout: str, sidecar: str | None, *, as_json: bool) -> None:
    """Wait until the run has ended and print the end state; a failed run and a timeout fail the command."""
    waiting = _Waiting(Instance.named(component, instance_id), seconds(timeout, "--timeout"), sidecar)
    with _progress(f"{waiting.instance}") as progress:
        answer = waiting.until_end(progress)
    print_reply(answer, as_json=as_json)


class _Waiting:
    """One wait, over as many requests as it takes."""

    def __init__(self, instance: Instance, timeout: float, sidecar: str | None) -> None:
        self.instance = instance
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._sidecar = sidecar
        self._reached = False
        self._seen = WorkflowLifecycle()

    def until_end(self, progress: _Progress | None) -> Answer:
        """The end state. A sidecar that goes away meanwhile may come back in time, at another port too."""
        while True:
            try:
                with Api(find(self._sidecar)) as api:
                    return self._ask(api, progress)
            except CommandFailed as error:
                if not self._may_pass(error):
                    raise
                if progress is not None:
                    progress.update(f"{self.instance}  the sidecar does not answer, still trying")
                time.sleep(RETRY)

    def _may_pass(self, error: CommandFailed) -> bool:
        if not self._reached or self._left() <= 0:
            return False
        return isinstance(error, Unreachable) or not isinstance(error, Refused) or error.code == ErrorCode.UNAVAILABLE

    def _ask(self, api: Api, progress: _Progress | None) -> Answer:
        while True:
            left = self._left()
            part = min(left, SLICE if progress is None else SLICE_SHOWN)
            try:
                return api.get(self.instance.path("ankka:await"), {"timeout": f"{part:.3f}"}, timeout=part + MARGIN)
            except Refused as refused:
                if refused.code != ErrorCode.TIMEOUT:
                    raise
            self._reached = True
            last = self._left() <= 0
            if progress is not None or last:
                self._seen = msgspec.json.decode(api.get(self.instance.path("ankka:lifecycle")).data, type=WorkflowLifecycle)
            if last:
                raise Refused(ErrorCode.TIMEOUT.http_status, ErrorCode.TIMEOUT, self._not_ended())
            if progress is not None:
                progress.update(f"{self.instance}  {state_of(self._seen)}")

    def _left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _not_ended(self) -> str:
        if self._seen.status is LifecycleStatus.NOT_STARTED:
            return f"{self.instance} has not started; after {span(self._timeout)} it was no longer waited for"
        return f"{self.instance} has not ended within {span(self._timeout)}: {state_of(self._seen)}; it goes on (--timeout waits longer)"


def state_of(lifecycle: WorkflowLifecycle) -> str:
    """A workflow's lifecycle in one line.

    >>> state_of(WorkflowLifecycle(LifecycleStatus.RUNNING, step="charge", attempt=2))
    "Running, step 'charge', attempt 2"
    """
    parts = [str(lifecycle.status)]
    if lifecycle.step is not None:
        parts.append(f"step '{shown(lifecycle.step)}'")
    if lifecycle.attempt is not None:
        parts.append(f"attempt {lifecycle.attempt}")
    if lifecycle.waiting_for is not None:
        parts.append(f"waits for {shown(lifecycle.waiting_for)}")
    return ", ".join(parts)


@contextmanager
def _progress(first: str) -> Generator[_Progress | None]:
    """A moving line on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    class Line:
        """Text as it is, cut to one line by Rich."""

        def update(self, status: str) -> None:
            spinner.update(Text(status))

    with console(stderr=True).status(Text(first)) as spinner:
        yield Line()
