"""`ankka sidecar`: hands over to the sidecar's own program, the one place where the command line knows the runtime."""

from collections.abc import Sequence

from ankka.cli.failure import CommandFailed
from ankka.embedded.program import SidecarNotStarted, check_installed


def run_sidecar(arguments: Sequence[str]) -> int:
    """Run a sidecar in this process; `CommandFailed` names the extra that brings it if it is not installed."""
    try:
        check_installed()
    except SidecarNotStarted as error:
        raise CommandFailed(f"ankka: {error}") from None
    from ankka_sidecar.__main__ import main

    return main(arguments)
