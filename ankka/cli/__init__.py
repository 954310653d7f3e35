"""The command line `ankka`: run a service while it is written, run a sidecar, call, watch and find instances.

Everything heavy is loaded by the command that needs it, so that `ankka --help` answers at once.
"""

import sys
from collections.abc import Sequence

EXTRA = ("httpx", "rich", "typer", "watchfiles")
"""What the extra `cli` installs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; `arguments` default to the program's own. The exit code is 0, 1 (it failed) or 2 (bad usage).

    >>> main(["--version"])
    ankka 0.1.0.dev0
    0
    """
    try:
        from ankka.cli.app import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in EXTRA:
            raise
        sys.stderr.write(f"ankka: the command line is not installed in {sys.prefix} ({error.name} is missing): pip install 'ankka-engine[cli]'\n")
        return 1
