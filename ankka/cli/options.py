"""Arguments and options that several commands have, in the same words."""

from typing import Annotated

import typer

Component = Annotated[str, typer.Argument(metavar="COMPONENT", help="The component's id, as in component_id.")]
InstanceId = Annotated[str, typer.Argument(metavar="ID", help="The instance's id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON as it came.")]
Sidecar = Annotated[
    str | None,
    typer.Option(
        "--sidecar", metavar="URL", help="The sidecar's address; else ANKKA_SIDECAR, else the one in ./.ankka/sidecar.json.", show_default=False
    ),
]
Status = Annotated[
    str | None, typer.Option("--status", metavar="S", help="NotStarted, Running, Paused, Completed, Failed; of entities active, deleted.")
]
Step = Annotated[str | None, typer.Option("--step", metavar="S", help="Those whose pending step this is.")]
Since = Annotated[str | None, typer.Option("--since", metavar="SPAN", help="Updated within 30s, 10m, 2h, 1d, or since an ISO 8601 instant.")]
Failure = Annotated[str | None, typer.Option("--failure", metavar="TEXT", help="Failed with this in the reason.")]
