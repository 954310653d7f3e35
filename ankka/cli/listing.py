"""`ankka list`: find instances."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
import typer

from ankka.cli.api import Api
from ankka.cli.durations import ago, check_since, clock
from ankka.cli.finding import find
from ankka.cli.instance import check_name
from ankka.cli.paging import PAGE_MOST, pages
from ankka.cli.shown import on_terminal, say, shown, write_json
from ankka.cli.tables import print_table
from ankka.protocol.lifecycle import LifecycleStatus

STATUSES = (*(str(status) for status in LifecycleStatus), "active", "deleted")
"""Of workflows, then of entities."""


class Item(msgspec.Struct, frozen=True, rename="camel"):
    """What is shown of one instance."""

    component: str
    id: str
    status: str
    step: str | None = None
    failure: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which instances are wanted; `None` is any."""

    component: str | None = None
    status: str | None = None
    step: str | None = None
    since: str | None = None
    failure: str | None = None

    def query(self) -> dict[str, str]:
        """As query parameters, checked; what is wrong with one is bad usage."""
        query: dict[str, str] = {}
        if self.component is not None:
            query["component"] = check_name(self.component, "COMPONENT")
        if self.status is not None:
            query["status"] = status_named(self.status)
        if self.since is not None:
            query["since"] = check_since(self.since)
        for name, text in (("step", self.step), ("failure", self.failure)):
            if text is not None:
                query[name] = _utf8(text, f"--{name}")
        return query


def list_instances(wanted: Filter, limit: int, sidecar: str | None, *, as_json: bool) -> None:
    """Print what matches, at most `limit`; that there is nothing, or more, is said on stderr."""
    query = wanted.query()
    found: list[msgspec.Raw] = []
    more = False
    with Api(find(sidecar)) as api:
        for page in pages(api, "/v1/instances", query, min(limit, PAGE_MOST)):
            found += page.items
            more = len(found) > limit or page.next is not None
            if len(found) >= limit:
                break
    found = found[:limit]
    if as_json:
        write_json(msgspec.json.encode(found), raw=True)
    elif found:
        _print([msgspec.json.decode(item, type=Item) for item in found])
    else:
        say(_nothing(query))
    if more:
        say(f"the first {limit:,} are shown, there are more: --limit takes a larger number")


def status_named(text: str) -> str:
    """The status of that name, in whatever case it is written; else it is bad usage.

    >>> status_named("running")
    'Running'
    """
    for status in STATUSES:
        if status.lower() == text.lower():
            return status
    raise typer.BadParameter(f"{text!r} is none of {', '.join(STATUSES)}", param_hint="--status")


def _print(items: list[Item]) -> None:
    rows: list[list[str]] = []
    people = on_terminal()
    failures = any(item.failure for item in items)
    for item in items:
        updated = "" if item.updated_at is None else ago(item.updated_at) if people else clock(item.updated_at)
        rows.append([item.component, item.id, item.status, item.step or "", updated, *([item.failure or ""] if failures else [])])
    print_table(["component", "id", "status", "step", "updated", *(["failure"] if failures else [])], rows)


def _nothing(query: dict[str, str]) -> str:
    if not query:
        return "there are no instances yet"
    return f"no instance with {', '.join(f'{name} {shown(value)}' for name, value in query.items())}"


def _utf8(text: str, option: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise typer.BadParameter(f"{text!r} is not valid Unicode text", param_hint=option) from None
    return text
