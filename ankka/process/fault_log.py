"""What failed in user code, into the log of `ankka`: the only place where its text and traceback go."""

import logging
import traceback
from types import TracebackType

from ankka.codec import EncodingError
from ankka.command_error import CommandError
from ankka.logs import WorkFilter
from ankka.process.dispatch_values import Unusable
from ankka.protocol.errors import clean_text

logger: logging.Logger = logging.getLogger("ankka")
# What Ankka itself logs of a handler says which it is, for structured logs, without any set-up.
logger.addFilter(WorkFilter())


def log_failure(level: int, message: str, error: BaseException) -> None:
    """Log a message with the traceback; one that no stream could write (lone surrogates) goes in as cleaned text.

    Of a refusal of ours only what user code raised below it is shown; mostly that is nothing, and one line says it all.
    The frames that called the user's code are left out, and below a call that was refused those that made it.
    """
    if not logger.isEnabledFor(level):
        return
    raised = _raised_by_user(error)
    if raised is None:
        logger.log(level, "%s", clean_text(message))
        return
    # Without the frames, which take far longer: what cannot be written is in what the exceptions say.
    said = "".join(traceback.format_exception(raised, limit=0))
    if clean_text(said) == said:
        logger.log(level, "%s", message, exc_info=(type(raised), raised, _frames_of_user(raised)))
    else:
        logger.log(level, "%s\n%s", message, clean_text("".join(traceback.format_exception(type(raised), raised, _frames_of_user(raised)))))


def _raised_by_user(error: BaseException) -> BaseException | None:
    raised: BaseException | None = error
    if isinstance(error, Unusable):
        while isinstance(raised, Unusable | EncodingError):
            raised = raised.__cause__
    return raised


def _frames_of_user(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame that is not ours; of a refused call, to the last one. All of it if there is none."""
    frames: list[TracebackType] = []
    at = error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    theirs = [index for index, trace in enumerate(frames) if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "ankka"]
    if not theirs:
        return error.__traceback__
    shown: TracebackType | None = None
    last = theirs[-1] if isinstance(error, CommandError) else len(frames) - 1
    for trace in reversed(frames[theirs[0] : last + 1]):
        shown = TracebackType(shown, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return shown
