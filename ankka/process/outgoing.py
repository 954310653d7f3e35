"""What is on its way out on one connection, and how far it got.

The writer takes everything that queued up while its previous write was under way (never by a timer). Whether a frame
was taken decides what may be done with it when the connection is lost: what was not written can be sent again.
"""

from collections.abc import Callable

from ankka.protocol.frames import Frame
from ankka.protocol.wire import Outbox


class Outgoing:
    """The outbox of one connection; `wake` is called when there is something to write.

    >>> from ankka.protocol.frames import Ping
    >>> outgoing = Outgoing(limit=1_000, wake=lambda: None)
    >>> position = outgoing.put(Ping(1))
    >>> outgoing.was_written(position)
    False
    >>> _ = outgoing.take()
    >>> outgoing.was_written(position)
    True
    """

    __slots__ = ("_count", "_outbox", "_wake")

    def __init__(self, limit: int, wake: Callable[[], None]) -> None:
        self._outbox = Outbox(limit)
        self._wake = wake
        self._count = 0

    def __len__(self) -> int:
        return len(self._outbox)

    def put(self, frame: Frame) -> int:
        """Queue a frame and answer its position; `FrameTooLarge` if it is over the limit."""
        self._outbox.put(frame)
        self._count += 1
        self._wake()
        return self._count

    def take(self) -> bytes | None:
        """The next message to write, or `None`."""
        return self._outbox.take()

    def was_written(self, position: int) -> bool:
        """Whether the frame put at `position` was taken to be written."""
        return position <= self._count - len(self._outbox)
