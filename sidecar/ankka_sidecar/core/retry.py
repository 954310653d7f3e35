"""Delays between retries."""

from zlib import crc32

from ankka.protocol.attempt import Token
from ankka.protocol.spec import BackoffSpec

MAX_DELAY = 10 * 365 * 86_400 * 1_000_000
"""Ten years in µs: growth without a maximum stops here instead of overflowing."""


def delay(backoff: BackoffSpec, retry: int, token: Token) -> int:
    """µs to wait before retry number `retry` (1 is the first).

    The jitter is drawn from the attempt's name, so the same attempt waits equally long wherever it is decided.

    >>> delay(BackoffSpec(initial=100_000, factor=2.0, maximum=300_000), 3, Token("c", "i", 1, 1, 1, 3))
    300000
    """
    ceiling = MAX_DELAY if backoff.maximum is None else backoff.maximum
    try:
        grown = min(backoff.initial * backoff.factor ** (retry - 1), ceiling)
    except OverflowError:
        grown = ceiling
    share = crc32(str(token).encode()) / 0xFFFF_FFFF
    return int(grown * (1 - backoff.jitter * share))
