"""What is written to the terminal: text of users made harmless, JSON, messages.

An id, a failure or a state is anybody's text. Control characters could move the cursor, rename the window or turn the
writing direction round, so they are shown as escapes; Rich's markup is never interpreted in it.
"""

import re
import sys
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from rich.console import Console

# C0 and C1 controls, marks of direction, line and paragraph separators, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(text: str, *, lines: bool = False) -> str:
    r"""`text` with everything escaped that a terminal would act on; with `lines`, line ends stay.

    >>> shown("a\x1b[31mb\nc"), shown("a\nb", lines=True)
    ('a\\x1b[31mb\\nc', 'a\nb')
    """
    return _UNSAFE.sub(lambda match: match[0] if lines and match[0] == "\n" else _escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def on_terminal() -> bool:
    """Whether stdout is a terminal: people read it, not programs."""
    return sys.stdout.isatty()


def console(*, stderr: bool = False) -> "Console":
    """A console that takes text as it is: no markup, no emoji names, no guessed colours."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def say(message: str) -> None:
    """Write a message to stderr, where it does not mix with data."""
    sys.stdout.flush()
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def write_json(document: bytes, *, raw: bool) -> None:
    """Write a JSON document: indented and coloured on a terminal, else (and with `raw`) as it came, and a line end."""
    if not on_terminal():
        sys.stdout.flush()
        sys.stdout.buffer.write(document + b"\n")
        sys.stdout.buffer.flush()
        return
    if raw:
        sys.stdout.write(f"{_json_shown(document)}\n")
        sys.stdout.flush()
        return
    from rich.highlighter import JSONHighlighter

    text = JSONHighlighter()(_json_shown(msgspec.json.format(document, indent=2)))
    console().print(text, soft_wrap=True)


def _json_shown(document: bytes) -> str:
    """The same document for a terminal: what it would act on is within strings, where JSON has escapes for it."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", document.decode("utf-8", "replace"))
