"""Asks a sidecar's `/healthz` who it is and how many processes are attached."""

import asyncio
import http.client
from dataclasses import dataclass

import msgspec

from ankka.process.address import Address

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
    return await asyncio.to_thread(_ask, url)


def _ask(url: str) -> Health | Unanswered:
    host = Address.parse(url).url.partition("://")[2]
    connection = http.client.HTTPConnection(host, timeout=ANSWER_TIMEOUT)
    try:
        connection.connect()
    except TimeoutError:
        return Unanswered(listening=True)
    except OSError:
        return Unanswered(listening=False)
    try:
        connection.request("GET", "/healthz")
        return msgspec.json.decode(connection.getresponse().read(), type=Health)
    except TimeoutError:
        return Unanswered(listening=True)
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return Unanswered(listening=False)
    finally:
        connection.close()
