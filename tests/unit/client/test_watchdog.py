"""The watchdog names what blocks the event loop, once, and says when it is free again (F77)."""

import asyncio
import logging
import threading
import time

import pytest

from ankka.process.running import OnLoop
from ankka.process.watchdog import Watchdog
from ankka.protocol.attempt import Token
from ankka.protocol.frames import Frame, Replied, RunCommand, RunStep, StepDone
from ankka.protocol.payload import Payload
from tests.unit.client.hosted import hosted
from tests.unit.client.stubborn import StubbornWorkflow, block_until

TOKEN = Token("stubborn", "s1", 1, 1, 3, 2)
STEP = RunStep(TOKEN, "block", None, Payload(b"0"), 4, 4, 10_000_000)
COMMAND = RunCommand(1, "stubborn", "s1", "block", None, Payload(b"0"), 4, 5_000_000)


class Opening(logging.Handler):
    """Opens the gate when the first warning comes, so that the loop is free again."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate
        self.said: list[tuple[float, str]] = []
        self.free = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append((time.monotonic(), record.getMessage()))
        self.gate.set()
        if "is free again" in record.getMessage():
            self.free.set()


@pytest.mark.parametrize(
    ("frame", "who", "advice"),
    [
        (STEP, "step 'block' of stubborn/s1, attempt 2", "make the step a plain def"),
        (COMMAND, "command 'block' of stubborn/s1", "commands and queries must not block"),
    ],
)
async def test_what_blocks_the_loop_is_named_within_two_seconds_once(frame: Frame, who: str, advice: str, request: pytest.FixtureRequest) -> None:
    async with hosted(StubbornWorkflow) as (process, session):
        opening = Opening(process.notes.thread_gate)
        logger = logging.getLogger("ankka")
        logger.addHandler(opening)
        request.addfinalizer(lambda: logger.removeHandler(opening))
        began = time.monotonic()
        await session.send(frame)
        await session.expect(StepDone if frame is STEP else Replied)
        await asyncio.to_thread(opening.free.wait, 5)
        (when, blocked), (_, free) = opening.said
        assert when - began < 2
        assert f"{who} blocks it" in blocked
        assert advice in blocked
        assert "in block_until\n" in blocked, "the stack shows where it blocks"
        assert "the event loop is free again; it was blocked for 1." in free
        assert free.endswith(f"s by {who}")


async def test_other_code_that_blocks_is_shown_by_its_stack(request: pytest.FixtureRequest) -> None:
    gate = threading.Event()
    opening = Opening(gate)
    logger = logging.getLogger("ankka")
    logger.addHandler(opening)
    request.addfinalizer(lambda: logger.removeHandler(opening))
    watchdog = Watchdog(OnLoop(asyncio.get_running_loop()))
    watchdog.start()
    block_until(gate)
    await asyncio.to_thread(opening.free.wait, 5)
    watchdog.stop()
    assert "code that is no handler of a component blocks it" in opening.said[0][1]
    assert "in test_other_code_that_blocks_is_shown_by_its_stack" in opening.said[0][1]
