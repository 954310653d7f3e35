"""Asks a sidecar's `/healthz` who it is and how many processes are attached."""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

ANSWER_TIMEOUT = 2.0


class Health(msgspec.Struct, frozen=True):
    """A sidecar's answer; clients do not count as `processes`."""

    status: str
    incarnation: str = ""
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer. `listening`: something took the connection and then was silent, so it may be a sidecar that hangs."""

    listening: bool


async def health_of(url: str) -> Health | Unanswered:
    """The health of the sidecar at `url` (http), within two seconds."""
    # A few lines of HTTP, because every client there is takes longer to import than this takes to run.
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            return _health_in(await _ask(url))
    except TimeoutError:
        return Unanswered(listening=True)
    except OSError:
        return Unanswered(listening=False)


async def _ask(url: str) -> bytes:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(f"GET /healthz HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        return await reader.read()
    finally:
        writer.close()


def _health_in(answer: bytes) -> Health | Unanswered:
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        return Unanswered(listening=False)
    try:
        return msgspec.json.decode(body, type=Health)
    except msgspec.MsgspecError:
        return Unanswered(listening=False)
