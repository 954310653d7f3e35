"""What user code raised, into the log of `ankka`: the only place where its text and traceback go."""

import logging
import traceback

from ankka.protocol.errors import clean_text

logger = logging.getLogger("ankka")


def log_failure(level: int, message: str, error: BaseException) -> None:
    """Log a message with the traceback; one that no stream could write (lone surrogates) goes in as cleaned text."""
    written = "".join(traceback.format_exception(error))
    cleaned = clean_text(written)
    if cleaned == written:
        logger.log(level, "%s", message, exc_info=error)
    else:
        logger.log(level, "%s\n%s", message, cleaned)
