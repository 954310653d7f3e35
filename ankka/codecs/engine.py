"""One type, compiled: values to JSON and back, proven to be the same value."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ankka.codecs.comparing import compare
from ankka.codecs.compiling import compile_type, readable
from ankka.codecs.errors import Mismatch, SlowWay
from ankka.codecs.nesting import check_depth, may_nest
from ankka.codecs.plan import Plan
from ankka.codecs.schemas import Definitions, complete

_encode = msgspec.json.Encoder().encode
_parse = msgspec.json.Decoder().decode

_DEEP = "nested too deeply, or within itself"


class Engine:
    """Encodes and decodes values of one type; what does not fit is a `Mismatch`."""

    def __init__(
        self, annotation: Any, tag: str = "type", names: Mapping[type, str] | None = None, aliases: Mapping[str, type] | None = None
    ) -> None:
        plan = compile_type(annotation, tag, names, aliases)
        self.plan: Plan = plan
        self._read: Callable[[bytes], Any] | None = readable(annotation) if plan.native else None
        self._fill = plan.fill if plan.fills else None
        self._lower = plan.lower
        self._check = plan.check
        self._lowered = plan.lowered
        self._proven = plan.proven
        self._may_nest = may_nest(plan)

    def encode(self, value: Any) -> bytes:
        """The value as JSON: the same bytes in every process, and certain to come back equal."""
        try:
            data = _encode(self._ready(value))
            if self._may_nest:
                check_depth(data)
            if not self._proven:
                compare(value, self.decode(data))
            return data
        except Mismatch:
            raise
        except RecursionError:
            raise Mismatch(_DEEP) from None
        except Exception as error:  # code of the user's: a property, an `__eq__`, a serializer
            raise Mismatch(f"it cannot be written: {type(error).__name__}: {error}") from error

    def _ready(self, value: Any) -> Any:
        """What msgspec writes for the value: itself, once it is checked, where msgspec writes it the same in every process."""
        if self._lowered:
            return self._lower(value)
        try:
            self._check(value)
        except SlowWay:
            return self._lower(value)
        return value

    def decode(self, data: bytes) -> Any:
        """The value that these bytes stand for."""
        if self._read is not None:
            try:
                value = self._read(data)
                if self._fill is not None:
                    self._fill(value)
                return value
            except Exception:  # msgspec's or the user's: read once more, step by step, which finds the path and says why
                return self._decoded(data)
        return self._decoded(data)

    def _decoded(self, data: bytes) -> Any:
        try:
            return self.lift(_parse(data))
        except msgspec.DecodeError as error:
            raise Mismatch(f"not JSON: {str(error).removeprefix('JSON is malformed: ')}" if data else "empty, where JSON is expected") from None
        except Mismatch:
            raise
        except RecursionError:
            raise Mismatch(_DEEP) from None
        except Exception as error:  # code of the user's, where nobody knew the place
            raise Mismatch(f"it cannot be made: {type(error).__name__}: {error}") from error

    def lift(self, data: Any) -> Any:
        """The value that parsed JSON stands for."""
        return self.plan.lift(data)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the type."""
        definitions = Definitions()
        return complete(self.plan.schema(definitions), definitions)
