"""Places at which a test's process kills itself, as `kill -9` does: `DIES_AT=place:visit`, or `DIES_AT=count:FILE` to count.

step running, command running, query running, merge running    inside the handler
event applying                     in `apply_event`, of a command or a fold
step answered, command answered    the handler has returned, its answer is encoded, and not written yet; or it is in a call
step written, command written      the answer is on the wire; whether the sidecar has it journalled is open
step acknowledged                  the acknowledgement has come, and was not taken yet
"""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.client import ClientConnection

from ankka.process.session import Session
from ankka.protocol.frames import EntityCommandDone, Frame, StepAck, StepDone, StepFaulted, WorkflowCommandDone
from ankka.protocol.wire import decode_to_sidecar

PLACES: Final = (
    "step running",
    "step answered",
    "step written",
    "step acknowledged",
    "command running",
    "command answered",
    "command written",
    "query running",
    "event applying",
    "merge running",
)
_WRITTEN: Final[dict[type[Frame], str]] = {
    StepDone: "step written",
    StepFaulted: "step written",
    WorkflowCommandDone: "command written",
    EntityCommandDone: "command written",
}
_visits: dict[str, int] = {}


def at(place: str) -> None:
    """This process is at `place`: it dies here if it was told to."""
    assert place in PLACES, place
    wanted = os.environ.get("DIES_AT", "")
    name, _, visit = wanted.rpartition(":")
    if name == "count":
        with Path(visit).open("a") as counted:
            counted.write(f"{place}\n")
    elif name == place:
        _visits[place] = _visits.get(place, 0) + 1
        if _visits[place] == int(visit):
            os.kill(os.getpid(), signal.SIGKILL)


def after_return(place: str) -> None:
    """The same, when the handler that calls this has returned: nothing is written before the loop's next turn."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return  # a sync step, in a thread: its answer is written by the loop, whenever that comes to it
    loop.call_soon(at, place)


def install() -> None:
    """Watch what is written and what comes in, if this process is to die."""
    if "DIES_AT" in os.environ:
        ClientConnection.send = _dying_behind(ClientConnection.send)  # type: ignore[method-assign]  # the socket is the only place that knows
        Session.receive = _dying_before(Session.receive)  # type: ignore[method-assign]  # an ack is taken in private


def _dying_behind(send: Callable[..., Any]) -> Any:
    async def written(connection: ClientConnection, message: bytes, *rest: Any) -> None:
        await send(connection, message, *rest)
        for frame in decode_to_sidecar(message):
            place = _WRITTEN.get(type(frame))
            if place is not None:
                at(place)

    return written


def _dying_before(receive: Callable[..., None]) -> Any:
    def received(session: Session, frames: Any) -> None:
        for frame in frames:
            if isinstance(frame, StepAck):
                at("step acknowledged")
        receive(session, frames)

    return received
