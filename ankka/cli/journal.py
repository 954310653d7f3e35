"""`ankka journal`: tools that work on a journal itself, with or without a sidecar. The one place that reaches them."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ankka.cli.durations import seconds
from ankka.cli.shown import console, on_terminal, shown, write_json

if TYPE_CHECKING:
    from ankka_sidecar.verify import Report, Violation

app: typer.Typer = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Work on a journal itself.")

_UNCLEAN = 1
_WIDTH = 10


@app.callback()
def about() -> None:
    """Work on a journal itself: check it."""  # a group, though it has one command so far


@app.command()
def verify(
    journal: Annotated[
        str, typer.Option("--journal", metavar="URL", envvar="ANKKA_JOURNAL", help="Where the journal is, e.g. sqlite:///.ankka/journal.db.")
    ],
    overdue_after: Annotated[
        str, typer.Option("--overdue-after", metavar="SPAN", help="Warn of deadlines that passed this long ago and led to nothing.")
    ] = "60s",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a journal's invariants, also while a sidecar runs: exit code 0 if they hold, 1 if not."""
    from ankka_sidecar.verify import Bounds, NotAJournal, open_for_reading, run

    bounds = Bounds(now=time.time_ns() // 1_000, overdue_after=int(seconds(overdue_after, "--overdue-after") * 1_000_000))
    try:
        with open_for_reading(journal) as contents, _progress(contents.count) as progress:
            report = run(contents, bounds, progress)
    except NotAJournal as error:
        raise typer.BadParameter(shown(str(error)), param_hint="--journal") from None
    if as_json:
        _print_json(journal, report)
    else:
        _print(journal, report)
    if not report.is_clean:
        raise typer.Exit(_UNCLEAN)


@contextmanager
def _progress(count: Callable[[], int]) -> Generator[Callable[[int], None] | None]:
    """Shows on a terminal how far it is; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("rows checked"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=count())
        yield lambda done: progress.update(task, completed=done)


def _print(journal: str, report: "Report") -> None:
    from ankka_sidecar.verify import INVARIANTS

    people = console() if on_terminal() else None

    def line(text: str, style: str = "") -> None:
        if people is None:
            sys.stdout.write(f"{text}\n")
        else:
            people.print(text, style=style, soft_wrap=True)

    for violation in (*report.warnings, *report.violations):
        _print_violation(violation, line)
    for counts, kept, name in ((report.warning_counts, report.warnings, "warnings"), (report.counts, report.violations, "violations")):
        there = Counter(violation.rule for violation in kept)
        for rule, count in counts.items():
            if count > there[rule]:
                line(f"{rule}: {count - there[rule]:,} more {name} are not shown")
    for rule, title in INVARIANTS.items():
        result, style = _result(rule, report)
        line(f"{rule:{_WIDTH}}{result:24}{title}", style)
    looked_at = f"{report.rows:,} rows of {report.instances:,} instances, {report.snapshots:,} snapshots"
    found = "clean" if report.is_clean else _count(report.counts.total(), "violation")
    line(f"{shown(journal)}: {looked_at}: {found}", "" if report.is_clean else "bold red")
    sys.stdout.flush()


def _print_violation(violation: "Violation", line: Callable[[str, str], None]) -> None:
    kind = "warning" if violation.warning else "violation"
    place = f"  {shown(violation.place)}" if violation.place else ""
    line(f"{violation.rule:{_WIDTH}}{kind}{place}: {shown(violation.what)}", "yellow" if violation.warning else "red")
    for name, text in (("expected", violation.expected), ("found", violation.found), ("do", violation.advice)):
        line(f"{'':{_WIDTH}}{name:10}{shown(text)}", "")


def _result(rule: str, report: "Report") -> tuple[str, str]:
    """How a rule fared, in words, and the words' style."""
    from ankka_sidecar.verify import NOT_IN_A_JOURNAL

    violations, warnings = report.counts[rule], report.warning_counts[rule]
    if violations:
        return _count(violations, "violation"), "red"
    if warnings:
        return _count(warnings, "warning"), "yellow"
    return ("not in a journal", "dim") if rule in NOT_IN_A_JOURNAL else ("ok", "")


def _count(number: int, name: str) -> str:
    return f"1 {name}" if number == 1 else f"{number:,} {name}s"


def _print_json(journal: str, report: "Report") -> None:
    import msgspec
    from ankka_sidecar.verify import INVARIANTS, NOT_IN_A_JOURNAL, ONLY_WARNINGS

    notes = NOT_IN_A_JOURNAL | ONLY_WARNINGS
    invariants: list[dict[str, Any]] = [
        {
            "rule": rule,
            "title": title,
            "checked": rule not in NOT_IN_A_JOURNAL,
            "violations": report.counts[rule],
            "warnings": report.warning_counts[rule],
            "note": notes.get(rule),
        }
        for rule, title in INVARIANTS.items()
    ]
    document: dict[str, Any] = {
        "journal": journal,
        "clean": report.is_clean,
        "rows": report.rows,
        "instances": report.instances,
        "snapshots": report.snapshots,
        "invariants": invariants,
        "violations": report.violations,
        "warnings": report.warnings,
    }
    write_json(msgspec.json.encode(document), raw=False)
