"""A handler's signature: at most one annotated input, and an effect whose last type argument is the reply."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_origin

from ankka.codec import Codec, CodecError, UnresolvedType, default_codec_for
from ankka.codecs.describing import type_name
from ankka.definition.component import EffectTypes
from ankka.definition.definitions import InputDefinition
from ankka.definition.hints import hints_of, opened, takes_none
from ankka.definition.marks import Mark, Role
from ankka.definition.problems import Findings


class Signature:
    """What one handler takes and answers; `usable` is false when something of it is wrong or not known yet."""

    __slots__ = ("input", "reply", "reply_codec", "usable")

    def __init__(self) -> None:
        self.input: InputDefinition | None = None
        self.reply: Any = None
        self.reply_codec: Codec[Any] | None = None
        self.usable: bool = True


class SignatureReader:
    """Reads the handlers of one class and notes what is wrong with them."""

    def __init__(self, cls: type[Any], effects: EffectTypes, local: Mapping[str, Any], findings: Findings) -> None:
        self._cls = cls
        self._effects = effects
        self._local = local
        self._findings = findings

    def read(self, mark: Mark, function: Callable[..., Any]) -> Signature:
        """The signature of a marked method."""
        signature = Signature()
        where = f"{mark.role.value} {mark.name!r} ({mark.method})"
        parameter = self._parameter(where, function, signature)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return self._wrong(signature, f"{where} has a yield; a handler returns one effect")
        try:
            hints = hints_of(function, self._cls, self._local)
        except UnresolvedType as error:
            self._findings.add_unresolved(f"{where}: {error}")
            signature.usable = False
            return signature
        except ValueError as error:
            return self._wrong(signature, f"{where}: {error}")
        if parameter is not None:
            self._read_input(where, parameter, hints, signature)
        self._read_return(where, mark.role, hints, signature)
        return signature

    def _wrong(self, signature: Signature, problem: str) -> Signature:
        self._findings.add(problem)
        signature.usable = False
        return signature

    def _parameter(self, where: str, function: Callable[..., Any], signature: Signature) -> inspect.Parameter | None:
        """The input among the parameters, if there is one."""
        parameters = list(inspect.signature(function).parameters.values())
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if not parameters or parameters[0].kind not in positional:
            self._wrong(signature, f"{where} has no self")
            return None
        inputs = parameters[1:]
        if len(inputs) > 1:
            names = ", ".join(parameter.name for parameter in inputs)
            self._wrong(signature, f"{where} takes {len(inputs)} inputs ({names}); a handler takes at most one: put them into one dataclass")
            return None
        if inputs and inputs[0].kind not in positional:
            self._wrong(signature, f"{where}: its input {str(inputs[0]).split(':')[0]!r} must be an ordinary parameter")
            return None
        return inputs[0] if inputs else None

    def _read_input(self, where: str, parameter: inspect.Parameter, hints: Mapping[str, Any], signature: Signature) -> None:
        if parameter.name not in hints:
            self._wrong(signature, f"{where}: its input {parameter.name!r} has no annotation")
            return
        hint = hints[parameter.name]
        codec = self._codec(f"{where}: its input {parameter.name!r}", hint, signature)
        if codec is not None:
            optional = parameter.default is not inspect.Parameter.empty
            signature.input = InputDefinition(parameter.name, hint, codec, optional, takes_none(hint))

    def _read_return(self, where: str, role: Role, hints: Mapping[str, Any], signature: Signature) -> None:
        expected = {Role.COMMAND: self._effects.command, Role.QUERY: self._effects.query, Role.STEP: self._effects.step}[role]
        if expected is None:
            return  # a step outside a workflow, reported by the class
        arity = 1 if role is Role.STEP else self._effects.arity
        wanted = f"{expected.__name__}[{', '.join('…' for _ in range(arity))}]"
        if "return" not in hints:
            self._wrong(signature, f"{where} has no return annotation; {wanted} is expected")
            return
        hint = opened(hints["return"])
        origin = get_origin(hint) or hint
        if not (isinstance(origin, type) and issubclass(origin, expected)):
            kind = "read-only effect" if role is Role.QUERY else "effect"
            self._wrong(signature, f"{where} returns {type_name(hint)}; a {role.value}'s {kind} is expected: {wanted}")
            return
        arguments = get_args(hint)
        if len(arguments) != arity:
            self._wrong(signature, f"{where} returns {type_name(hint)}; {wanted} needs {arity} type argument{'s' if arity > 1 else ''}")
            return
        if role is not Role.STEP:
            signature.reply = arguments[-1]
            signature.reply_codec = self._codec(f"{where}: its reply", arguments[-1], signature)

    def _codec(self, what: str, hint: Any, signature: Signature) -> Codec[Any] | None:
        if isinstance(hint, TypeVar):
            self._wrong(signature, f"{what} has the type variable {hint}; the class must say what it stands for")
            return None
        try:
            codec = default_codec_for(hint)
        except CodecError as error:
            for problem in error.problems:
                self._wrong(signature, f"{what} has a type that cannot be encoded ({type_name(hint)}): {problem}")
            return None
        except UnresolvedType as error:
            self._findings.add_unresolved(f"{what}: {error}")
            signature.usable = False
            return None
        if not resolves(codec, what, self._findings):
            signature.usable = False
            return None
        return codec


def resolves(codec: Codec[Any], what: str, findings: Findings) -> bool:
    """Whether a codec can hold its type; what stands in its way is noted."""
    try:
        codec.resolve()
    except CodecError as error:
        for problem in error.problems:
            findings.add(f"{what} cannot hold its type ({codec.type_name}): {problem}")
        return False
    except UnresolvedType as error:
        findings.add_unresolved(f"{what}: {error}")
        return False
    return True
