"""Encoded values: bytes that pass through the sidecar without being parsed."""

import msgspec

JSON = "application/json"
TEXT = "text/plain"
BYTES = "application/octet-stream"
NOTHING = ""
"""The content type of `Done` and `None` as a whole reply or input: no bytes at all."""


class Payload(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An encoded value: its bytes, what encodes them, and the name its codec gives the type (`manifest`)."""

    data: bytes
    content_type: str = JSON
    manifest: str = ""


class StepTarget(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A step to run, by wire name, and the input it will receive."""

    step: str
    input: Payload | None = None
