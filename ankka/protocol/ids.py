"""Names of components, handlers and instances: what is allowed, and how they are written into a path."""

from urllib.parse import quote

MAX_ID_BYTES = 512
RESERVED_PREFIX = "ankka:"


class InvalidId(ValueError):
    """An instance id that cannot be used; the message says why and shows the value."""


def check_instance_id(instance_id: str) -> str:
    """`instance_id` itself, or `InvalidId`.

    Ids are any non-empty text up to 512 bytes of UTF-8 without control characters; `.` and `..` are refused because
    clients and proxies resolve them in a path.

    >>> check_instance_id("order/17")
    'order/17'
    """
    if not isinstance(instance_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users without a type checker
        raise InvalidId(f"an instance id is a text, not {type(instance_id).__name__} {instance_id!r}")
    if not instance_id:
        raise InvalidId("an instance id must not be empty")
    if instance_id.isascii() and instance_id.isprintable() and 2 < len(instance_id) <= MAX_ID_BYTES:
        return instance_id  # nearly every id, and this is asked with every call
    if instance_id in (".", ".."):
        raise InvalidId(f"{instance_id!r} cannot be an instance id: paths resolve it; use another id")
    try:
        size = len(instance_id.encode())
    except UnicodeEncodeError:
        raise InvalidId(f"instance id {instance_id!r} is not valid Unicode text (a lone surrogate)") from None
    if size > MAX_ID_BYTES:
        raise InvalidId(f"instance id {instance_id[:40]!r}… has {size} bytes of UTF-8; at most {MAX_ID_BYTES} are allowed")
    if any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in instance_id):
        raise InvalidId(f"instance id {instance_id!r} has a control character; remove it")
    return instance_id


def path_of(component: str, instance_id: str, handler: str) -> str:
    """The path of a handler in the HTTP API, every part percent-encoded, slash too.

    >>> path_of("checkout", "a/b c", "ankka:lifecycle")
    '/v1/checkout/a%2Fb%20c/ankka:lifecycle'
    """
    return f"/v1/{quote(component, safe='')}/{quote(instance_id, safe='')}/{quote(handler, safe=':')}"
