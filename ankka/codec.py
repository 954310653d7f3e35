"""Codecs: how a component's values become bytes, are named, and come back equal.

`json_codec(type, manifest)` makes one for a state or an event; `default_codec_for(type)` is what inputs and replies use.
What was encoded comes back equal, with equal types: what would not is an `EncodingError`, and nothing leaves the process.
"""

from ankka.codecs.codec import Codec
from ankka.codecs.done import DONE, Done
from ankka.codecs.errors import CodecError, EncodingError, UnresolvedType
from ankka.codecs.json_codec import json_codec
from ankka.codecs.selecting import default_codec_for

__all__ = ["DONE", "Codec", "CodecError", "Done", "EncodingError", "UnresolvedType", "default_codec_for", "json_codec"]
