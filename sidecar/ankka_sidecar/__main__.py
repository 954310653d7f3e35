"""The sidecar program: `python -m ankka_sidecar --journal sqlite:///journal.db`."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Sequence

from ankka_sidecar.config import BadSetting, read

REFUSED = 2
FAILED = 1
SWITCH_INTERVAL = 0.0005
"""Seconds after which a busy event loop lets the journal's threads have the interpreter: with Python's 5 ms each commit
waits ten times as long for it as for the disk."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a sidecar until SIGTERM or Ctrl-C; the exit code is 0, 1 (it could not run) or 2 (bad settings)."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    try:
        config = read(sys.argv[1:] if arguments is None else arguments)
    except BadSetting as error:
        sys.stderr.write(f"ankka sidecar: {error}\n")
        return REFUSED
    from ankka_sidecar.assembly import Sidecar  # a wrong option is answered before the server is imported
    from ankka_sidecar.journal_file import JournalRemoved
    from ankka_sidecar.port_holder import PortTaken
    from ankka_sidecar.ports.journal import CannotOpen

    async def serve() -> None:
        sidecar = Sidecar(config)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, sidecar.stop)
        await sidecar.run()

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(serve())
    except JournalRemoved:
        return FAILED  # it was logged when it was seen
    except (CannotOpen, PortTaken, ValueError) as error:
        sys.stderr.write(f"ankka sidecar: {error}\n")
        return REFUSED if isinstance(error, BadSetting) else FAILED
    return 0


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # optional: half as fast again where it is installed
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    sys.exit(main())
