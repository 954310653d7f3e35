"""Whether a component's codecs hold the types that its class names: `Workflow[Order]` with `json_codec(Order, …)`."""

from typing import Any, get_args, get_origin, is_typeddict

from ankka.codec import Codec
from ankka.definition.problems import Findings

PARAMETERS = {"state_codec": 0, "event_codec": 1}
"""Which of the class's type parameters a codec is for."""


def check_held(cls: type[Any], attribute: str, codec: Codec[Any], findings: Findings) -> None:
    """Add a problem where codec and class name two classes of which neither is the other's subclass.

    Anything else (unions, generics, names that are not known yet) is told when a value is encoded.
    """
    for base in vars(cls).get("__orig_bases__", ()):
        kind = get_origin(base)
        if not isinstance(kind, type) or "__ankka_kind__" not in vars(kind):
            continue
        named, held = get_args(base)[PARAMETERS[attribute]], codec.type
        if _is_class(named) and _is_class(held) and not (issubclass(named, held) or issubclass(held, named)):
            findings.add(
                f"{attribute} holds {held.__name__}, but the class names {named.__name__} in {kind.__name__}[…]: "
                f"write json_codec({named.__name__}, …), or name {held.__name__} there"
            )


def _is_class(annotation: object) -> bool:
    return isinstance(annotation, type) and annotation is not Any and not is_typeddict(annotation)
