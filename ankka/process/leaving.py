"""The end of a foreground service: nothing that does not end by itself keeps the process from leaving (F79, F80)."""

import asyncio
import logging
import os
import sys
from typing import NoReturn

logger: logging.Logger = logging.getLogger("ankka")

ENDED_WITHIN = 1.0
"""Seconds for cancelled tasks to end."""


async def stubborn_tasks() -> list[str]:
    """Cancel every other task of the loop; the names of those that do not end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if not others:
        return []
    _, pending = await asyncio.wait(others, timeout=ENDED_WITHIN)
    return sorted(task.get_name() for task in pending)


def leave_behind(names: list[str], code: int) -> NoReturn:
    """End the process at once, as these tasks would keep it alive for ever; `atexit` handlers do not run."""
    logger.warning("the process leaves without tasks that swallow their cancellation: %s", ", ".join(names))
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
