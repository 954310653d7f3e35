"""Where tested code waits, for the message of a kit that waits for it no longer."""

import asyncio
import os
import sys
import threading
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from ankka.testkit.simulated_loop import SimulatedLoop

DEBUGGERS = frozenset(("bdb", "pdb", "pydevd", "debugpy"))
SHOWN = 12
"""Frames of a stack that are shown, the innermost ones."""
_OURS = (f"{Path(__file__).parents[1]}{os.sep}", f"{Path(asyncio.__file__).parent}{os.sep}", threading.__file__)


def stacks_of(loop: SimulatedLoop, thread: threading.Thread) -> list[str]:
    """The stacks of what the loop's tasks wait for, of its steps' threads, and of its own thread if that is what blocks."""
    stacks = [_shown(task.get_name(), _suspended_in(task.get_coro())) for task in asyncio.all_tasks(loop)]
    now = _frames_now()
    stacks += [_shown("a thread of the step", _stack_of(now.get(ident))) for ident in tuple(loop.threads)]
    stacks.append(_shown("the thread of the event loop", _stack_of(now.get(thread.ident or 0))))
    return [stack for stack in stacks if stack]


def is_debugged(loop: SimulatedLoop, thread: threading.Thread) -> bool:
    """Somebody sits at a breakpoint in it."""
    now = _frames_now()
    frames = [frame for ident in (*loop.threads, thread.ident or 0) for frame in _stack_of(now.get(ident))]
    return any(frame.f_globals.get("__name__", "").partition(".")[0] in DEBUGGERS for frame in frames)


def _frames_now() -> dict[int, FrameType]:
    """Where each thread is."""
    return sys._current_frames()  # pyright: ignore[reportPrivateUsage]  # the interpreter's own way to look at other threads


def _stack_of(frame: FrameType | None) -> list[FrameType]:
    """The frames up to this one, the innermost last."""
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _suspended_in(coroutine: Any) -> list[FrameType]:
    """The frames of a coroutine that waits, the innermost last."""
    frames: list[FrameType] = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if frame is None:
            break
        frames.append(frame)
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return frames


def _shown(name: str, frames: Iterable[FrameType]) -> str:
    """A stack from the tested code on; nothing if none of it is in there."""
    found = list(frames)
    while found and found[0].f_code.co_filename.startswith(_OURS):
        del found[0]
    if not found:
        return ""
    lines = traceback.format_list(traceback.StackSummary.extract((frame, frame.f_lineno) for frame in found[-SHOWN:]))
    return f"{name}:\n{''.join(lines)}"
