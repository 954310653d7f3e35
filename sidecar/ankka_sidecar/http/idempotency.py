"""The `Idempotency-Key` header: the name a caller gives a command, so that doing it twice does it once (W15)."""

from __future__ import annotations

from ankka.protocol import keys
from ankka_sidecar.http.problems import Scope, bad_request

HEADER = "Idempotency-Key"
_NAME = HEADER.lower().encode()


def key_of(scope: Scope, component: str, instance: str) -> bytes | None:
    """The key of a command to that instance; `None` without the header, or where it is empty (F40)."""
    values = {value.strip() for name, value in scope["headers"] if name == _NAME}
    if not values or values == {b""}:
        return None
    if len(values) > 1:
        shown = ", ".join(sorted(value.decode("utf-8", "replace")[:80] for value in values))
        raise bad_request(f"{HEADER} is given {len(values)} times with other values ({shown}); a call has one key")
    try:
        return keys.of_caller(component, instance, values.pop().decode())
    except UnicodeDecodeError:
        raise bad_request(f"{HEADER} is not UTF-8; give a printable text, for example a UUID") from None
    except keys.InvalidKey as error:
        raise bad_request(f"{HEADER}: {error}; give for example a UUID") from None
