"""The commands and their options; each hands over to a module of its own, which is loaded then."""

import re
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ankka.cli import journal, operators
from ankka.cli.failure import CommandFailed
from ankka.cli.options import AsJson, Component, Failure, InstanceId, Sidecar, Since, Status, Step
from ankka.version import VERSION

app: typer.Typer = typer.Typer(
    name="ankka",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: Rich would take half the start-up time, and `[JSON]` for markup
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(journal.app, name="journal")


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an id that the terminal's encoding lacks is no reason to fail
    try:
        app(args=list(arguments), prog_name="ankka")
    except CommandFailed as error:
        from ankka.cli.shown import say

        say(str(error))
        return 1
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _version(asked: bool) -> None:
    if asked:
        print(f"ankka {VERSION}")
        raise typer.Exit


@app.callback()
def about(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """Durable workflows and entities: develop, run, call and watch them."""
    del version


@app.command()
def dev(
    module: Annotated[str, typer.Argument(metavar="MODULE[:SERVICE]", help="Run as `python -m MODULE`, or imported, and its SERVICE run.")],
    sidecar: Sidecar = None,
) -> None:
    """Run a service and its sidecar; reload the service on change."""
    from ankka.cli.dev.supervisor import develop

    raise typer.Exit(develop(module, sidecar))


@app.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def sidecar(context: typer.Context) -> None:
    """Run a sidecar; its options: `ankka sidecar --help`."""
    from ankka.cli.sidecar import run_sidecar

    raise typer.Exit(run_sidecar(context.args))


class CallCommand(TyperCommand):
    """A command whose input may be a negative number."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep `-5`, after component and id, from being read as an option: JSON does not mind the space before it."""
        padded = [f" {arg}" if re.fullmatch(r"-\d[\d.eE+-]*", arg) else arg for arg in args[2:]]
        return super().parse_args(ctx, args[:2] + padded)


@app.command(cls=CallCommand)
def call(
    component: Component,
    instance_id: InstanceId,
    handler: Annotated[str, typer.Argument(metavar="HANDLER", help="The wire name of a command or query.")],
    given: Annotated[
        str | None,
        typer.Argument(metavar="JSON", help="The input: JSON, or plain text where it is a string; - reads it from stdin.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    sidecar: Sidecar = None,
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", metavar="KEY", help="Of a command: called again with the same key it is done once.", show_default=False),
    ] = None,
) -> None:
    """Call a handler and print its reply."""
    from ankka.cli.calling import call

    call(component, instance_id, handler, given, sidecar, as_json=as_json, key=key)


@app.command("await")
def await_(
    component: Component,
    instance_id: InstanceId,
    timeout: Annotated[str, typer.Option("--timeout", metavar="SPAN", help="How long to wait at most: 30s, 10min, 1h.")] = "30s",
    as_json: AsJson = False,
    sidecar: Sidecar = None,
) -> None:
    """Wait for the end of a workflow's run and print its end state."""
    from ankka.cli.awaiting import await_end

    await_end(component, instance_id, timeout, sidecar, as_json=as_json)


@app.command("list")
def list_(
    component: Annotated[str | None, typer.Argument(metavar="COMPONENT", help="Only this component's.", show_default=False)] = None,
    status: Status = None,
    step: Step = None,
    since: Since = None,
    failure: Failure = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most.")] = 1_000,
    as_json: AsJson = False,
    sidecar: Sidecar = None,
) -> None:
    """Find instances."""
    from ankka.cli.listing import Filter, list_instances

    list_instances(Filter(component, status, step, since, failure), limit, sidecar, as_json=as_json)


@app.command()
def show(component: Component, instance_id: InstanceId, as_json: AsJson = False, sidecar: Sidecar = None) -> None:
    """Show an instance: lifecycle, why it waits, timeline."""
    from ankka.cli.timeline import show

    show(component, instance_id, sidecar, as_json=as_json)


operators.add_to(app)
