"""Tells whoever started this process that it is attached: `ankka dev` waits for it before it says `reloaded`."""

import os

READY_FD = "ANKKA_READY_FD"
"""The variable with the number of an inherited descriptor; one byte is written to it, once."""


def tell_ready() -> None:
    """Write the byte, if somebody asked for it and it was not written yet."""
    number = os.environ.pop(READY_FD, "")
    if not number.isdigit():
        return
    try:
        os.write(int(number), b"1")
        os.close(int(number))
    except OSError:
        return  # who asked has gone, or a program in between did not hand the descriptor down
