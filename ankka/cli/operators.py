"""The operator commands and their options; `ankka.cli.operating` does what they ask for."""

from collections.abc import Callable
from typing import Annotated

import typer

from ankka.cli.options import Component, Failure, Sidecar, Since, Status, Step

HELP = {
    "pause": "Hold runs: nothing new starts until resume.",
    "resume": "Let held runs go on.",
    "cancel": "End runs, or send them to their cancel_to step.",
    "delete": "Remove instances, whatever they are doing.",
}

MaybeId = Annotated[
    str | None, typer.Argument(metavar="ID", help="The instance's id; without it, all of the component that match the options.", show_default=False)
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the timeline keeps it.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before many are done.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: what was done, and what was not and why.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for name, text in HELP.items():
        app.command(name, help=text)(_command(name))


def _command(name: str) -> Callable[..., None]:
    def operate(
        component: Component,
        instance_id: MaybeId = None,
        status: Status = None,
        step: Step = None,
        since: Since = None,
        failure: Failure = None,
        reason: Reason = "",
        yes: Yes = False,
        as_json: AsJson = False,
        sidecar: Sidecar = None,
    ) -> None:
        from ankka.cli.listing import Filter
        from ankka.cli.operating import operate

        wanted = Filter(component, status, step, since, failure)
        operate(name, instance_id, wanted, reason, sidecar, yes=yes, as_json=as_json)

    return operate
