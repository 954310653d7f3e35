"""The processes: a link per connection, and who is told what happens on it."""

from __future__ import annotations

from typing import Protocol

from ankka.protocol.frames import Frame, Hello


class Link(Protocol):
    """One connection, as the runtime writes to it."""

    def send(self, frame: Frame) -> None:
        """Queue a frame; it is written soon, together with what else queued up. Raises `FrameTooLarge`.

        On a link that is closed already the frame is dropped: the other side will never see it.
        """
        ...

    def close(self, reason: str) -> None:
        """Write what is queued, then close."""
        ...


class Session(Protocol):
    """What the runtime does with one accepted connection."""

    def received(self, received: list[Frame], size: int) -> None:
        """Frames arrived, in order, in a message of `size` bytes."""
        ...

    def closed(self) -> None:
        """The connection is gone; called once."""
        ...


class SessionHost(Protocol):
    """The runtime, as the session server sees it."""

    def open(self, hello: Hello, link: Link) -> Session | None:
        """A peer said hello: take it (a `Welcome` was sent), or refuse (`Rejected` was sent, then closed)."""
        ...

    @property
    def message_limit(self) -> int:
        """The largest frame either side may send, in bytes."""
        ...
