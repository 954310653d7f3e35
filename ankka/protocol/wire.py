"""Frames to messages and back: one message is a msgpack array of frames.

Batching is natural: what queued up while the last write was under way goes in the next message, never by a timer.
A message closes at 256 KiB; a larger frame goes alone, and one above the limit is refused before it is queued.
"""

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from ankka.protocol.frames import Frame, ToProcess, ToSidecar

MESSAGE_SIZE = 256 * 1024
FRAME_OVERHEAD = 64 * 1024
"""Room in a frame beyond its payload: ids, metadata, the input beside the state's limit."""

_encode = msgspec.msgpack.Encoder().encode
decode_to_sidecar: Callable[[bytes], list[ToSidecar]] = msgspec.msgpack.Decoder(list[ToSidecar]).decode
decode_to_process: Callable[[bytes], list[ToProcess]] = msgspec.msgpack.Decoder(list[ToProcess]).decode


class FrameTooLarge(ValueError):
    """A frame above the message limit; nothing was queued."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a frame of {size:,} bytes is over the limit of {limit:,} bytes")
        self.size = size
        self.limit: int = limit


class Outbox:
    """The frames waiting to be written on one connection, encoded, in order.

    >>> outbox = Outbox(limit=1_000)
    >>> from ankka.protocol.frames import Ping
    >>> outbox.put(Ping(1)); outbox.put(Ping(2))
    >>> decode_to_sidecar(outbox.take())
    [Ping(number=1), Ping(number=2)]
    >>> outbox.take() is None
    True
    """

    __slots__ = ("_frames", "limit")

    def __init__(self, limit: int) -> None:
        self._frames: deque[bytes] = deque()
        self.limit: int = limit

    def __len__(self) -> int:
        return len(self._frames)

    def put(self, frame: Frame) -> None:
        """Queue a frame; `FrameTooLarge` if it is over the limit."""
        encoded = _encode(frame)
        if len(encoded) > self.limit:
            raise FrameTooLarge(len(encoded), self.limit)
        self._frames.append(encoded)

    def take(self) -> bytes | None:
        """The next message, or `None` when nothing waits."""
        frames = self._frames
        if not frames:
            return None
        taken = [frames.popleft()]
        size = len(taken[0])
        while frames and size + len(frames[0]) <= MESSAGE_SIZE:
            size += len(frames[0])
            taken.append(frames.popleft())
        return _array_header(len(taken)) + b"".join(taken)


def _array_header(count: int) -> bytes:
    if count < 16:
        return bytes((0x90 | count,))
    if count < 65_536:
        return struct.pack(">BH", 0xDC, count)
    return struct.pack(">BI", 0xDD, count)


def encode_value(value: Any) -> bytes:
    """A value of ours as msgpack: journal events and records."""
    return _encode(value)
