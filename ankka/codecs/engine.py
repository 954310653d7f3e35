"""One type, compiled: values to JSON and back, proven to be the same value."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ankka.codecs.comparing import compare
from ankka.codecs.compiling import compile_type, readable
from ankka.codecs.errors import Mismatch, SlowWay
from ankka.codecs.schemas import Definitions, complete

_encode = msgspec.json.Encoder().encode
_parse = msgspec.json.Decoder().decode

_DEEP = "nested too deeply, or within itself"


class Engine:
    """Encodes and decodes values of one type; what does not fit is a `Mismatch`."""

    def __init__(
        self, annotation: Any, tag: str = "type", names: Mapping[type, str] | None = None, aliases: Mapping[str, type] | None = None
    ) -> None:
        self.plan = plan = compile_type(annotation, tag, names, aliases)
        self._read: Callable[[bytes], Any] | None = readable(annotation) if plan.native else None
        self._fill = plan.fill if plan.fills else None
        self._lower = plan.lower
        self._check = plan.check
        self._lowered = plan.lowered
        self._proven = plan.proven

    def encode(self, value: Any) -> bytes:
        """The value as JSON: the same bytes in every process, and certain to come back equal."""
        try:
            if self._lowered:
                value_or_data = self._lower(value)
            else:
                self._check(value)
                value_or_data = value
        except SlowWay:
            value_or_data = self._lower(value)
        except RecursionError:
            raise Mismatch(_DEEP) from None
        data = self._written(value_or_data)
        if not self._proven:
            compare(value, self.decode(data))
        return data

    def _written(self, value: Any) -> bytes:
        try:
            return _encode(value)
        except RecursionError:
            raise Mismatch(_DEEP) from None

    def decode(self, data: bytes) -> Any:
        """The value that these bytes stand for."""
        if self._read is not None:
            try:
                value = self._read(data)
                if self._fill is not None:
                    self._fill(value)
                return value
            except Exception:
                return self._decoded(data)  # once more, step by step: it finds the path, and reads what msgspec does not
        return self._decoded(data)

    def _decoded(self, data: bytes) -> Any:
        try:
            return self.lift(_parse(data))
        except msgspec.DecodeError as error:
            raise Mismatch(f"not JSON: {str(error).removeprefix('JSON is malformed: ')}" if data else "empty, where JSON is expected") from None
        except RecursionError:
            raise Mismatch(_DEEP) from None

    def lift(self, data: Any) -> Any:
        """The value that parsed JSON stands for."""
        return self.plan.lift(data)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the type."""
        definitions = Definitions()
        return complete(self.plan.schema(definitions), definitions)
