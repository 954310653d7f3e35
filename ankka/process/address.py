"""Where a sidecar listens, as users write it: `http(s)://host:port` or `unix:///path`."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from ankka.protocol.frames import SESSION_PATH


@dataclass(frozen=True, slots=True)
class Address:
    """A sidecar's address: `url` as it was given, `session_url` for the WebSocket, `unix_path` if it is a socket.

    >>> Address.parse("http://127.0.0.1:9000").session_url
    'ws://127.0.0.1:9000/ankka/session'
    >>> Address.parse("unix:///run/ankka.sock").unix_path
    '/run/ankka.sock'
    """

    url: str
    session_url: str
    unix_path: str | None = None

    @classmethod
    def parse(cls, url: str) -> "Address":
        """`url` as an address; `ValueError` says what is wrong with it."""
        parts = urlsplit(url)
        if parts.scheme == "unix":
            if parts.netloc or not parts.path.startswith("/"):
                raise ValueError(f"{url!r} is no sidecar address: a unix socket is written unix:///absolute/path, with three slashes")
            return cls(url, f"ws://localhost{SESSION_PATH}", parts.path)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"{url!r} is no sidecar address: expected http://host:port, https://host:port or unix:///path, for example http://127.0.0.1:9000"
            )
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{url!r} is no sidecar address: expected only scheme, host and port, for example {parts.scheme}://127.0.0.1:9000")
        scheme = "wss" if parts.scheme == "https" else "ws"
        return cls(url.rstrip("/"), f"{scheme}://{parts.netloc}{SESSION_PATH}")
