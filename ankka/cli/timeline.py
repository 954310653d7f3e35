"""`ankka show`: the lifecycle of one instance, why it waits, and the timeline of its journal."""

import sys
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any

import msgspec

from ankka.cli.api import Api
from ankka.cli.durations import ago, clock, span
from ankka.cli.failure import Refused
from ankka.cli.finding import find
from ankka.cli.instance import Instance
from ankka.cli.paging import pages
from ankka.cli.shown import console, say, shown, write_json
from ankka.cli.tables import STYLES, print_table
from ankka.protocol.errors import ErrorCode
from ankka.protocol.journal_entry import JournalEntry

DETAIL_MOST = 300
"""Characters of an event's detail; `--json` has all of them."""


class Lifecycle(msgspec.Struct, frozen=True, rename="camel"):
    """What is shown of a lifecycle, a workflow's or an entity's."""

    status: str
    pending_step: str | None = None
    retries: dict[str, int] = {}
    failure: str | None = None
    attempt: int | None = None
    next_attempt_at: datetime | None = None
    paused_until: datetime | None = None
    held: bool = False
    waiting_for: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    run: int | None = None
    sequence: int | None = None


def show(component: str, instance_id: str, sidecar: str | None, *, as_json: bool) -> None:
    """Print what the engine knows of an instance; one of which nothing is journalled fails the command."""
    instance = Instance.named(component, instance_id)
    with Api(find(sidecar)) as api:
        items = _journal(api, instance)
        lifecycle, missing = _lifecycle(api, instance)
    if as_json:
        document = {"component": instance.component, "id": instance.id, "lifecycle": lifecycle, "journal": items}
        write_json(msgspec.json.encode(document), raw=True)
    else:
        _print_lifecycle(instance, None if lifecycle is None else msgspec.json.decode(lifecycle, type=Lifecycle))
        _print_timeline([msgspec.json.decode(item, type=JournalEntry) for item in items])
    if missing is not None:
        say(f"its lifecycle cannot be had now: {missing}")


def _journal(api: Api, instance: Instance) -> list[msgspec.Raw]:
    items: list[msgspec.Raw] = []
    try:
        for page in pages(api, instance.path("ankka:journal"), {}):
            items += page.items
    except Refused as refused:
        if refused.status != HTTPStatus.NOT_FOUND:
            raise
    if not items:
        api.get(instance.path("ankka:lifecycle"))  # where the component itself is unknown, that is what is said
        raise Refused(HTTPStatus.NOT_FOUND.value, ErrorCode.NOT_FOUND, f"nothing is journalled of {instance.component}/{instance.id}")
    return items


def _lifecycle(api: Api, instance: Instance) -> tuple[msgspec.Raw | None, Refused | None]:
    """The lifecycle, or why it cannot be had although there is a journal."""
    try:
        return msgspec.Raw(api.get(instance.path("ankka:lifecycle")).data), None
    except Refused as refused:
        return None, refused


def _print_lifecycle(instance: Instance, lifecycle: Lifecycle | None) -> None:
    lines = [] if lifecycle is None else lines_of(lifecycle)
    status = "" if lifecycle is None else lifecycle.status
    if sys.stdout.isatty():
        from rich.text import Text

        heading = Text.assemble((str(instance), "bold"), "  ", (shown(status), STYLES.get(status, "")))
        console().print(heading, soft_wrap=True)
    else:
        sys.stdout.write(f"{instance}  {shown(status)}".rstrip() + "\n")
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        sys.stdout.write(f"  {name.ljust(width)}  {shown(value)}\n")
    sys.stdout.write("\n")
    sys.stdout.flush()


def lines_of(lifecycle: Lifecycle) -> list[tuple[str, str]]:
    """The lines below the heading, without those that say nothing.

    >>> lines_of(Lifecycle("Running", pending_step="charge", attempt=2, retries={"charge": 1}))
    [('step', 'charge, attempt 2'), ('retries', 'charge 1')]
    """
    attempt = f", attempt {lifecycle.attempt}" if lifecycle.attempt is not None else ""
    instants = (
        ("next attempt", lifecycle.next_attempt_at),
        ("paused until", lifecycle.paused_until),
        ("expires", lifecycle.expires_at),
    )
    past = (("started", lifecycle.started_at), ("updated", lifecycle.updated_at))
    lines = [
        ("waits for", lifecycle.waiting_for or ""),
        ("step", f"{lifecycle.pending_step}{attempt}" if lifecycle.pending_step else ""),
        ("failure", lifecycle.failure or ""),
        ("held", "by an operator: nothing new starts" if lifecycle.held else ""),
        ("retries", ", ".join(f"{step} {count}" for step, count in lifecycle.retries.items())),
        *((name, clock(at) if at else "") for name, at in instants),
        *((name, f"{clock(at)} ({ago(at)})" if at else "") for name, at in past),
        ("run", str(lifecycle.run) if lifecycle.run and lifecycle.run > 1 else ""),
        ("sequence", str(lifecycle.sequence) if lifecycle.sequence else ""),
    ]
    return [(name, value) for name, value in lines if value]


def _print_timeline(items: list[JournalEntry]) -> None:
    runs = len({item.run for item in items}) > 1
    steps = any(item.step is not None for item in items)
    first = items[0].at if items else None
    rows: list[list[str]] = []
    for item in items:
        assert first is not None
        row = [str(item.sequence), f"+{span((item.at - first).total_seconds())}"]
        row += [str(item.run or "")] if runs else []
        row += [item.type]
        row += [item.step or "", str(item.attempt or "")] if steps else []
        rows.append([*row, detail_of(item.detail)])
    headings = ["seq", "time", *(["run"] if runs else []), "event", *(["step", "attempt"] if steps else []), "detail"]
    print_table(headings, rows)


def detail_of(detail: Mapping[str, Any]) -> str:
    """The rest of an event in one line.

    >>> detail_of({"by": "reserve", "to": "charge"}), detail_of({"by": "add", "event": {"type": "ItemAdded"}})
    ('by reserve, to charge', 'by add, event {"type":"ItemAdded"}')
    """
    parts = [f"{name} {value if isinstance(value, str) else msgspec.json.encode(value).decode()}" for name, value in detail.items()]
    text = ", ".join(parts)
    return text if len(text) <= DETAIL_MOST else f"{text[: DETAIL_MOST - 1]}…"
