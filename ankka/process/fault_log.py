"""What failed in user code, into the log of `ankka`: the only place where its text and traceback go."""

import logging
import traceback

from ankka.codec import EncodingError
from ankka.process.dispatch_values import Unusable
from ankka.protocol.errors import clean_text

logger = logging.getLogger("ankka")


def log_failure(level: int, message: str, error: BaseException) -> None:
    """Log a message with the traceback; one that no stream could write (lone surrogates) goes in as cleaned text.

    Of a refusal of ours only what user code raised below it is shown; mostly that is nothing, and one line says it all.
    """
    raised = _raised_by_user(error)
    if raised is None:
        logger.log(level, "%s", clean_text(message))
        return
    written = "".join(traceback.format_exception(raised))
    cleaned = clean_text(written)
    if cleaned == written:
        logger.log(level, "%s", message, exc_info=raised)
    else:
        logger.log(level, "%s\n%s", message, cleaned)


def _raised_by_user(error: BaseException) -> BaseException | None:
    raised: BaseException | None = error
    if isinstance(error, Unusable):
        while isinstance(raised, Unusable | EncodingError):
            raised = raised.__cause__
    return raised
