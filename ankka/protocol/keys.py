"""Idempotency keys (W15, W16) as they go over the wire and lie in the journal, and the fingerprint of what was asked.

A key begins with who made it: `STEP` for a step's call, `COMMAND` for a call that a keyed command makes, `CALLER` for a
key somebody chose. What follows says what it is the key of:

    STEP              generation (8) · visit (8) · digest of target, handler, input, number (16)
    COMMAND, CALLER   digest (16): of the command's key, target, handler, input, number · of target and text

An index of random keys is slow to write, for each lies on another page. So in the journal every key begins with an
instant: a step's with the generation of its workflow, and all calls of a visit lie beside each other; the others with the
generation of the instance they were carried out on, put in behind the first byte (`stored`).
"""

import hashlib
from typing import Final

from ankka.protocol.attempt import Token
from ankka.protocol.payload import Payload

STEP: Final = b"s"
COMMAND: Final = b"c"
CALLER: Final = b"u"

MAX_LENGTH: Final = 255
"""Bytes of UTF-8 that a caller's key may have."""


class InvalidKey(ValueError):
    """An idempotency key cannot be used; the message says why."""


def of_caller(component: str, instance: str, text: str) -> bytes:
    """The key of a command to that instance that its caller named `text`; `InvalidKey` says what is wrong with it.

    >>> of_caller("wallet", "w1", "order-7") == of_caller("wallet", "w2", "order-7")
    False
    """
    if not text:
        raise InvalidKey("an idempotency key has at least one character")
    if not text.isprintable():
        raise InvalidKey(f"an idempotency key is printable text, not {text!r}")
    size = len(text.encode())
    if size > MAX_LENGTH:
        raise InvalidKey(f"an idempotency key has at most {MAX_LENGTH} bytes; this one has {size:,}: {text[:20]!r}…")
    return CALLER + _digest(component, instance, text)


def of_visit(token: Token) -> bytes:
    """What the keys of all calls begin with that a visit to a step makes, whatever the attempt."""
    visit = _digest(token.component, token.instance, str(token.run), str(token.visit))
    return STEP + token.generation.to_bytes(8, "big") + visit[:8]


def of_command(component: str, instance: str, key: bytes) -> bytes:
    """What the keys of all calls are made from that a command with that key makes."""
    return COMMAND + _digest(component, instance, key)


def of_call(basis: bytes, component: str, instance: str, handler: str, told_by: str | bytes, number: int = 0) -> bytes:
    """The key of one call of a visit or command (`basis`): told from its others by its canonical input and a number
    for equal ones (from 1), or by a name alone (number 0).
    """
    if basis.startswith(STEP):
        return basis + _digest(component, instance, handler, told_by, str(number))
    return COMMAND + _digest(basis, component, instance, handler, told_by, str(number))


def stored(key: bytes, generation: int) -> bytes:
    """A key as it lies in the journal of an instance's life.

    >>> stored(CALLER + bytes(16), 1)[:10]
    b'u\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00'
    """
    return key if key.startswith(STEP) else key[:1] + generation.to_bytes(8, "big") + key[1:]


def fingerprint(handler: str, given: Payload | None) -> bytes:
    """16 bytes that tell what was asked: the handler and its input as it is encoded."""
    if given is None:
        return _digest(handler)
    return _digest(handler, given.content_type, given.data)


def _digest(*parts: str | bytes) -> bytes:
    """16 bytes of all parts, each with its length so that none runs into the next."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(4, "big"))
        digest.update(data)
    return digest.digest()[:16]
