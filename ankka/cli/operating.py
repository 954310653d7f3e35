"""`ankka pause`, `resume`, `cancel`, `delete`: what an operator does to one instance, or to all that match a filter.

One that is named is done at once. Those that a filter finds are counted first, and asked about; one that is refused
does not stop the rest. Several are under way at a time, so that the journal commits them in groups.
"""

import getpass
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import msgspec
import typer

from ankka.cli.api import Api, Body
from ankka.cli.failure import CommandFailed, Refused
from ankka.cli.finding import find
from ankka.cli.instance import Instance
from ankka.cli.listing import Filter, Item
from ankka.cli.paging import pages
from ankka.cli.shown import console, say, write_json
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import JSON

DONE = {"pause": "paused", "resume": "resumed", "cancel": "cancelled", "delete": "deleted"}
AT_ONCE = 8
"""Requests under way at a time."""
LIVE = frozenset({str(LifecycleStatus.RUNNING), str(LifecycleStatus.PAUSED)})
GONE = "deleted"


class Outcome(msgspec.Struct, frozen=True):
    """What came of one instance, as `--json` prints it; `code` and `detail` say why it was not done."""

    component: str
    id: str
    done: bool
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """What is to be done, why and by whom."""

    name: str
    reason: str

    def do(self, api: Api, instance: Instance) -> Outcome:
        """Have it done to one instance. `Unreachable` goes on up: nothing else would be done either."""
        body = Body(msgspec.json.encode({"reason": self.reason, "by": operator()}), JSON)
        try:
            if self.name == "delete":
                api.delete(instance.root, body)
            else:
                api.post(instance.path(f"ankka:{self.name}"), body)
        except Refused as refused:
            say(f"{instance}: {refused}")
            return Outcome(instance.component, instance.id, False, refused.code, refused.detail)
        return Outcome(instance.component, instance.id, True)

    def concerns(self, status: str) -> bool:
        """Whether an instance of that status is meant where no status is asked for."""
        return status != GONE if self.name == "delete" else status in LIVE


def operate(name: str, instance_id: str | None, wanted: Filter, reason: str, sidecar: str | None, *, yes: bool, as_json: bool) -> None:
    """Do it to the instance, or to all that match; the command fails if any of them was not done."""
    operation = Operation(name, _utf8(reason))
    query = wanted.query()
    if instance_id is not None:
        if len(query) > 1:
            raise typer.BadParameter("an ID names one instance, options find many: give one or the other", param_hint="ID")
        with Api(find(sidecar)) as api:
            outcomes = [operation.do(api, Instance.named(query["component"], instance_id))]
    else:
        with Api(find(sidecar)) as api:
            found = matching(api, operation, query)
            if found and not yes:
                _ask(operation, found)
            outcomes = do_all(api, operation, found)
    _report(operation, outcomes, as_json=as_json, many=instance_id is None)
    if not all(outcome.done for outcome in outcomes):
        raise typer.Exit(1)


def matching(api: Api, operation: Operation, query: dict[str, str]) -> list[Instance]:
    """The instances that match now; without a status, those that the operation can be done to."""
    found: list[Instance] = []
    for page in pages(api, "/v1/instances", query):
        items = [msgspec.json.decode(item, type=Item) for item in page.items]
        found += [Instance(item.component, item.id) for item in items if "status" in query or operation.concerns(item.status)]
    return found


def do_all(api: Api, operation: Operation, found: Sequence[Instance]) -> list[Outcome]:
    """Do it to all of them, a few at a time; what came of each, by id."""
    outcomes: list[Outcome] = []
    waiting: Iterator[Instance] = iter(found)
    running: set[Future[Outcome]] = set()
    with _progress(operation, len(found)) as progress, ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            while True:
                running |= {pool.submit(operation.do, api, instance) for instance in islice(waiting, 2 * AT_ONCE - len(running))}
                if not running:
                    return sorted(outcomes, key=lambda outcome: outcome.id)
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                outcomes += [future.result() for future in ended]
                progress(len(outcomes))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            say(f"stopped after {len(outcomes):,} of {len(found):,}")
            raise


def operator() -> str:
    """Who operates: the name of this machine's user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in containers
        return "unknown"


def _ask(operation: Operation, found: Sequence[Instance]) -> None:
    what = f"{operation.name} {_counted(len(found))} of {found[0].component}"
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"this would {what}; nothing was done, as nobody can be asked here: add --yes", param_hint="--yes")
    if not typer.confirm(f"{what}?", err=True):
        raise CommandFailed("nothing was done")


def _counted(count: int) -> str:
    return "1 instance" if count == 1 else f"{count:,} instances"


def _report(operation: Operation, outcomes: list[Outcome], *, as_json: bool, many: bool) -> None:
    done = [outcome for outcome in outcomes if outcome.done]
    if as_json:
        write_json(msgspec.json.encode(outcomes), raw=True)
    else:
        for outcome in done:
            sys.stdout.write(f"{Instance(outcome.component, outcome.id)}  {DONE[operation.name]}\n")
        sys.stdout.flush()
    if not outcomes:
        say(f"there is nothing to {operation.name}")
    elif many:
        failed = len(outcomes) - len(done)
        say(f"{_counted(len(done))} {DONE[operation.name]}" + (f", {failed:,} not" if failed else ""))


def _utf8(reason: str) -> str:
    try:
        reason.encode()
    except UnicodeEncodeError:
        raise typer.BadParameter(f"{reason!r} is not valid Unicode text", param_hint="--reason") from None
    return reason


@contextmanager
def _progress(operation: Operation, total: int) -> Generator[Callable[[int], None]]:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty() or total <= 1:
        yield _quiet
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(operation.name, total=total)

        def update(done: int) -> None:
            bar.update(task, completed=done)

        yield update


def _quiet(done: int) -> None:
    """Nobody looks."""
